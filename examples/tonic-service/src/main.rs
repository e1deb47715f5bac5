//! gRPC service with limits per client: calls by their rate, streams by how many are open.
//!
//! The health service of tonic stands for your own services.

use std::env;
use std::error::Error;
use std::sync::Arc;

use slidegate::tower::RateLimitLayer;
use slidegate::{Gate, Memory, Policy};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let policy = env::var("POLICY").unwrap_or_else(|_| "policy.yaml".to_owned());
    let gate = Arc::new(Gate::new(Policy::load(policy)?, Memory::default()));
    // tonic has the address of the client among the extensions of a request.
    let limits = RateLimitLayer::new(gate)
        .peer_with(|parts| Some(parts.extensions.get::<TcpConnectInfo>()?.remote_addr()?.ip()));
    let (_reporter, health) = tonic_health::server::health_reporter();

    let listener = TcpListener::bind(env::var("LISTEN").as_deref().unwrap_or("127.0.0.1:50051")).await?;
    println!("listening on http://{}\nPress Ctrl-C to stop.", listener.local_addr()?);
    let server = Server::builder().layer(limits).add_service(health);
    server.serve_with_incoming(TcpIncoming::from(listener)).await?;
    Ok(())
}

//! Client of the service: prints what each call gets.

use std::env;
use std::error::Error;

use tonic::Status;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:50051".to_owned());
    let mut client = HealthClient::new(Endpoint::from_shared(address)?.connect().await?);
    let request = || HealthCheckRequest { service: String::new() };

    for _ in 0..4 {
        match client.check(request()).await {
            Ok(response) => println!("check: {:?}", response.into_inner().status()),
            Err(status) => println!("check: {}", refusal(&status)),
        }
    }

    let mut streams = Vec::new();
    for _ in 0..3 {
        match client.watch(request()).await {
            Ok(response) => {
                println!("watch: open");
                streams.push(response.into_inner());
            }
            Err(status) => println!("watch: {}", refusal(&status)),
        }
    }
    Ok(())
}

/// Code and the wait that the service demands. A negative one says that no wait helps.
fn refusal(status: &Status) -> String {
    let pushback = status.metadata().get("grpc-retry-pushback-ms").and_then(|value| value.to_str().ok());
    match pushback.and_then(|text| text.parse::<i64>().ok()) {
        Some(ms @ 0..) => format!("{:?}, retry in {} s", status.code(), ms.cast_unsigned().div_ceil(1_000)),
        _ => format!("{:?}", status.code()),
    }
}

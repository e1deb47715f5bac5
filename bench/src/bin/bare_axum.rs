//! Cost of an empty handler: takes the JSON of a check and answers 200.

use std::collections::HashMap;
use std::hint::black_box;

use axum::Json;
use axum::Router;
use axum::routing::post;
use axum::serve::ListenerExt;
use serde::Deserialize;
use tokio::net::TcpListener;

/// The members of a check that the load sends.
#[derive(Deserialize)]
struct CheckRequest {
    attributes: HashMap<String, String>,
    cost: u64,
}

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).expect("usage: bare_axum ADDRESS");
    let listener = TcpListener::bind(address).await.expect("the address is free");
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("a connection takes options"));
    let app = Router::new().route("/v1/check", post(check));
    axum::serve(listener, app).await.expect("it serves until it is killed");
}

async fn check(Json(request): Json<CheckRequest>) {
    black_box((request.attributes, request.cost));
}

//! Stand-in for an LLM: answers with as many words as `max_tokens` says, as a stream of events.

use std::env;
use std::error::Error;

use axum::body::Body;
use axum::extract::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Router, serve};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Request, as far as the answer depends on it.
#[derive(Deserialize)]
struct Chat {
    max_tokens: u64,
    messages: Vec<Value>,
    #[serde(default)]
    stream: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let app = Router::new().route("/v1/chat/completions", post(complete));
    let listener = TcpListener::bind(env::var("LISTEN").as_deref().unwrap_or("127.0.0.1:8000")).await?;
    println!("listening on http://{}\nPress Ctrl-C to stop.", listener.local_addr()?);
    serve(listener, app).await?;
    Ok(())
}

async fn complete(Json(chat): Json<Chat>) -> Response {
    let prompt_tokens = chat.messages.len() as u64;
    let usage = json!({
        "completion_tokens": chat.max_tokens,
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens.saturating_add(chat.max_tokens),
    });
    if !chat.stream {
        return Json(json!({ "choices": [{ "message": { "content": "word" } }], "usage": usage }))
            .into_response();
    }
    let words =
        stream::iter(0..chat.max_tokens).map(|_| json!({ "choices": [{ "delta": { "content": "word" } }] }));
    let end = stream::iter([json!({ "choices": [], "usage": usage })]);
    let events = words.chain(end).map(|event| Ok::<_, std::io::Error>(format!("data: {event}\n\n")));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

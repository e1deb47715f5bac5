//! API with a quota per user, whose size depends on the plan of the account.
//!
//! Authentication comes first and looks up the account of a token. The layer of Slidegate comes
//! next, and reads user and plan of that account as attributes of the request.

use std::borrow::Cow;
use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Router, serve};
use slidegate::tower::RateLimitLayer;
use slidegate::{Gate, Memory, Policy};
use tokio::net::TcpListener;

/// Account of a customer.
#[derive(Clone)]
struct Account {
    user: &'static str,
    /// Tier of the policy file; any other name has the limits of the rule itself.
    plan: &'static str,
}

/// Accounts by token. A real service asks its database.
type Accounts = HashMap<&'static str, Account>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let policy = env::var("POLICY").unwrap_or_else(|_| "policy.yaml".to_owned());
    let gate = Arc::new(Gate::new(Policy::load(policy)?, Memory::default()));
    let accounts = Arc::new(Accounts::from([
        ("token-of-alice", Account { user: "alice", plan: "free" }),
        ("token-of-bob", Account { user: "bob", plan: "pro" }),
    ]));

    let limits = RateLimitLayer::new(Arc::clone(&gate))
        .attribute_with("user", |parts| Some(Cow::Borrowed(parts.extensions.get::<Account>()?.user)))
        .attribute_with("tier", |parts| Some(Cow::Borrowed(parts.extensions.get::<Account>()?.plan)));
    let app = Router::new()
        .route("/v1/items", get(|| async { "items\n" }))
        .route("/v1/search", get(|| async { "found\n" }))
        .route("/v1/export", get(export))
        .layer(limits)
        // The last layer is the outermost: requests without an account cost nobody anything.
        .layer(middleware::from_fn_with_state(accounts, authenticate));

    let listener = TcpListener::bind(env::var("LISTEN").as_deref().unwrap_or("127.0.0.1:3000")).await?;
    println!("listening on http://{}\nPress Ctrl-C to stop.", listener.local_addr()?);
    serve(listener, app).with_graceful_shutdown(stopped()).await?;
    Ok(())
}

/// Adds the account of the token to the request.
async fn authenticate(
    State(accounts): State<Arc<Accounts>>,
    mut request: Request,
    next: Next,
) -> Result<Response, StatusCode> {
    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.strip_prefix("Bearer "));
    let account = token.and_then(|token| accounts.get(token)).ok_or(StatusCode::UNAUTHORIZED)?;
    request.extensions_mut().insert(account.clone());
    Ok(next.run(request).await)
}

async fn export(Extension(account): Extension<Account>) -> String {
    format!("everything of {}\n", account.user)
}

async fn stopped() {
    // Without a handler for the signal the process simply ends.
    let _ = tokio::signal::ctrl_c().await;
}

//! Settings from flags and environment variables, which take precedence over the file.

use std::net::SocketAddr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use slidegate::policy::file::{Bytes, HeaderStyle, ListenerSettings, Spanned, StoreKind};
use slidegate::policy::{Policy, Settings};
use slidegate::store::redis::RedisConfig;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Settings (precedence: flags, environment, file)")]
pub(crate) struct Flags {
    /// Address of the HTTP API. Port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_HTTP", value_parser = address)]
    http: Option<SocketAddr>,
    /// Address of Envoy's rate limit service (gRPC).
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_GRPC", value_parser = address)]
    grpc: Option<SocketAddr>,
    /// Address of the Redis protocol.
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_RESP", value_parser = address)]
    resp: Option<SocketAddr>,
    /// Address of the admin listener. Beyond loopback it needs a token, or TLS with client
    /// certificates.
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_ADMIN", value_parser = admin)]
    admin: Option<SocketAddr>,
    /// Bearer token that the admin listener requires. Prefer the variable: process lists show
    /// flags.
    #[arg(long, value_name = "TOKEN", env = "SLIDEGATE_ADMIN_TOKEN", hide_env_values = true, value_parser = token)]
    admin_token: Option<String>,
    /// Redis or Valkey server for shared state, for example redis://host:6379.
    #[arg(long, value_name = "URL", env = "SLIDEGATE_REDIS", value_parser = redis, hide_env_values = true)]
    redis: Option<String>,
    /// Maximum memory of the in-memory store, for example 64MiB or 1GiB.
    #[arg(long, value_name = "SIZE", env = "SLIDEGATE_MAX_MEMORY", value_parser = max_memory)]
    max_memory: Option<Bytes>,
    /// Style of the rate limit headers in responses.
    #[arg(long, value_name = "STYLE", env = "SLIDEGATE_HEADERS", value_parser = headers())]
    headers: Option<HeaderStyle>,
    /// Bearer token that requests need (Authorization: Bearer …). Prefer the variable: process
    /// lists show flags.
    #[arg(long, env = "SLIDEGATE_TOKEN", hide_env_values = true, value_parser = token)]
    token: Option<String>,
}

impl Flags {
    /// Whether this flag, or its variable, sets an address.
    pub(super) fn sets(&self, flag: &str) -> bool {
        match flag {
            "--http" => self.http.is_some(),
            "--admin" => self.admin.is_some(),
            _ => true,
        }
    }

    pub(crate) fn apply(&self, settings: &mut Settings) {
        let Settings { server, store, .. } = settings;
        if let Some(http) = self.http {
            server.http = Spanned::of(http);
        }
        for (flag, entrance) in [(self.grpc, &mut server.grpc), (self.resp, &mut server.resp)] {
            if let Some(address) = flag {
                entrance.get_or_insert_with(|| ListenerSettings::at(address)).listen = Spanned::of(address);
            }
        }
        if let Some(address) = self.admin {
            server.admin.get_or_insert_default().listen = Spanned::of(address);
        }
        if let (Some(token), Some(admin)) = (&self.admin_token, &mut server.admin) {
            admin.token = Some(Spanned::of(token.clone()));
        }
        if let Some(headers) = self.headers {
            server.headers = headers;
        }
        if let Some(token) = &self.token {
            server.token = Some(Spanned::of(token.clone()));
        }
        if let Some(max_memory) = self.max_memory {
            store.max_memory = max_memory;
        }
        if let Some(url) = &self.redis {
            store.kind = StoreKind::Redis;
            store.url = Some(Spanned::of(url.clone()));
            store.nodes.clear();
            store.sentinel = None;
        }
    }
}

/// Settings of a file with one setting: a flag and the same setting in a file accept the same
/// values.
fn parse_as_file(file: &Value) -> Result<Settings, String> {
    // JSON is YAML.
    match Policy::parse("flag", &file.to_string()) {
        Ok((_, settings)) => Ok(settings),
        Err(errors) => Err(errors.iter().map(|error| format!("{}; {}", error.message, error.help)).collect()),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let settings = parse_as_file(&json!({"version": 1, "server": {"http": text}}))?;
    settings
        .server
        .http
        .value
        .ok_or_else(|| "expected an address and port, for example 127.0.0.1:8080".to_owned())
}

/// Parses the admin address. The server checks its protection later, with all settings.
fn admin(text: &str) -> Result<SocketAddr, String> {
    let listen = json!({"listen": text, "token": "checked with all settings"});
    let settings = parse_as_file(&json!({"version": 1, "server": {"admin": listen}}))?;
    let admin = settings.server.admin.and_then(|admin| admin.listen.value);
    admin.ok_or_else(|| "expected an address and port, for example 127.0.0.1:8090".to_owned())
}

fn redis(text: &str) -> Result<String, String> {
    RedisConfig::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn max_memory(text: &str) -> Result<Bytes, String> {
    parse_as_file(&json!({"version": 1, "store": {"max_memory": text}}))
        .map(|settings| settings.store.max_memory)
}

fn token(text: &str) -> Result<String, String> {
    parse_as_file(&json!({"version": 1, "server": {"token": text}})).map(|_| text.to_owned())
}

fn headers() -> impl TypedValueParser<Value = HeaderStyle> {
    PossibleValuesParser::new(["draft", "legacy", "x-ratelimit", "none"]).try_map(|text| {
        parse_as_file(&json!({"version": 1, "server": {"headers": text}}))
            .map(|settings| settings.server.headers)
    })
}

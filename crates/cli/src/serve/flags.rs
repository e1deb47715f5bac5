//! Settings from flags and environment variables, which take precedence over the file.

use std::net::SocketAddr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use slidegate::policy::format::{Checked, Size};
use slidegate::store::redis::RedisConfig;
use slidegate_server::config::{HeaderStyle, Secret, Settings, StoreKind, Token};

use crate::flag_value::parse;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Settings (precedence: flags, environment, file)")]
pub(crate) struct Flags {
    /// Address of the HTTP API. Port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_HTTP", value_parser = parse::<SocketAddr>)]
    http: Option<SocketAddr>,
    /// Address of Envoy's rate limit service (gRPC).
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_GRPC", value_parser = parse::<SocketAddr>)]
    grpc: Option<SocketAddr>,
    /// Address of the Redis protocol.
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_RESP", value_parser = parse::<SocketAddr>)]
    resp: Option<SocketAddr>,
    /// Address of the admin listener. Beyond loopback it needs a token, or TLS with client
    /// certificates.
    #[arg(long, value_name = "ADDRESS", env = "SLIDEGATE_ADMIN", value_parser = parse::<SocketAddr>)]
    admin: Option<SocketAddr>,
    /// Bearer token that the admin listener requires. Prefer the variable: process lists show
    /// flags.
    #[arg(long, value_name = "TOKEN", env = "SLIDEGATE_ADMIN_TOKEN", hide_env_values = true, value_parser = parse::<Checked<Token>>)]
    admin_token: Option<Token>,
    /// Redis or Valkey server for shared state, for example redis://host:6379.
    #[arg(long, value_name = "URL", env = "SLIDEGATE_REDIS", value_parser = redis, hide_env_values = true)]
    redis: Option<Secret>,
    /// Maximum memory of the in-memory store, for example 64MiB or 1GiB.
    #[arg(long, value_name = "SIZE", env = "SLIDEGATE_MAX_MEMORY", value_parser = parse::<Size>)]
    max_memory: Option<usize>,
    /// Style of the rate limit headers in responses.
    #[arg(long, value_name = "STYLE", env = "SLIDEGATE_HEADERS", value_parser = headers())]
    headers: Option<HeaderStyle>,
    /// Bearer token that requests need (Authorization: Bearer …). Prefer the variable: process
    /// lists show flags.
    #[arg(long, env = "SLIDEGATE_TOKEN", hide_env_values = true, value_parser = parse::<Checked<Token>>)]
    token: Option<Token>,
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
            server.http = http;
        }
        for (flag, listener) in [(self.grpc, &mut server.grpc), (self.resp, &mut server.resp)] {
            if let Some(address) = flag {
                listener.get_or_insert_with(|| address.into()).listen = address;
            }
        }
        if let Some(address) = self.admin {
            server.admin.get_or_insert_with(|| address.into()).listen = address;
        }
        if let (Some(token), Some(admin)) = (&self.admin_token, &mut server.admin) {
            admin.token = Some(token.clone());
        }
        if let Some(headers) = self.headers {
            server.headers = headers;
        }
        if let Some(token) = &self.token {
            server.token = Some(token.clone());
        }
        if let Some(max_memory) = self.max_memory {
            store.max_memory = max_memory;
        }
        if let Some(url) = &self.redis {
            store.kind = StoreKind::Redis;
            store.url = Some(url.clone());
            store.nodes.clear();
            store.sentinel = None;
        }
    }
}

fn redis(text: &str) -> Result<Secret, String> {
    RedisConfig::parse(text).map(|_| text.into()).map_err(|error| error.to_string())
}

fn headers() -> impl TypedValueParser<Value = HeaderStyle> {
    PossibleValuesParser::new(["draft", "legacy", "x-ratelimit", "none"])
        .try_map(|text| parse::<HeaderStyle>(&text))
}

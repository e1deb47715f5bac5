//! Discovery of the primary through sentinels.

use futures_util::stream::{self, StreamExt};
use redis::Value;

use super::connection::{Connection, Dialer};
use super::endpoint::{Address, RedisEndpoint};
use crate::error::RedisError;

/// Sentinels that are queried at the same time, so that one that hangs delays nobody.
const AT_ONCE: usize = 3;

#[derive(Debug)]
pub(super) struct SentinelSet {
    pub(super) endpoints: Vec<RedisEndpoint>,
    /// Name of the primary.
    pub(super) name: String,
    /// Endpoint of the primary, without its address.
    pub(super) primary: RedisEndpoint,
}

impl SentinelSet {
    /// Connection to the server that a sentinel names, if that reports to be a primary.
    pub(super) async fn connect(&self, dialer: &Dialer) -> Result<Connection, RedisError> {
        let queries = self.endpoints.iter().cloned().map(|sentinel| self.query_primary(sentinel, dialer));
        let mut answers = stream::iter(queries).buffer_unordered(AT_ONCE);
        let mut tried = Vec::new();
        let mut last = unreachable("no sentinel".to_owned());
        while let Some(answer) = answers.next().await {
            let found = match answer {
                // An address that several of them name is tried once.
                Ok(address) if tried.contains(&address) => continue,
                Ok(address) => {
                    tried.push(address.clone());
                    self.verified(&self.primary.at(address), dialer).await
                }
                Err(error) => Err(error),
            };
            match found {
                Ok(connection) => return Ok(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn query_primary(&self, sentinel: RedisEndpoint, dialer: &Dialer) -> Result<Address, RedisError> {
        let connection = dialer.open(&sentinel).await?;
        let question = ["SENTINEL", "get-master-addr-by-name", &self.name];
        let answer = in_time(dialer, connection.query(&question)).await?;
        let primary = match redis::from_redis_value::<Option<(String, u16)>>(answer) {
            Ok(Some((host, port))) => Address::announced(&host, port, &sentinel.address),
            Ok(None) => None,
            Err(error) => return Err(unreachable(format!("sentinel {sentinel}: {error}"))),
        };
        primary.ok_or_else(|| unreachable(format!("sentinel {sentinel} knows no primary {:?}", self.name)))
    }

    async fn verified(&self, endpoint: &RedisEndpoint, dialer: &Dialer) -> Result<Connection, RedisError> {
        let connection = dialer.open(endpoint).await?;
        match in_time(dialer, connection.query(&["ROLE"])).await? {
            Value::Array(parts) if is_master(parts.first()) => Ok(connection),
            // Without permission for ROLE it is trusted; it answers READONLY if it is a replica.
            Value::ServerError(error) if error.code() == "NOPERM" => Ok(connection),
            _ => Err(unreachable(format!("{endpoint} is not a primary any more"))),
        }
    }
}

fn is_master(role: Option<&Value>) -> bool {
    matches!(role, Some(Value::BulkString(role)) if role == b"master")
}

async fn in_time(
    dialer: &Dialer,
    query: impl Future<Output = Result<Value, RedisError>>,
) -> Result<Value, RedisError> {
    let timed = tokio::time::timeout(dialer.timeout, query).await;
    timed.unwrap_or_else(|_| Err(unreachable("no reply in time".to_owned())))
}

fn unreachable(why: String) -> RedisError {
    RedisError::Unreachable(why)
}

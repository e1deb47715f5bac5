//! Checks of the setup of servers, in the background and once per server.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Value, from_redis_value};
use tokio::time::timeout;

use super::batching::SlotRouting;
use super::connection::Connection;
use super::endpoint::Address;

/// Oldest tested version, as major and minor. Valkey also reports a compatible version of Redis.
const OLDEST: (u32, u32) = (6, 2);
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of servers that are checked.
const MAX_CHECKED: usize = 1024;

/// Warning about a server: a setting that an operator should change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    server: String,
    finding: Finding,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Finding {
    Evicts(String),
    Old(String),
    NoScripts(String),
    NoHistory(String),
    Cluster,
}

impl Finding {
    /// True if it matters only for permits.
    fn is_about_permits(&self) -> bool {
        matches!(self, Self::NoHistory(_))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match &self.finding {
            Finding::Evicts(policy) => write!(
                formatter,
                "{server} may evict limits when its memory is full; set maxmemory-policy to noeviction (now {policy})"
            ),
            Finding::Old(version) => write!(
                formatter,
                "{server} has version {version}, which is not tested; use Redis {}.{} or later, or Valkey",
                OLDEST.0, OLDEST.1
            ),
            Finding::NoScripts(why) => write!(
                formatter,
                "{server} does not let this user run scripts, which decisions need; allow EVAL and EVALSHA ({why})"
            ),
            Finding::NoHistory(why) => write!(
                formatter,
                "{server} does not report its replication id, so permits lost by a failover or a restart may settle other charges; \
                 allow INFO ({why})"
            ),
            Finding::Cluster => {
                write!(
                    formatter,
                    "{server} is a node of a Cluster; configure it as one, otherwise most keys are refused"
                )
            }
        }
    }
}

/// Results of the checks of all servers.
#[derive(Default, Debug)]
pub(super) struct Checks {
    findings: Mutex<Findings>,
    /// True if permits are issued.
    permits: AtomicBool,
}

#[derive(Default, Debug)]
struct Findings {
    checked: HashSet<Address>,
    warnings: Vec<Warning>,
    /// Warnings about permits, until one is issued.
    deferred: Vec<Warning>,
}

impl Findings {
    fn warn(&mut self, warning: Warning) {
        tracing::warn!("{warning}");
        self.warnings.push(warning);
    }
}

impl Checks {
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.findings.lock().warnings.clone()
    }

    /// Enables warnings about permits, for a store that issues some.
    pub(super) fn expect_permits(&self) {
        if self.permits.load(Ordering::Relaxed) {
            return;
        }
        let mut findings = self.findings.lock();
        self.permits.store(true, Ordering::Relaxed);
        for warning in std::mem::take(&mut findings.deferred) {
            findings.warn(warning);
        }
    }

    pub(super) fn start(self: &Arc<Self>, connection: &Connection, slots: SlotRouting) {
        let mut findings = self.findings.lock();
        if findings.checked.len() < MAX_CHECKED && findings.checked.insert(connection.address.clone()) {
            let (checks, connection) = (self.clone(), connection.clone());
            tokio::spawn(async move {
                if timeout(CHECK_TIMEOUT, checks.run(&connection, slots)).await.is_err() {
                    checks.findings.lock().checked.remove(&connection.address);
                }
            });
        }
    }

    async fn run(&self, connection: &Connection, slots: SlotRouting) {
        let policy = memory_policy(connection).await.filter(|policy| policy != "noeviction");
        let about = info(connection, "server").await.unwrap_or_default();
        let old = field(&about, "redis_version").filter(|version| is_old(version));
        let mode = field(&about, "redis_mode").or_else(|| field(&about, "server_mode"));
        let mode = mode.filter(|mode| mode == "cluster" && slots == SlotRouting::Together);
        let scripts = scripts_refused(connection).await;
        let history = history_hidden(connection).await;
        let found = [
            policy.map(Finding::Evicts),
            old.map(Finding::Old),
            mode.map(|_| Finding::Cluster),
            scripts.map(Finding::NoScripts),
            history.map(Finding::NoHistory),
        ];
        for finding in found.into_iter().flatten() {
            let deferred = finding.is_about_permits();
            let warning = Warning { server: connection.address.to_string(), finding };
            let mut findings = self.findings.lock();
            if deferred && !self.permits.load(Ordering::Relaxed) {
                findings.deferred.push(warning);
            } else {
                findings.warn(warning);
            }
        }
    }
}

/// Eviction policy, from CONFIG, or from INFO where CONFIG is forbidden, as in most managed
/// services.
async fn memory_policy(connection: &Connection) -> Option<String> {
    let reply = connection.query(&["CONFIG", "GET", "maxmemory-policy"]).await.ok()?;
    match from_redis_value::<Vec<String>>(reply) {
        Ok(pair) if pair.len() == 2 => pair.into_iter().nth(1),
        _ => field(&info(connection, "memory").await?, "maxmemory_policy"),
    }
}

async fn scripts_refused(connection: &Connection) -> Option<String> {
    match connection.query(&["EVAL", "return 1", "0"]).await.ok()? {
        Value::ServerError(error) if error.code() == "NOPERM" => Some("NOPERM".to_owned()),
        Value::ServerError(error) => {
            error.details().filter(|text| text.starts_with("unknown command")).map(str::to_owned)
        }
        _ => None,
    }
}

/// Reason why scripts cannot read the replication id, if so.
async fn history_hidden(connection: &Connection) -> Option<String> {
    match connection.query(&["INFO", "replication"]).await.ok()? {
        Value::ServerError(error) => Some(error.code().to_owned()),
        value => {
            let info = from_redis_value::<String>(value).unwrap_or_default();
            (!has_replication_id(&info)).then(|| "INFO has no master_replid".to_owned())
        }
    }
}

/// True if there is a replication id, of which scripts read the first 16 hex digits.
fn has_replication_id(info: &str) -> bool {
    let id = field(info, "master_replid").unwrap_or_default();
    id.len() >= 16 && id.bytes().take(16).all(|byte| byte.is_ascii_hexdigit())
}

async fn info(connection: &Connection, section: &str) -> Option<String> {
    from_redis_value(connection.query(&["INFO", section]).await.ok()?).ok()
}

fn field(info: &str, name: &str) -> Option<String> {
    info.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(|value| value.trim().to_owned())
}

/// True for a version before [`OLDEST`]; false for one that cannot be parsed.
fn is_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    matches!((parts.next(), parts.next()), (Some(Some(major)), Some(Some(minor))) if (major, minor) < OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_info_says() {
        let info = "# Server\r\nredis_version:6.0.16\r\nredis_versions:no\r\n";
        assert_eq!(field(info, "redis_version").as_deref(), Some("6.0.16"));
        assert_eq!(field(info, "valkey_version"), None);
    }

    #[test]
    fn a_replication_id_has_digits_enough() {
        for (info, expected) in [
            ("role:master\r\nmaster_replid:a2e3b83dc2ddf9de0bed337ac509db76d44bda4a\r\n", true),
            ("role:master\r\nmaster_replid:a2e3b83d\r\n", false),
            ("master_replid:unknown-to-anybody\r\n", false),
            ("role:master\r\nmaster_replid2:a2e3b83dc2ddf9de0bed337ac509db76d44bda4a\r\n", false),
            ("", false),
        ] {
            assert_eq!(has_replication_id(info), expected, "{info}");
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (version, old) in [
            ("6.0.16", true),
            ("6.2.0", false),
            ("7.2.4", false),
            ("10.0.0", false),
            ("5.9.9", true),
            ("?", false),
        ] {
            assert_eq!(is_old(version), old, "{version}");
        }
    }
}

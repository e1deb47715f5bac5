//! Primary and replica, monitored by three Redis Sentinels.

use super::server::Role;
use super::{Flavour, RedisServer, wait_for};

const MASTER: &str = "slidegate";

/// Timeout of a primary. Sentinels ping once a second. With less than that they take every new
/// primary for dead at first, and may fail over again and again.
const DOWN_AFTER_MS: &str = "1500";

/// Servers of Redis 7.0 with Sentinels. A primary that is silent for 1.5 seconds is replaced.
pub struct Sentinels {
    data: [RedisServer; 2],
    sentinels: [RedisServer; 3],
}

impl Sentinels {
    /// Starts all servers, and returns when the Sentinels are ready to fail over.
    pub fn start() -> Self {
        let flavour = Flavour::Redis70;
        let data = [(); 2].map(|()| RedisServer::start_with(flavour, &["--repl-diskless-sync-delay", "0"]));
        let port = data[0].port().to_string();
        data[1].must(&["REPLICAOF", "127.0.0.1", &port]);
        // A primary tells sentinels only of replicas that are there when they ask, and they ask
        // every ten seconds.
        wait_for("a replica that follows", || follows(&data[1]));
        let sentinels = [(); 3].map(|()| RedisServer::start_as(Role::Sentinel, flavour, &[]));
        for sentinel in &sentinels {
            sentinel.must(&["SENTINEL", "MONITOR", MASTER, "127.0.0.1", &port, "2"]);
            sentinel.must(&["SENTINEL", "SET", MASTER, "down-after-milliseconds", DOWN_AFTER_MS]);
            sentinel.must(&["SENTINEL", "SET", MASTER, "failover-timeout", "3000"]);
        }
        let all = Self { data, sentinels };
        all.wait_until_ok();
        all
    }

    /// Name of the primary.
    pub fn master_name(&self) -> &'static str {
        MASTER
    }

    /// URLs of the Sentinels.
    pub fn urls(&self) -> Vec<String> {
        self.sentinels.iter().map(RedisServer::url).collect()
    }

    /// Sentinel by its index.
    pub fn sentinel(&self, index: usize) -> &RedisServer {
        &self.sentinels[index]
    }

    /// Primary, as soon as all Sentinels name the same server and it confirms its role.
    pub fn wait_for_primary(&self) -> &RedisServer {
        wait_for("a primary", || {
            let ports: Vec<String> = self.sentinels.iter().filter(|one| one.is_up()).map(named).collect();
            let agreed = ports.first().filter(|port| ports.iter().all(|other| other == *port));
            let primary =
                self.data.iter().find(|server| agreed.is_some_and(|port| *port == server.port().to_string()));
            let is_primary =
                |server: &&RedisServer| server.is_up() && server.info("role").as_deref() == Some("master");
            primary.filter(is_primary).ok_or_else(|| format!("the sentinels name {ports:?}"))
        })
    }

    /// Kills the primary, and returns its index. [`Self::wait_for_primary`] waits until the other
    /// one has taken over.
    pub fn kill_primary(&mut self) -> usize {
        let port = self.wait_for_primary().port();
        let index = self.data.iter().position(|server| server.port() == port).expect("one of them");
        self.data[index].kill();
        index
    }

    /// Restarts a server that was killed, as a replica. The Sentinels would demote it too, but
    /// later.
    pub fn restart(&mut self, index: usize) {
        let port = self.wait_for_primary().port().to_string();
        self.data[index].restart();
        self.data[index].must(&["REPLICAOF", "127.0.0.1", &port]);
    }

    /// Waits until there is a primary with a replica and every Sentinel knows all others: before
    /// that they do not fail over.
    pub fn wait_until_ok(&self) {
        let primary = self.wait_for_primary().port();
        wait_for("a replica and sentinels that know each other", || {
            self.data.iter().filter(|server| server.port() != primary).try_for_each(follows)?;
            self.sentinels.iter().filter(|sentinel| sentinel.is_up()).try_for_each(knows_all)
        });
    }
}

/// Port of the primary, by one Sentinel.
fn named(sentinel: &RedisServer) -> String {
    let address = sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER]).items();
    address.last().expect("an address").text()
}

fn follows(replica: &RedisServer) -> Result<(), String> {
    match replica.info("master_link_status") {
        Some(link) if link == "up" => Ok(()),
        other => Err(format!("its link is {other:?}")),
    }
}

fn knows_all(sentinel: &RedisServer) -> Result<(), String> {
    let fields = sentinel.command(&["SENTINEL", "MASTER", MASTER]).items();
    let value = |name| {
        let field = fields.chunks(2).find(|field| field[0].text() == name);
        field.expect("a field").last().expect("a value").text()
    };
    let counts = (value("num-slaves"), value("num-other-sentinels"));
    if counts == ("1".to_owned(), "2".to_owned()) { Ok(()) } else { Err(format!("{counts:?}")) }
}

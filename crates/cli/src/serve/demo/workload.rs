//! Workload of the demo: simulated requests by tick, the same in every run.

use serde_json::{Value, json};

/// Length of a tick.
pub(super) const TICK_MS: u64 = 50;
const TICKS_PER_S: u64 = 1_000 / TICK_MS;

/// Clients that search, each twice a second.
const SEARCHERS: u64 = 36;
/// Clients that read their orders, each 1.5 times a second.
const BUYERS: u64 = 24;
/// Clients that send a burst every eight seconds, and nothing between.
const BURSTERS: u64 = 4;
const BURST_EVERY: u64 = 8 * TICKS_PER_S;
const BURST: u64 = 25;
/// Clients that use their quota of 20 in 5 seconds completely, then wait.
const DEVICES: u64 = 3;
const SYNC_EVERY: u64 = 11 * TICKS_PER_S / 2;
const SYNC: u64 = 20;

const INDEXES: [&str; 3] = ["books", "films", "music"];

/// Generator of the simulated requests.
pub(super) struct Workload {
    random: u64,
    tick: u64,
}

impl Workload {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: seed, tick: 0 }
    }

    /// Requests of the next tick: bodies of `POST /v1/check`.
    pub(super) fn next(&mut self) -> Vec<Value> {
        let mut requests = Vec::new();
        self.steady(&mut requests);
        self.bursts(&mut requests);
        self.abusers(&mut requests);
        self.machines(&mut requests);
        self.tick += 1;
        requests
    }

    fn steady(&mut self, requests: &mut Vec<Value>) {
        for client in 0..SEARCHERS {
            if self.chance(100) {
                let index = INDEXES[self.below(3) as usize];
                requests.push(search(
                    &format!("key-{client:02}"),
                    &format!("203.0.113.{}", 100 + client),
                    index,
                ));
            }
        }
        for client in 0..BUYERS {
            if self.chance(75) {
                let path = format!("/v1/orders/{}", 1_000 + self.below(9_000));
                let ip = format!("192.0.2.{}", 10 + client);
                requests.push(
                    json!({ "attributes": { "path": path, "user": format!("user-{client:02}"), "ip": ip } }),
                );
            }
        }
    }

    fn bursts(&self, requests: &mut Vec<Value>) {
        for client in 0..BURSTERS {
            if (self.tick + client * BURST_EVERY / BURSTERS) % BURST_EVERY == TICKS_PER_S {
                let one =
                    search(&format!("batch-{client}"), &format!("203.0.113.{}", 20 + client), INDEXES[0]);
                requests.extend((0..BURST).map(|_| one.clone()));
            }
        }
    }

    /// An address that guesses passwords 30 times a second, one on the deny list, and a job that
    /// retries without waiting.
    fn abusers(&mut self, requests: &mut Vec<Value>) {
        let login = |ip: &str| json!({ "attributes": { "method": "POST", "path": "/login", "ip": ip } });
        requests.extend((0..1 + self.tick % 2).map(|_| login("203.0.113.66")));
        if self.chance(100) {
            requests.push(login("198.51.100.13"));
        }
        requests.push(json!({ "attributes": {
            "method": "POST", "path": "/v1/export", "job": "nightly-billing", "ip": "10.0.0.9",
        } }));
    }

    /// Devices that use their whole quota, health checks of a load balancer, and a page that peeks
    /// at what is left.
    fn machines(&mut self, requests: &mut Vec<Value>) {
        for client in 0..DEVICES {
            if (self.tick + client * SYNC_EVERY / DEVICES) % SYNC_EVERY == TICKS_PER_S {
                let (device, ip) = (format!("device-{client}"), format!("10.0.1.{}", 1 + client));
                let one = json!({ "attributes": { "path": "/v1/sync", "device": device, "ip": ip } });
                requests.extend((0..SYNC).map(|_| one.clone()));
            }
        }
        if self.tick.is_multiple_of(2) {
            requests.push(json!({ "attributes": { "path": "/healthz", "ip": "10.0.0.2" } }));
        }
        if self.chance(150) {
            let mut peek = search("key-00", "203.0.113.100", INDEXES[0]);
            peek["cost"] = 0.into();
            requests.push(peek);
        }
    }

    /// A random event with this probability, in thousandths.
    fn chance(&mut self, thousandths: u64) -> bool {
        self.below(1_000) < thousandths
    }

    /// A random number below `end`, by SplitMix64.
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

fn search(api_key: &str, ip: &str, index: &str) -> Value {
    let path = format!("/v1/search/{index}");
    json!({ "attributes": { "path": path, "api_key": api_key, "ip": ip } })
}

#[cfg(test)]
mod tests {
    use slidegate::policy::Policy;

    use super::*;

    const MINUTE: u64 = 60 * TICKS_PER_S;

    fn minute(seed: u64) -> Vec<Value> {
        let mut workload = Workload::new(seed);
        (0..MINUTE).flat_map(|_| workload.next()).collect()
    }

    #[test]
    fn every_run_is_the_same() {
        assert_eq!(minute(7), minute(7));
        assert_ne!(minute(7), minute(8));
    }

    /// About 200 requests a second, and few in one tick.
    #[test]
    fn the_rate_is_as_documented() {
        assert!((11_000..13_000).contains(&minute(7).len()), "{}", minute(7).len());
        let mut workload = Workload::new(7);
        assert!((0..MINUTE).all(|_| workload.next().len() < 80));
    }

    /// Every rule gets requests, and every path has a rule.
    #[test]
    fn the_workload_covers_the_policy() {
        let policy = Policy::parse("demo", super::super::POLICY).unwrap_or_else(|errors| panic!("{errors}"));
        let text = minute(7).iter().map(Value::to_string).collect::<String>();
        let paths = ["/login", "/v1/search/films", "/v1/orders/", "/v1/export", "/v1/sync", "/healthz"];
        assert_eq!(
            policy.rules().len(),
            paths.len(),
            "one of the rules matches all paths, and one of the paths has no rule"
        );
        assert!(paths.iter().all(|path| text.contains(path)));
    }
}

//! Millions of distinct subjects, refused and nearly so: what is kept and shown of them does not
//! grow, and those who stand out are found.
//!
//! `SLIDEGATE_SUBJECTS` sets how many there are. The memory is that of allocations by the thread of
//! the test alone.

use std::collections::HashMap;
use std::env;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use slidegate::telemetry::{Top, TopList};
use slidegate::{CheckRequest, ManualClock, Request};
use slidegate_server::{Config, Listeners, Runtime, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const DEFAULT_SUBJECTS: u64 = 1_000_000;
/// So many come within a second: all of them are there within two epochs.
const PER_SECOND: u64 = 20_000;
/// What ten times as many subjects may take more.
const SLACK_BYTES: i64 = 16 * 1_024;
const HEAVY: u32 = 10;
const BEGAN_MS: u64 = 5_816_667 * Top::EPOCH_MS;

const POLICY: &str = "
version: 1
server: { admin: 127.0.0.1:0 }
store: { max_memory: 4MiB }
rules:
  - { name: once, match: { path: /once }, key: [user], limits: [1/s] }
  - { name: bulk, match: { path: /bulk }, key: [user], limits: [{ quota: 1000000, window: 1h, algorithm: counter }] }
";

type Manual = Runtime<ManualClock>;

/// Who came, and how often it was counted in a list.
type Exact = HashMap<String, u64>;

struct Crowd {
    app: Arc<Manual>,
    clock: ManualClock,
    denied: Exact,
    near: Exact,
}

impl Crowd {
    fn ask(&self, path: &str, user: &str, cost: u64) -> bool {
        let request = Request::new().with("path", path).with("user", user).cost(cost);
        let answer = self.app.gate().check(&CheckRequest::from(request)).now_or_never();
        answer.expect("memory does not wait").expect("an answer").is_allowed()
    }

    /// Fills the lists in one epoch, and goes on to the next: from then on both epochs of every
    /// list have as much as they can.
    fn fill_an_epoch(&mut self) {
        for n in 0..PER_SECOND {
            let user = format!("early-{n}");
            assert!(self.ask("/once", &user, 1) && !self.ask("/once", &user, 2), "{user}");
        }
        self.clock.advance_ms(Top::EPOCH_MS);
    }

    /// Everybody is refused once and nearly refused once; some are so again and again.
    fn come(&mut self, subjects: std::ops::Range<u64>) {
        let mut user = String::new();
        for n in subjects {
            user.clear();
            user.push_str("user-");
            user.push_str(itoa::Buffer::new().format(n));
            assert!(self.ask("/once", &user, 1), "{user} has the whole quota");
            assert!(!self.ask("/once", &user, 2), "more than the quota");
            for heavy in 0..HEAVY {
                if n % (32 << heavy) == 0 {
                    let user = format!("refused-{heavy}");
                    assert!(!self.ask("/once", &user, 2), "more than the quota");
                    *self.denied.entry(user).or_default() += 1;
                }
                if n % (256 << heavy) == 0 {
                    let user = format!("near-{heavy}");
                    assert!(self.ask("/bulk", &user, 1), "{user} has {:?}", self.near);
                    *self.near.entry(user).or_default() += 1;
                }
            }
            if n % PER_SECOND == PER_SECOND - 1 {
                self.clock.advance_ms(1_000);
            }
        }
    }

    /// Whoever was counted more often than the bound is in the list, and no count is wrong by more
    /// than it says.
    fn holds(list: &TopList, exact: &Exact) {
        let mut found = 0;
        for entry in &list.entries {
            let user = entry.subject[0].value.as_deref().expect("a user");
            // The others came once.
            let times = exact.get(user).copied().unwrap_or(1);
            assert!(entry.count - entry.error <= times && times <= entry.count, "{entry:?}, really {times}");
            found += u64::from(times > list.bound);
        }
        let above = exact.values().filter(|times| **times > list.bound).count() as u64;
        assert!(found == above && above >= 1, "{found} of {above} above {}: {exact:?}", list.bound);
        // A thousandth, and what the shards differ by.
        assert!(list.bound <= list.total / 512, "{} of {}", list.bound, list.total);
    }

    fn lists(&self) -> [TopList; 2] {
        let telemetry = self.app.telemetry().expect("it is on");
        [telemetry.denied(), telemetry.near()].map(|top| top.list(Top::CAPACITY, self.app.gate().now_ms()))
    }
}

async fn scrape(admin: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(admin).await.expect("a connection");
    let request = b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}

/// What is told, whatever the numbers are.
fn shape(scrape: &str) -> Vec<&str> {
    scrape.lines().map(|line| line.rsplit_once(' ').map_or(line, |(name, _)| name)).collect()
}

#[tokio::test]
async fn state_and_output_do_not_grow() {
    let subjects = env::var("SLIDEGATE_SUBJECTS").map_or(DEFAULT_SUBJECTS, |n| n.parse().expect("a number"));
    let config = Config::parse("policy.yaml", POLICY).unwrap_or_else(|errors| panic!("{errors}"));
    let clock = ManualClock::new(BEGAN_MS);
    let app = Runtime::new(config).expect("settings").clock(clock.clone());
    let app = Arc::new(app);
    let [http, admin] = [TcpListener::bind("127.0.0.1:0").await, TcpListener::bind("127.0.0.1:0").await];
    let (http, admin) = (http.expect("a port"), admin.expect("a port"));
    let operators = admin.local_addr().expect("an address");
    let listeners = Listeners { http, grpc: None, resp: None, admin: Some(admin) };
    tokio::spawn(run(Arc::clone(&app), listeners, std::future::pending()));

    let mut crowd = Crowd { app, clock, denied: Exact::new(), near: Exact::new() };
    crowd.fill_an_epoch();
    // After this every one of their requests is a near miss.
    for heavy in 0..HEAVY {
        assert!(crowd.ask("/bulk", &format!("near-{heavy}"), 950_000));
        crowd.near.insert(format!("near-{heavy}"), 1);
    }
    crowd.come(0..subjects / 10);
    let first = scrape(operators).await;
    let began = Instant::now();
    let more = allocation_counter::measure(|| crowd.come(subjects / 10..subjects));
    let (took, last) = (began.elapsed(), scrape(operators).await);
    let [denied, near] = crowd.lists();
    println!(
        "{subjects} subjects: {} bytes kept more than after a tenth of them, scrapes of {} and {} bytes; denied {} in all, bound {}; near {} in \
         all, bound {}; {took:?} for nine tenths",
        more.bytes_current,
        first.len(),
        last.len(),
        denied.total,
        denied.bound,
        near.total,
        near.bound
    );
    assert!(more.bytes_current <= SLACK_BYTES, "{more:?}");
    assert_eq!(shape(&first), shape(&last));
    Crowd::holds(&denied, &crowd.denied);
    Crowd::holds(&near, &crowd.near);
    for (list, exact) in [(&denied, &crowd.denied), (&near, &crowd.near)] {
        // Those who came first count until their epoch is over for good.
        let early = if list.since_ms <= BEGAN_MS { PER_SECOND } else { 0 };
        assert_eq!(list.total, early + subjects + exact.values().sum::<u64>());
    }
}

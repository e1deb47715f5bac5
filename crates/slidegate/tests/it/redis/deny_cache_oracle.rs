//! A denial that is repeated without asking is one that the server would have given: whatever was
//! admitted, and when, is written down, and every such denial is judged by it afterwards.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use slidegate::{AsyncLimiter, Redis, Source};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::task::JoinSet;

use crate::redis::stores::{direct, limit, patient};

const QUOTA: usize = 3;
const WINDOW_MS: u64 = 200;

/// A denial from the cache. By the clock that the server reads too, it was given at some time from
/// `asked_ms` to `told_ms`.
struct Denial {
    sent_ms: u64,
    received_ms: u64,
    wait_ms: u64,
}

#[derive(Default)]
struct Record {
    /// When the server decided to admit.
    admitted_ms: Vec<u64>,
    denials: Vec<Denial>,
}

fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after the epoch");
    u64::try_from(since_epoch.as_millis()).expect("a time")
}

async fn ask(limiter: Arc<AsyncLimiter<Redis>>, until: Instant) -> Record {
    let mut record = Record::default();
    while Instant::now() < until {
        let sent_ms = now_ms();
        let verdict = limiter.check("key").await.expect("a decision");
        let received_ms = now_ms();
        if verdict.is_allowed() {
            record.admitted_ms.push(verdict.decided_at_ms);
        } else if verdict.source == Source::Cache {
            let wait_ms = verdict.retry_after_ms().expect("a wait");
            record.denials.push(Denial { sent_ms, received_ms, wait_ms });
        }
        // A denial is quick, and all of them would be more than it takes.
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
    record
}

impl Record {
    /// Whether the window that ends at this time was full.
    fn is_full(&self, at_ms: u64) -> bool {
        let within = |admitted_ms: &&u64| (at_ms - WINDOW_MS + 1..=at_ms).contains(*admitted_ms);
        self.admitted_ms.iter().filter(within).count() >= QUOTA
    }

    fn judge(&self) {
        for Denial { sent_ms, received_ms, wait_ms } in &self.denials {
            let full = (*sent_ms..=*received_ms).any(|at_ms| self.is_full(at_ms));
            assert!(full, "denied between {sent_ms} and {received_ms}, with room: {:?}", self.admitted_ms);
            let promised = received_ms + 1..sent_ms + wait_ms;
            let early = self.admitted_ms.iter().find(|admitted_ms| promised.contains(admitted_ms));
            assert_eq!(early, None, "told at {received_ms} to wait for {wait_ms}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_denial_is_repeated_while_there_is_room() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let stores = [(); 2].map(|()| Redis::new(&patient(&server.url())));
        let limiters = stores.map(|store| Arc::new(direct(&store, [limit(QUOTA as u64, WINDOW_MS)])));
        let until = Instant::now() + Duration::from_secs(2);
        let mut tasks = JoinSet::new();
        for task in 0..6 {
            tasks.spawn(ask(limiters[task % 2].clone(), until));
        }
        let mut all = Record::default();
        for record in tasks.join_all().await {
            all.admitted_ms.extend(record.admitted_ms);
            all.denials.extend(record.denials);
        }
        all.judge();
        assert!(all.denials.len() > 100 && all.admitted_ms.len() > QUOTA, "there was something to judge");
    }
}

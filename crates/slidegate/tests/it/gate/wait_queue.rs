//! Requests that are held for their turn, in time that tokio moves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use slidegate::{CheckRequest, Clock, Gate, Memory};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::gates::{self, policy, request};

/// A clock that goes with tokio's, so that paused time is the gate's time too.
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        gates::START_MS + u64::try_from(self.0.elapsed().as_millis()).expect("a short test")
    }
}

type Waiting = Gate<Memory, TokioClock>;

fn gate(rules: &str) -> Waiting {
    Gate::new(policy(rules), Memory::default()).clock(TokioClock(Instant::now()))
}

/// Sends requests that wait this long, all at once and in this order; tells for each whether it was
/// admitted, and when.
async fn send(gate: Waiting, attributes: &'static str, waits_ms: &[u64]) -> Vec<(usize, bool, u128)> {
    let (gate, start) = (Arc::new(gate), Instant::now());
    let answers = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for (index, wait_ms) in waits_ms.iter().copied().enumerate() {
        let (gate, answers) = (gate.clone(), answers.clone());
        tasks.spawn(async move {
            let ask = CheckRequest {
                wait: Duration::from_millis(wait_ms),
                ..CheckRequest::from(request(attributes))
            };
            let answer = gate.check(&ask).await.expect("an answer");
            let waited_ms = start.elapsed().as_millis();
            answers.lock().expect("no panic").push((index, answer.is_allowed(), waited_ms));
        });
    }
    tasks.join_all().await;
    std::mem::take(&mut *answers.lock().expect("no panic"))
}

const TWO_A_SECOND: &str = "  - { name: calls, key: [user], limits: [2/s] }\n";

#[tokio::test(start_paused = true)]
async fn in_the_order_in_which_they_came() {
    let answers = send(gate(TWO_A_SECOND), "user=alice", &[5_000; 7]).await;
    let expected: Vec<_> = (0..7).map(|n| (n, true, n as u128 / 2 * 1_000)).collect();
    assert_eq!(answers, expected);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_would_be_too_long_is_not_begun() {
    let mut answers = send(gate(TWO_A_SECOND), "user=alice", &[999; 3]).await;
    assert_eq!(answers.pop(), Some((2, false, 0)));
    assert_eq!(answers, [(0, true, 0), (1, true, 0)]);
}

#[tokio::test(start_paused = true)]
async fn who_waits_behind_others_in_vain_is_refused_in_time() {
    let mut answers = send(gate(TWO_A_SECOND), "user=alice", &[0, 0, 1_000, 500, 1_001]).await;
    answers.sort_unstable();
    let expected = [(0, true, 0), (1, true, 0), (2, true, 1_000), (3, false, 500), (4, true, 1_000)];
    assert_eq!(answers, expected);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded() {
    // A subject has a sixteenth of all positions.
    let answers = send(gate(TWO_A_SECOND).max_waiting(3 * 16), "user=alice", &[60_000; 6]).await;
    // Two are admitted at once and three are in line: the last is answered at once, and finds no
    // room.
    let expected =
        [(0, true, 0), (1, true, 0), (5, false, 0), (2, true, 1_000), (3, true, 1_000), (4, true, 2_000)];
    assert_eq!(answers, expected);
}

#[tokio::test(start_paused = true)]
async fn a_subject_that_fills_its_queue_delays_nobody_else() {
    let gate = Arc::new(gate(TWO_A_SECOND).max_waiting(4 * 16));
    let start = Instant::now();
    let check = |attributes: &'static str| {
        let gate = gate.clone();
        async move {
            let wait = Duration::from_secs(60);
            let answer = gate.check(&CheckRequest { wait, ..CheckRequest::from(request(attributes)) }).await;
            (answer.expect("an answer").is_allowed(), start.elapsed().as_secs())
        }
    };
    let flood: Vec<_> = (0..1_000).map(|_| tokio::spawn(check("user=mallory"))).collect();
    tokio::task::yield_now().await;
    let bob: Vec<_> = (0..4).map(|_| tokio::spawn(check("user=bob"))).collect();
    for (n, task) in bob.into_iter().enumerate() {
        assert_eq!(task.await.expect("no panic"), (true, n as u64 / 2), "as if nobody else were there");
    }
    let mut admitted = 0;
    for task in flood {
        admitted += u32::from(task.await.expect("no panic").0);
    }
    assert_eq!(admitted, 2 + 4, "two at once, and the four of its queue");
}

/// A client that varies another attribute has several queues, but the positions of one subject. It
/// leaves room in a rule that all clients share, too.
#[tokio::test(start_paused = true)]
async fn a_client_that_varies_an_attribute_delays_nobody_else() {
    const CLIENTS: &str = "  - { name: clients, key: [ip], limits: [2/s] }\n";
    const USERS: &str = "  - { name: users, key: [user], limits: [2/s] }\n";
    const ALL: &str = "  - { name: all, limits: [1000/s] }\n";
    for (rules, positions) in [([CLIENTS, USERS, ""], 16), ([CLIENTS, USERS, ALL], 8)] {
        let gate = Arc::new(gate(&rules.concat()).max_waiting(16 * 16));
        let start = Instant::now();
        let check = |attributes: String| {
            let gate = gate.clone();
            async move {
                let wait = Duration::from_secs(60);
                let request = CheckRequest { wait, ..CheckRequest::from(request(&attributes)) };
                let answer = gate.check(&request).await.expect("an answer");
                (answer.is_allowed(), start.elapsed().as_secs())
            }
        };
        let flood = (0..1_000).map(|n| tokio::spawn(check(format!("ip=192.0.2.1 user={n}"))));
        let flood: Vec<_> = flood.collect();
        tokio::task::yield_now().await;
        let bob: Vec<_> = (0..4).map(|_| tokio::spawn(check("ip=192.0.2.2 user=bob".to_owned()))).collect();
        for (n, task) in bob.into_iter().enumerate() {
            assert_eq!(task.await.expect("no panic"), (true, n as u64 / 2), "as if nobody else were there");
        }
        let mut admitted = 0;
        for task in flood {
            admitted += u32::from(task.await.expect("no panic").0);
        }
        assert_eq!(admitted, 2 + positions, "two at once, and the positions of its address");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_goes_to_the_queue_when_it_is_released() {
    let gate = Arc::new(gate("  - { name: slots, key: [user], limits: [{ in_flight: 1, hold: 1h }] }\n"));
    let ask = CheckRequest { wait: Duration::from_secs(10), ..CheckRequest::from(request("user=alice")) };
    let first = gate.check(&ask).await.expect("an answer");
    let start = Instant::now();
    let release = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        gate.refund(&gate.permit(&first).expect("a permit")).await.expect("released")
    };
    let (second, _) = tokio::join!(gate.check(&ask), release);
    assert!(second.expect("an answer").is_allowed());
    assert!(start.elapsed() < Duration::from_millis(3_050), "{:?}", start.elapsed());
}

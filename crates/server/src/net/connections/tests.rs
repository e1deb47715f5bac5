//! Time limits of connections: never early, and at most an eighth late.

pub(crate) mod flood;

use super::*;
use crate::config::connection_limits::tests::usual;

const MS: Duration = Duration::from_millis(1);

/// A connection, and the time when it came.
struct Watched {
    connections: Arc<OpenConnections>,
    progress: Arc<Progress>,
    counts: ConnectionCounts,
    began: Instant,
    _member: Membership,
}

fn slot() -> ConnectionSlot {
    let capacity = Capacity::configured(&usual());
    Arc::new(ConnectionSlots::default()).regular(&usual(), capacity, [203, 0, 113, 7].into()).expect("a slot")
}

fn watched() -> Watched {
    let connections = Arc::new(OpenConnections::default());
    let progress = Progress::new();
    let slot = slot();
    let member = connections.join(Arc::clone(&progress), Waker::noop().clone(), &slot);
    Watched {
        connections,
        progress,
        counts: ConnectionCounts::default(),
        began: Instant::now(),
        _member: member,
    }
}

impl Watched {
    fn sweep(&self, at_ms: u64) {
        self.connections.sweep(0, self.began + at_ms as u32 * MS, &usual(), &self.counts);
    }

    /// Time from entering a phase until the order to end, swept at the usual interval.
    fn order_of(&self, phase: Phase, entered_ms: u64) -> Option<(u64, Order)> {
        let step_ms = usual().sweep_interval().as_millis() as u64;
        let mut at_ms = 0;
        while at_ms < 200_000 {
            if (at_ms..at_ms + step_ms).contains(&entered_ms) {
                self.progress.enter(phase);
            }
            at_ms += step_ms;
            self.sweep(at_ms);
            if self.progress.order() != Order::Go {
                return Some((at_ms - entered_ms, self.progress.order()));
            }
        }
        None
    }
}

#[tokio::test(start_paused = true)]
async fn never_before_its_time_and_at_most_an_eighth_later() {
    let rows = [
        (Phase::Head, Some((10_000, Order::Cut))),
        (Phase::Body, Some((10_000, Order::Cut))),
        (Phase::Answering, None),
        (Phase::Writing, Some((10_000, Order::End))),
        (Phase::Idle, Some((75_000, Order::Cut))),
    ];
    for (phase, expected) in rows {
        for entered_ms in [0, 1, 250, 499, 500, 501, 999, 7_777] {
            let order_of = watched().order_of(phase, entered_ms);
            assert_eq!(order_of.map(|(_, order)| order), expected.map(|(_, order)| order), "{phase:?}");
            if let (Some((ended_ms, _)), Some((limit_ms, _))) = (order_of, expected) {
                assert!(ended_ms >= limit_ms, "{phase:?} since {entered_ms}: ordered after {ended_ms}");
                assert!(
                    ended_ms <= limit_ms * 9 / 8,
                    "{phase:?} since {entered_ms}: ordered after {ended_ms}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_is_counted_from_the_beginning() {
    let watched = watched();
    for (at_ms, order) in
        [(9_999, Order::Go), (10_000, Order::Cut), (19_999, Order::Cut), (20_000, Order::End)]
    {
        watched.sweep(at_ms);
        assert_eq!(watched.progress.order(), order, "after {at_ms} ms");
    }
    assert_eq!(watched.counts.stats().ended_slow, 1, "once, however often it is ordered");
}

/// A first head, and a handshake before it, have one time together; a later one has its own.
#[tokio::test(start_paused = true)]
async fn a_first_head_counts_from_the_beginning_of_its_connection() {
    let [head, record]: [fn(&Progress); 2] = [Progress::begin_head, Progress::begin_record];
    let rows = [
        (vec![head], 10_000),
        (vec![record], 10_000),
        (vec![record, head], 10_000),
        (vec![Progress::rest, head], 19_000),
        (vec![Progress::rest, record], 19_000),
    ];
    for (row, (steps, limit_ms)) in rows.into_iter().enumerate() {
        let watched = watched();
        watched.sweep(8_999);
        for step in steps {
            step(&watched.progress);
        }
        for (at_ms, order) in [
            (9_000, Order::Go),
            (limit_ms - 1, Order::Go),
            (limit_ms, Order::Cut),
            (limit_ms + 9_999, Order::Cut),
        ] {
            watched.sweep(at_ms);
            assert_eq!(watched.progress.order(), order, "row {row} after {at_ms} ms");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_has_a_second_after_its_last_response() {
    let (ended_ms, order) = watched().order_of(Phase::Closing, 250).expect("an end");
    assert!((1_000..=2_000).contains(&ended_ms), "ordered after {ended_ms}");
    assert_eq!(order, Order::End);
}

#[tokio::test(start_paused = true)]
async fn who_moves_is_left_alone() {
    let watched = watched();
    for look in 1..100 {
        watched.progress.enter(Phase::Head);
        watched.sweep(look * 20_000);
    }
    assert_eq!(watched.progress.order(), Order::Go);
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_only_requests_keep_a_connection() {
    let rows = [
        (Phase::Fresh, 250),
        (Phase::Idle, 250),
        (Phase::Head, 10_000),
        (Phase::Record, 10_000),
        (Phase::Body, 10_000),
        (Phase::Answering, u64::MAX),
    ];
    for (phase, limit_ms) in rows {
        let watched = watched();
        if phase != Phase::Fresh {
            watched.progress.enter(phase);
        }
        watched.sweep(0);
        watched.connections.finish();
        for at_ms in [1, 249, 250, 9_999, 10_000] {
            watched.sweep(at_ms);
            let order_of = watched.progress.order() != Order::Go;
            assert_eq!(order_of, at_ms >= limit_ms, "{phase:?} after {at_ms} ms");
        }
    }
}

/// A crowd that has to go at the same time does not keep others waiting until all of it is gone.
#[tokio::test(start_paused = true)]
async fn many_connections_end_a_few_at_a_time() {
    let connections = Arc::new(OpenConnections::default());
    let crowd: Vec<_> = (0..100).map(|_| Progress::new()).collect();
    let slot = slot();
    let join =
        |progress: &Arc<Progress>| connections.join(Arc::clone(progress), Waker::noop().clone(), &slot);
    let _members: Vec<_> = crowd.iter().map(join).collect();
    let (now, counts) = (Instant::now() + 10_000 * MS, ConnectionCounts::default());
    let (mut from, mut order_of) = (Some(0), Vec::new());
    while let Some(slot) = from {
        from = connections.sweep(slot, now, &usual(), &counts);
        order_of.push(crowd.iter().filter(|progress| progress.order() != Order::Go).count());
    }
    assert_eq!(order_of[..3], [8, 16, 24]);
    assert_eq!(order_of[11..], [96, 100]);
}

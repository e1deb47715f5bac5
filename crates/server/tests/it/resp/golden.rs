//! `CL.THROTTLE` beside redis-cell: the table in its own tests, what its documentation shows, its
//! errors, and its arithmetic.

use std::cell::Cell;

use slidegate_testkit::cases::{Rng, prove_part};
use tokio::runtime::Runtime;

use crate::resp::client::Client;
use crate::resp::service::{BOTH, Kind, Service};

/// A row of the table.
struct Row {
    at_ms: u64,
    quantity: u64,
    limited: i64,
    remaining: i64,
    /// None where redis-cell has −1.
    retry_after_ms: Option<u64>,
    reset_after_ms: u64,
}

const fn row(
    (at_ms, quantity): (u64, u64),
    (limited, remaining): (i64, i64),
    (retry_after_ms, reset_after_ms): (Option<u64>, u64),
) -> Row {
    Row { at_ms, quantity, limited, remaining, retry_after_ms, reset_after_ms }
}

/// The cases 0 to 14 of `it_rate_limits` in redis-cell (redis-cell-impl/src/lib.rs): one a second,
/// five at once. It tells times in full there, and rounds them up to seconds in the command.
const TABLE: [Row; 15] = [
    row((0, 6), (1, 5), (None, 0)),
    row((0, 1), (0, 4), (None, 1_000)),
    row((0, 1), (0, 3), (None, 2_000)),
    row((0, 1), (0, 2), (None, 3_000)),
    row((0, 1), (0, 1), (None, 4_000)),
    row((0, 1), (0, 0), (None, 5_000)),
    row((0, 1), (1, 0), (Some(1_000), 5_000)),
    row((3_000, 1), (0, 2), (None, 3_000)),
    row((3_100, 1), (0, 1), (None, 3_900)),
    row((4_000, 1), (0, 1), (None, 4_000)),
    row((8_000, 1), (0, 4), (None, 1_000)),
    row((9_500, 1), (0, 4), (None, 1_000)),
    row((9_500, 0), (0, 4), (None, 1_000)),
    row((9_500, 2), (0, 2), (None, 3_000)),
    row((9_500, 5), (1, 2), (Some(3_000), 3_000)),
];

/// As the command tells a time.
fn seconds(ms: u64) -> i64 {
    ms.div_ceil(1_000) as i64
}

#[tokio::test]
async fn the_table_of_redis_cell_holds_row_by_row() {
    for kind in BOTH {
        let service = Service::repeating(kind, "rules: []").await;
        let mut client = service.client().await;
        let mut now_ms = 0;
        for (number, row) in TABLE.iter().enumerate() {
            service.advance_ms(row.at_ms - now_ms);
            now_ms = row.at_ms;
            let reply = client.say(&format!("CL.THROTTLE foo 4 1 1 {}", row.quantity)).await.integers();
            let retry_after = row.retry_after_ms.map_or(-1, seconds);
            let expected = [row.limited, 5, row.remaining, retry_after, seconds(row.reset_after_ms)];
            assert_eq!(reply, expected, "{kind:?}, case {number}");
        }
    }
}

/// The README's example, that of `tests/e2e.rs`, and one that its author gave.
#[tokio::test]
async fn the_examples_of_redis_cell_hold() {
    for kind in BOTH {
        let service = Service::repeating(kind, "rules: []").await;
        let mut client = service.client().await;
        let rows: [(u64, &str, [i64; 5]); 9] = [
            (0, "CL.THROTTLE user123 15 30 60", [0, 16, 15, -1, 2]),
            (0, "cl.throttle user124 5 5 3600", [0, 6, 5, -1, 720]),
            (0, "CL.THROTTLE user125 0 1 2 1", [0, 1, 0, -1, 2]),
            (0, "CL.THROTTLE user125 0 1 2 1", [1, 1, 0, 2, 2]),
            (1_999, "CL.THROTTLE user125 0 1 2 1", [1, 1, 0, 1, 1]),
            (1, "CL.THROTTLE user125 0 1 2 1", [0, 1, 0, -1, 2]),
            // A repeated denial has all numbers.
            (0, "CL.THROTTLE user126 15 30 60 16", [0, 16, 0, -1, 32]),
            (0, "CL.THROTTLE user126 15 30 60", [1, 16, 0, 2, 32]),
            (0, "CL.THROTTLE user126 15 30 60", [1, 16, 0, 2, 32]),
        ];
        for (wait_ms, command, expected) in rows {
            service.advance_ms(wait_ms);
            assert_eq!(client.say(command).await.integers(), expected, "{kind:?}: {command}");
        }
    }
}

/// Seen on redis-cell 0.2.2 in Redis 7.0; of a rate of nothing it speaks since 0.2.5.
#[tokio::test]
async fn errors_are_those_of_redis_cell() {
    const USAGE: &str =
        "Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";
    let service = Service::start(Kind::Memory, "rules: []").await;
    let mut client = service.client().await;
    let rows: [(&[&str], &str); 12] = [
        (&[], USAGE),
        (&["a"], USAGE),
        (&["a", "1", "1"], USAGE),
        (&["a", "1", "1", "1", "1", "1"], USAGE),
        (&["a", "x", "y", "z"], "Cell error: Couldn't parse as integer: x"),
        (&["a", "1", "y", "z"], "Cell error: Couldn't parse as integer: y"),
        (&["a", "1", "1", "z", "q"], "Cell error: Couldn't parse as integer: z"),
        (&["a", "1", "1", "1", "1.5"], "Cell error: Couldn't parse as integer: 1.5"),
        (&["a", " 5", "1", "1"], "Cell error: Couldn't parse as integer:  5"),
        (
            &["a", "9223372036854775808", "1", "1"],
            "Cell error: Couldn't parse as integer: 9223372036854775808",
        ),
        (&["a", "1", "0", "1"], "Cell error: Zero rates are not supported"),
        (&["a", "1", "1", "0"], "Cell error: Zero rates are not supported"),
    ];
    for (arguments, text) in rows {
        let reply = client.ask(&[&["CL.THROTTLE"], arguments].concat()).await;
        assert_eq!(reply.error(), text, "{arguments:?}");
    }
    assert_eq!(client.ask(&["CL.THROTTLE", "a", "+5", "1", "1"]).await.integers(), [0, 6, 5, -1, 1]);
    assert_eq!(client.ask(&["CL.THROTTLE", "", "5", "1", "1"]).await.integers(), [0, 6, 5, -1, 1]);
}

/// Arguments of a key.
#[derive(Debug)]
struct Meter {
    max_burst: u64,
    count: u64,
    period: u64,
    /// redis-cell counts in nanoseconds, and loses what does not divide; here all does, even in
    /// milliseconds.
    interval_ms: u64,
}

impl Meter {
    fn draw(rng: &Rng) -> Self {
        let (interval_ms, count) = (rng.pick(&[1, 7, 250, 1_000, 1_500, 60_000]), rng.between(1, 4) * 1_000);
        Self { max_burst: rng.below(9), count, period: interval_ms * count / 1_000, interval_ms }
    }
}

/// redis-cell as its algorithm is described: the time at which the next would be due if all came
/// evenly.
struct Model {
    due_ms: u64,
}

impl Model {
    fn throttle(&mut self, meter: &Meter, now_ms: u64, quantity: u64) -> [i64; 5] {
        let limit = meter.max_burst + 1;
        let tolerance_ms = limit * meter.interval_ms;
        // A key lives until then.
        let due_ms = self.due_ms.max(now_ms);
        let next_ms = due_ms + quantity * meter.interval_ms;
        let (limited, retry_after) = match next_ms.checked_sub(now_ms + tolerance_ms) {
            None | Some(0) => (0, -1),
            Some(_) if quantity > limit => (1, -1),
            Some(wait_ms) => (1, seconds(wait_ms)),
        };
        self.due_ms = if limited == 0 { next_ms } else { due_ms };
        let reset_after_ms = self.due_ms - now_ms;
        let remaining = (tolerance_ms - reset_after_ms) / meter.interval_ms;
        [limited, limit as i64, remaining as i64, retry_after, seconds(reset_after_ms)]
    }
}

/// A key of its own for every run, and time that only goes on.
#[test]
fn arithmetic_is_that_of_redis_cell() {
    for (kind, part) in [(Kind::Memory, 20), (Kind::Redis, 100)] {
        let runtime = Runtime::new().expect("a runtime");
        let service = runtime.block_on(Service::repeating(kind, "rules: []"));
        let client = Cell::new(Some(runtime.block_on(service.client())));
        let (keys, now_ms) = (Cell::new(0), Cell::new(0));
        let run = async |client: &mut Client, meter: &Meter, steps: &[(u64, u64)]| {
            let Meter { max_burst, count, period, .. } = meter;
            let key = keys.replace(keys.get() + 1);
            let mut model = Model { due_ms: 0 };
            for &(wait_ms, quantity) in steps {
                service.advance_ms(wait_ms);
                now_ms.set(now_ms.get() + wait_ms);
                let command = format!("CL.THROTTLE key-{key} {max_burst} {count} {period} {quantity}");
                let reply = client.say(&command).await.integers();
                let expected = model.throttle(meter, now_ms.get(), quantity);
                if reply != expected {
                    return Err(format!("{kind:?}: {command}: {reply:?}, and redis-cell {expected:?}"));
                }
            }
            Ok(())
        };
        prove_part(part, draw, |meter, steps| {
            let mut asking = client.take().expect("one run at a time");
            let result = runtime.block_on(run(&mut asking, meter, steps));
            client.set(Some(asking));
            result
        });
    }
}

/// Waits and quantities.
fn draw(rng: &Rng) -> (Meter, Vec<(u64, u64)>) {
    let meter = Meter::draw(rng);
    let step = |_| {
        let wait_ms = match rng.below(4) {
            0..2 => 0,
            2 => rng.below(meter.interval_ms + 2),
            _ => rng.below(meter.interval_ms * (meter.max_burst + 2)),
        };
        (wait_ms, rng.pick(&[0, 1, 1, 1, 2, meter.max_burst, meter.max_burst + 1, meter.max_burst + 2]))
    };
    let steps = (0..rng.between(1, 20)).map(step).collect();
    (meter, steps)
}

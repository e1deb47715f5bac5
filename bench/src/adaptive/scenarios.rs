//! Scenarios: steps of capacity, service time and load.

use super::model::{ServiceTime, Step, Traffic};

/// Sequence of steps, and the limit that it starts with.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Name, as in the tables.
    pub name: &'static str,
    /// Distribution of service times.
    pub service_time: ServiceTime,
    /// Limit at the start.
    pub initial: u32,
    /// Share of the steps with an overload, over all runs, in which the limit has to settle.
    pub must_settle: f64,
    /// Share of the runs in which it has to settle in every such step.
    pub must_settle_runs: f64,
    /// Steps, one after the other.
    pub steps: &'static [Step],
}

/// Limit at the start, where a scenario is not about that.
const INITIAL: u32 = 20;

/// Twice as many requests as the capacity can serve.
const OVERLOAD: &[Traffic] = &[Traffic { partition: "", share_percent: 0, load: 2.0 }];
/// A quarter more than it can serve.
const MILD: &[Traffic] = &[Traffic { partition: "", share_percent: 0, load: 1.25 }];
/// Half of what it can serve.
const LIGHT: &[Traffic] = &[Traffic { partition: "", share_percent: 0, load: 0.5 }];
/// Nothing.
const IDLE: &[Traffic] = &[Traffic { partition: "", share_percent: 0, load: 0.0 }];
/// Nearly half of what the capacity can serve, within a guaranteed share, and a flood.
const FLOOD: &[Traffic] = &[
    Traffic { partition: "live", share_percent: 60, load: 0.45 },
    Traffic { partition: "batch", share_percent: 30, load: 4.0 },
    Traffic { partition: "other", share_percent: 0, load: 1.0 },
];
/// A flood while the partition with the largest share is idle.
const ABSENT: &[Traffic] = &[
    Traffic { partition: "live", share_percent: 60, load: 0.0 },
    Traffic { partition: "batch", share_percent: 30, load: 4.0 },
    Traffic { partition: "other", share_percent: 0, load: 1.0 },
];

const fn step(capacity: usize, service_ms: f64, length_s: u64, traffic: &'static [Traffic]) -> Step {
    Step { capacity, service_ms, length_s, traffic }
}

const fn scenario(name: &'static str, service_time: ServiceTime, steps: &'static [Step]) -> Scenario {
    Scenario { name, service_time, initial: INITIAL, must_settle: 0.99, must_settle_runs: 0.99, steps }
}

/// Scenario with other shares of steps and of runs in which the limit has to settle.
const fn settling(must_settle: f64, must_settle_runs: f64, scenario: Scenario) -> Scenario {
    Scenario { must_settle, must_settle_runs, ..scenario }
}

/// Capacity that halves and comes back.
pub const HALVED: Scenario =
    settling(1.0, 1.0, scenario("capacity 40, 20, 40", ServiceTime::Exponential, HALVED_STEPS));
const HALVED_STEPS: &[Step] =
    &[step(40, 10.0, 45, OVERLOAD), step(20, 10.0, 45, OVERLOAD), step(40, 10.0, 45, OVERLOAD)];

/// Service time that doubles at the same capacity, and comes back.
pub const SLOWER: Scenario = settling(
    1.0,
    1.0,
    scenario(
        "service time 10, 20, 10 ms",
        ServiceTime::Exponential,
        &[step(40, 10.0, 45, OVERLOAD), step(40, 20.0, 45, OVERLOAD), step(40, 10.0, 45, OVERLOAD)],
    ),
);

/// Overload by a quarter only: a limit that is a fifth too high refuses hardly a request.
pub const MILD_OVERLOAD: Scenario = settling(
    0.95,
    0.9,
    scenario(
        "load 1.25: capacity 40, 20, 40",
        ServiceTime::Exponential,
        &[step(40, 10.0, 45, MILD), step(20, 10.0, 45, MILD), step(40, 10.0, 45, MILD)],
    ),
);

/// Start at ten times the capacity.
pub const OVERSIZED: Scenario = Scenario {
    initial: 400,
    ..scenario("start at 400, capacity 40", ServiceTime::Exponential, &[step(40, 10.0, 45, OVERLOAD)])
};

/// Everything that is simulated with the gradient, without partitions.
pub const GRADIENT: &[Scenario] = &[
    HALVED,
    SLOWER,
    scenario(
        "both: 40 of 10 ms, 20 of 20 ms, 40 of 10 ms",
        ServiceTime::Exponential,
        &[step(40, 10.0, 45, OVERLOAD), step(20, 20.0, 45, OVERLOAD), step(40, 10.0, 45, OVERLOAD)],
    ),
    scenario(
        "capacity 40, 32, 24, 48",
        ServiceTime::Exponential,
        &[
            step(40, 10.0, 45, OVERLOAD),
            step(32, 10.0, 45, OVERLOAD),
            step(24, 10.0, 45, OVERLOAD),
            step(48, 10.0, 45, OVERLOAD),
        ],
    ),
    scenario(
        "capacity 40, 20 while idle, 40 while idle",
        ServiceTime::Exponential,
        &[
            step(40, 10.0, 45, OVERLOAD),
            step(20, 10.0, 60, IDLE),
            step(20, 10.0, 45, OVERLOAD),
            step(40, 10.0, 60, IDLE),
            step(40, 10.0, 45, OVERLOAD),
        ],
    ),
    scenario(
        "light load, overload, light load, half the capacity",
        ServiceTime::Exponential,
        &[
            step(40, 10.0, 60, LIGHT),
            step(40, 10.0, 45, OVERLOAD),
            step(40, 10.0, 60, LIGHT),
            step(20, 10.0, 45, OVERLOAD),
        ],
    ),
    MILD_OVERLOAD,
    OVERSIZED,
    scenario("start at 20, capacity 400", ServiceTime::Exponential, &[step(400, 100.0, 45, OVERLOAD)]),
    // One request is an eighth of this limit.
    settling(
        0.9,
        0.9,
        scenario("start at 20, capacity 8", ServiceTime::Exponential, &[step(8, 10.0, 45, OVERLOAD)]),
    ),
    scenario(
        "capacity 400, 200, 400",
        ServiceTime::Exponential,
        &[step(400, 100.0, 45, OVERLOAD), step(200, 100.0, 45, OVERLOAD), step(400, 100.0, 45, OVERLOAD)],
    ),
    scenario("constant times, capacity 40, 20, 40", ServiceTime::Constant, HALVED_STEPS),
    scenario("even times, capacity 40, 20, 40", ServiceTime::Even, HALVED_STEPS),
    // A wrong verdict of a probe lasts for some twenty windows, which take as many samples as fill
    // most of these steps.
    settling(0.99, 0.95, scenario("wide times, capacity 40, 20, 40", ServiceTime::Wide, HALVED_STEPS)),
    settling(
        0.99,
        0.95,
        scenario(
            "100 ms, capacity 40, 20, 40",
            ServiceTime::Exponential,
            &[step(40, 100.0, 120, OVERLOAD), step(20, 100.0, 120, OVERLOAD), step(40, 100.0, 120, OVERLOAD)],
        ),
    ),
    scenario(
        "100 ms, even times, capacity 40, 20, 40",
        ServiceTime::Even,
        &[step(40, 100.0, 120, OVERLOAD), step(20, 100.0, 120, OVERLOAD), step(40, 100.0, 120, OVERLOAD)],
    ),
    settling(
        0.9,
        0.9,
        scenario(
            "1 s, even times, capacity 20, 10, 20",
            ServiceTime::Even,
            &[
                step(20, 1000.0, 600, OVERLOAD),
                step(10, 1000.0, 600, OVERLOAD),
                step(20, 1000.0, 600, OVERLOAD),
            ],
        ),
    ),
];

/// Partitions, one of which floods while the others come and go.
pub const PARTITIONS: Scenario = scenario(
    "partitions",
    ServiceTime::Exponential,
    &[
        step(40, 10.0, 45, FLOOD),
        step(20, 10.0, 45, FLOOD),
        step(20, 10.0, 45, ABSENT),
        step(40, 10.0, 45, FLOOD),
    ],
);

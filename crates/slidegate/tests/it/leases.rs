//! Leases in a store: the golden traces, and random operations beside the core.

use std::fs;
use std::path::Path;
use std::time::Duration;

use slidegate::store::{Charge, ChargeRequest, ForgetRequest, LeaseSubject};
use slidegate::{Key, Limit, Memory, Space};
use slidegate_core::{LeaseClose, LeaseRequest, LeaseUse, MAX_LEASE_USES, Prepayment, State};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::leases::{LeaseAnswer, LeaseOperation, LeaseTrace, answer_of_state, decision};

const START_MS: u64 = 1_745_000_000_000;

/// Step of a random trace.
#[derive(Clone, Debug)]
pub(crate) struct LeaseStep {
    forward_ms: u64,
    /// By how much the clock then steps back.
    back_ms: u64,
    /// Index of the limit in force, of two with one history.
    limit: usize,
    operation: LeaseOperation,
}

/// Runs every golden trace, each on a store of its own.
pub(crate) fn run_traces<A: FnMut(&Limit, LeaseOperation, u64) -> LeaseAnswer>(mut store: impl FnMut() -> A) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/lease.jsonl");
    let text = fs::read_to_string(path).expect("a file of vectors");
    let traces: Vec<LeaseTrace> = text.lines().map(LeaseTrace::parse).collect();
    let wrong: Vec<String> = traces.iter().filter_map(|trace| trace.run(store())).collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(traces.len() >= 44, "only {} traces are left", traces.len());
}

/// Random operations: every answer is that of the core. `part` divides the number of cases.
pub(crate) fn compare<A: FnMut(&Limit, LeaseOperation, u64) -> LeaseAnswer>(
    part: u64,
    store: impl Fn() -> A,
) {
    prove_part(part, generate, |limits: &[Limit; 2], steps: &[LeaseStep]| {
        let (mut state, mut answer) = (State::new(&limits[0]), store());
        let mut now_ms = START_MS;
        for (index, LeaseStep { forward_ms, back_ms, limit, operation }) in steps.iter().enumerate() {
            now_ms += forward_ms;
            let limit = &limits[*limit];
            // A store may drop a state that is the same as a new one, which is visible only if the
            // clock then steps back. So both peek before that.
            if *back_ms > 0 {
                let peek = LeaseOperation::Check { cost: 0, prepayment: None };
                let _ = (answer_of_state(&mut state, limit, peek, now_ms), answer(limit, peek, now_ms));
                now_ms -= back_ms;
            }
            let core = answer_of_state(&mut state, limit, *operation, now_ms);
            let other = answer(limit, *operation, now_ms);
            if core != other {
                return Err(format!(
                    "step {index} at {now_ms}: {operation:?}\ncore  {core:?}\nstore {other:?}"
                ));
            }
        }
        Ok(())
    });
}

/// Two limits with one history, and steps.
fn generate(rng: &Rng) -> ([Limit; 2], Vec<LeaseStep>) {
    let quota = if rng.one_in(4) { rng.magnitude(slidegate::MAX_QUOTA) } else { rng.between(1, 200) };
    let window_ms = if rng.one_in(4) { rng.magnitude(86_400_000) } else { rng.between(1, 200) };
    let limit = |quota| Limit::new(quota, Duration::from_millis(window_ms)).expect("a limit");
    let limits = [limit(quota), limit(rng.between(1, quota))];
    let nodes = if rng.one_in(8) { 80 } else { rng.between(1, 6) };
    let mut sequence = 0;
    let units = |rng: &Rng| if rng.one_in(8) { rng.next() >> 12 } else { rng.below(quota + quota / 8 + 2) };
    let steps = (0..rng.between(4, if nodes > 6 { 160 } else { 40 })).map(|_| {
        let forward_ms = rng.pick(&[0, 0, 1, window_ms / 64, window_ms / 8, window_ms, 2 * window_ms]);
        let forward_ms = if nodes > 6 && rng.below(10) > 0 { 0 } else { forward_ms };
        let back_ms =
            if rng.one_in(12) { rng.pick(&[1, window_ms, window_ms + 1, 3 * window_ms]) } else { 0 };
        let node = rng.between(1, nodes);
        sequence += rng.pick(&[1, 1, 1, 0]);
        let operation = match rng.below(if nodes > 6 { 6 } else { 10 }) {
            0..=3 => LeaseOperation::Lease(LeaseRequest {
                node,
                sequence,
                hold: if rng.one_in(2) { 0 } else { units(rng) },
                want: units(rng),
                demand: units(rng),
                length_ms: rng.pick(&[window_ms / 8, window_ms, rng.magnitude(2 * window_ms)]),
            }),
            4..=5 => LeaseOperation::Check { cost: units(rng) / 4, prepayment: None },
            6..=7 => LeaseOperation::Check {
                cost: units(rng),
                prepayment: Some(Prepayment {
                    node,
                    sequence: sequence.max(1) - rng.below(2),
                    units: units(rng),
                }),
            },
            8 if rng.one_in(2) => LeaseOperation::Reset,
            8 => LeaseOperation::GiveBack(units(rng)),
            _ => {
                let mut uses = [LeaseUse::default(); MAX_LEASE_USES];
                for used in &mut uses {
                    *used = LeaseUse { age_ms: rng.below(window_ms + 2), units: units(rng) / 8 };
                }
                LeaseOperation::Close(LeaseClose { node, sequence, uses })
            }
        };
        LeaseStep { forward_ms, back_ms, limit: usize::from(rng.one_in(8)), operation }
    });
    (limits, steps.collect())
}

/// Answers of the in-memory store.
fn memory() -> impl FnMut(&Limit, LeaseOperation, u64) -> LeaseAnswer {
    let store = Memory::new(1 << 20);
    let key = Key::from("key");
    move |limit, operation, now_ms| {
        let (space, limits) = (Space::named("leases"), [*limit]);
        let subject = LeaseSubject::new(space, &key, *limit).expect("a log");
        let call = |cost| [Charge { space, key: &key, limits: &limits, cost }];
        match operation {
            LeaseOperation::Lease(request) => LeaseAnswer::Lease(store.lease_now(&subject, &request, now_ms)),
            LeaseOperation::Close(close) => {
                LeaseAnswer::Closed(store.close_lease_now(&subject, &close, now_ms))
            }
            LeaseOperation::Check { cost, prepayment } => {
                let call = ChargeRequest { now_ms, holder: 0, charges: &call(cost) };
                let verdict = match prepayment {
                    Some(_) => store.decide_prepaid_now(&call, &[prepayment]),
                    None => store.decide_now(&call),
                };
                decision(verdict.decisions[0])
            }
            LeaseOperation::GiveBack(units) => {
                let call = ChargeRequest { now_ms, holder: 0, charges: &call(units) };
                decision(store.give_back_now(&call).decisions[0])
            }
            LeaseOperation::Reset => {
                store.forget_now(&ForgetRequest { space, key: &key, limits: &[limit.id()] });
                LeaseAnswer::Reset
            }
        }
    }
}

#[test]
fn memory_answers_every_trace() {
    run_traces(memory);
}

#[test]
fn memory_answers_as_the_core() {
    compare(4, memory);
}

//! Several limits and one request: all or none, and one answer from many.

use slidegate_core::{
    Attempt, Decision, Decisions, Limit, LimitAttempt, MAX_TIME_MS, Outcome, State, Verdict, decide,
    decide_pair, evaluate,
};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::run;
use crate::trace::{ALL, limit, small_limit, start_ms, wait_ms};

/// A request at some time after the one before, with a cost for every limit.
#[derive(Clone, Debug)]
struct Request {
    after_ms: u64,
    costs: Vec<u64>,
}

type Setting = (Vec<Limit>, u64);

fn requests(rng: &Rng) -> (Setting, Vec<Request>) {
    let mut limits = Vec::new();
    for _ in 0..rng.between(1, 5) {
        let of = rng.pick(&ALL);
        limits.push(if rng.one_in(6) { limit(rng, of) } else { small_limit(rng, of) });
    }
    let start_ms = start_ms(rng, &limits[0]);
    let mut now_ms = start_ms;
    let mut requests = Vec::new();
    for _ in 0..rng.between(1, 25) {
        let paced_by = limits[rng.below(limits.len() as u64) as usize];
        let after_ms = wait_ms(rng, &paced_by, now_ms);
        now_ms += after_ms;
        let common = rng.between(1, 4);
        let costs = limits.iter().map(|limit| match rng.below(8) {
            0 => 0,
            1 => rng.between(1, limit.ceiling()),
            _ => common,
        });
        let costs = costs.collect();
        requests.push(Request { after_ms, costs });
    }
    ((limits, start_ms), requests)
}

fn attempt(limits: &[Limit], states: &mut [State], costs: &[u64], now_ms: u64) -> Verdict {
    decide(&mut attempts(limits, states, costs), now_ms)
}

fn attempts<'a>(limits: &'a [Limit], states: &'a mut [State], costs: &[u64]) -> Vec<LimitAttempt<'a>> {
    let parts = limits.iter().zip(states).zip(costs);
    parts.map(|((limit, state), cost)| LimitAttempt { limit, cost: *cost, holder: 7, state }).collect()
}

fn peek(limits: &[Limit], states: &mut [State], now_ms: u64) {
    for (state, limit) in states.iter_mut().zip(limits) {
        run::peek(state, limit, now_ms);
    }
}

fn fresh(limits: &[Limit]) -> Vec<State> {
    limits.iter().map(State::new).collect()
}

#[test]
fn all_are_charged_or_none() {
    prove(requests, |(limits, start_ms), requests| {
        let (mut states, mut now_ms) = (fresh(limits), *start_ms);
        for Request { after_ms, costs } in requests {
            now_ms += after_ms;
            peek(limits, &mut states, now_ms);
            let before = states.clone();
            let alone: Vec<Decision> = (0..limits.len())
                .map(|i| one(&limits[i], &mut before[i].clone(), costs[i], now_ms))
                .collect();
            let verdict = attempt(limits, &mut states, costs, now_ms);
            let outcomes = || alone.iter().zip(verdict.decisions.iter());
            ensure!(outcomes().all(|(a, b)| a.outcome == b.outcome), "{verdict:?}, alone {alone:?}");
            ensure!(verdict.decided_at_ms == now_ms, "decided at {}", verdict.decided_at_ms);
            if verdict.is_allowed() {
                ensure!(verdict.decisions[..] == alone[..], "{verdict:?}, alone {alone:?}");
            } else {
                let (left, right) = (format!("{states:?}"), format!("{before:?}"));
                ensure!(left == right, "a refusal left {left}, not {right}");
            }
        }
        Ok(())
    });
}

fn one(limit: &Limit, state: &mut State, cost: u64, now_ms: u64) -> Decision {
    state.decide(limit, Attempt { now_ms, cost, holder: 7 })
}

#[test]
fn remaining_is_the_smallest_and_the_waits_are_the_largest() {
    prove(requests, |(limits, start_ms), requests| {
        let (mut states, mut now_ms) = (fresh(limits), *start_ms);
        for Request { after_ms, costs } in requests {
            now_ms += after_ms;
            let verdict = attempt(limits, &mut states, costs, now_ms);
            let mut sorted: Vec<Decision> = verdict.decisions.to_vec();
            ensure!(sorted.len() == limits.len(), "{} decisions", sorted.len());
            sorted.sort_by_key(|d| d.remaining);
            ensure!(verdict.remaining() == Some(sorted[0].remaining), "{verdict:?}");
            sorted.sort_by_key(|d| d.reset_after_ms);
            ensure!(verdict.reset_after_ms() == Some(sorted[sorted.len() - 1].reset_after_ms), "{verdict:?}");
            let never = sorted.iter().any(|d| d.outcome == Outcome::Never);
            ensure!(verdict.is_never() == never, "{verdict:?}");
            let mut waits: Vec<u64> = sorted.iter().filter_map(wait_of).collect();
            waits.sort_unstable();
            let longest = if never { None } else { waits.last().copied() };
            ensure!(verdict.retry_after_ms() == longest, "{verdict:?}");
            ensure!(verdict.is_allowed() == (!never && waits.is_empty()), "{verdict:?}");
        }
        Ok(())
    });
}

fn wait_of(decision: &Decision) -> Option<u64> {
    match decision.outcome {
        Outcome::RetryAfter(ms) => Some(ms),
        Outcome::Fits | Outcome::Never => None,
    }
}

#[test]
fn retry_after_is_tight_for_a_set() {
    prove(requests, |(limits, start_ms), requests| {
        let (mut states, mut now_ms) = (fresh(limits), *start_ms);
        for Request { after_ms, costs } in requests {
            now_ms += after_ms;
            let Some(ms) = attempt(limits, &mut states, costs, now_ms).retry_after_ms() else { continue };
            let allowed = |ms| attempt(limits, &mut states.clone(), costs, now_ms + ms).is_allowed();
            ensure!(allowed(ms), "{costs:?} do not fit after {ms} ms");
            ensure!(!allowed(ms - 1), "{costs:?} fit before {ms} ms");
        }
        Ok(())
    });
}

#[test]
fn a_set_of_one_is_the_limit_by_itself() {
    prove(requests, |(limits, start_ms), requests| {
        let limit = limits[0];
        let (mut set, mut single, mut now_ms) = (State::new(&limit), State::new(&limit), *start_ms);
        for Request { after_ms, costs } in requests {
            now_ms += after_ms;
            let verdict = attempt(&[limit], std::slice::from_mut(&mut set), costs, now_ms);
            let decision = one(&limit, &mut single, costs[0], now_ms);
            ensure!(verdict.decisions == Decisions::from([decision]), "{verdict:?}, not {decision:?}");
            ensure!(format!("{set:?}") == format!("{single:?}"), "{set:?}, not {single:?}");
        }
        Ok(())
    });
}

#[test]
fn two_limits_are_decided_like_a_list_of_them() {
    prove(requests, |(limits, start_ms), requests| {
        let Some(limits) = limits.first_chunk::<2>() else { return Ok(()) };
        let (mut list, mut pair, mut now_ms) = (fresh(limits), fresh(limits), *start_ms);
        for Request { after_ms, costs } in requests {
            now_ms += after_ms;
            let verdict = attempt(limits, &mut list, &[costs[0]; 2], now_ms);
            let [first, second] = pair.first_chunk_mut::<2>().ok_or("two limits")?;
            let attempt = Attempt { now_ms, cost: costs[0], holder: 7 };
            let (decisions, charged) = decide_pair((first, second), (&limits[0], &limits[1]), attempt);
            let decisions = Decisions::from(decisions);
            ensure!(verdict.decisions == decisions, "{verdict:?}, not {decisions:?}");
            ensure!(charged == (costs[0] != 0 && verdict.is_allowed()), "taken: {charged}, {verdict:?}");
            ensure!(format!("{list:?}") == format!("{pair:?}"), "{list:?}, not {pair:?}");
        }
        Ok(())
    });
}

#[test]
fn a_judgement_says_what_a_decision_would_and_charges_nothing() {
    prove(requests, |(limits, start_ms), requests| {
        let (mut states, mut now_ms) = (fresh(limits), *start_ms);
        for Request { after_ms, costs } in requests {
            now_ms += after_ms;
            let mut evaluated = states.clone();
            let verdict = evaluate(&mut attempts(limits, &mut evaluated, costs), now_ms);
            peek(limits, &mut states, now_ms);
            ensure!(format!("{evaluated:?}") == format!("{states:?}"), "a judgement left {evaluated:?}");
            let decided = attempt(limits, &mut states, costs, now_ms);
            let same = |(a, b): (&Decision, &Decision)| a.outcome == b.outcome;
            ensure!(verdict.decisions.iter().zip(decided.decisions.iter()).all(same), "{verdict:?}");
            ensure!(decided.is_allowed() || verdict == decided, "{verdict:?}, not {decided:?}");
        }
        Ok(())
    });
}

#[test]
fn no_limits_allow_and_say_nothing() {
    let verdict = decide(&mut [], 5);
    assert!(verdict.is_allowed() && !verdict.is_never());
    assert_eq!((verdict.remaining(), verdict.retry_after_ms(), verdict.reset_after_ms()), (None, None, None));
}

/// Later times count as the last one, for two limits as for one.
#[test]
fn two_limits_know_the_last_time() {
    let limit = Limit::per_second(1);
    let states = || (State::new(&limit), State::new(&limit));
    let attempt = |now_ms| {
        let (mut first, mut second) = states();
        let attempt = Attempt { now_ms, cost: 1, holder: 0 };
        decide_pair((&mut first, &mut second), (&limit, &limit), attempt)
    };
    assert_eq!(attempt(MAX_TIME_MS), attempt(u64::MAX));
}

/// All have to admit: two of them as well as one or many.
#[test]
fn one_refusal_refuses_the_request() {
    let [yes, no] =
        [Outcome::Fits, Outcome::RetryAfter(1)].map(|outcome| Decision { outcome, ..Decision::default() });
    let is_allowed = |decisions| Verdict::new(0, decisions).is_allowed();
    assert!(is_allowed([yes].into()) && !is_allowed([no].into()));
    for (one, two, allowed) in [(yes, yes, true), (yes, no, false), (no, yes, false), (no, no, false)] {
        assert_eq!(is_allowed([one, two].into()), allowed);
        assert_eq!(is_allowed([yes, one, two].into_iter().collect()), allowed);
    }
}

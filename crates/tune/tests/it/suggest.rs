//! Suggestions against the engine: what they say of the subjects that they touch is so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use slidegate::{Gate, ManualClock, Memory, Policy, Request};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;
use slidegate_tune::peak::StartPrecision;
use slidegate_tune::suggest::{Margin, RouteSuggestion, SuggestSettings, Suggester, Suggestion};

const START_MS: u64 = 1_795_014_000_000;

/// Request of a log, after a wait.
#[derive(Clone, Debug)]
struct Step {
    wait_ms: u64,
    subject: u64,
    path: String,
}

impl Step {
    fn request(&self) -> Request<'_> {
        Request::new().with("path", self.path.as_str()).with("user", format!("user-{}", self.subject))
    }
}

fn settings(windows_ms: &[u64], touched_ppm: u32) -> SuggestSettings {
    SuggestSettings {
        key: vec!["user".to_owned()],
        windows: windows_ms.iter().copied().map(Duration::from_millis).collect(),
        precision: StartPrecision::Milliseconds,
        touched_ppm,
        margin: Margin::Exact,
        max_routes: 200,
        max_bytes: 1 << 26,
        capacity: None,
    }
}

/// Passes every step with its time to `visit`.
fn walk(steps: &[Step], mut visit: impl FnMut(u64, &Step)) {
    let mut now_ms = START_MS;
    for step in steps {
        now_ms += step.wait_ms;
        visit(now_ms, step);
    }
}

fn suggestion(settings: SuggestSettings, steps: &[Step]) -> Suggestion {
    let mut suggester = Suggester::new(settings).expect("valid settings");
    walk(steps, |now_ms, step| suggester.push(now_ms, Some(200), step.request()).expect("routes of the log"));
    suggester.finish().expect("a suggestion")
}

/// Policy that enforces a suggestion, with quotas less by `less`. Rules are named by their index.
fn policy(suggestion: &Suggestion, less: u64) -> Option<Policy> {
    // An empty log has no routes.
    let rules = if suggestion.routes.is_empty() { "" } else { "rules:\n" };
    let mut text = format!("version: 1\n{rules}");
    for (index, route) in suggestion.routes.iter().enumerate() {
        let limits: Option<Vec<String>> = route
            .limits
            .iter()
            .filter(|limit| limit.implied_by.is_none())
            .map(|suggested| {
                let (quota, window_ms) = (suggested.limit.quota() - less, suggested.limit.window_ms());
                (quota > 0).then(|| format!("{quota}/{window_ms}ms"))
            })
            .collect();
        let matched =
            route.route.path.as_ref().map_or_else(String::new, |path| format!("path: {:?}", path.template));
        text += &format!(
            "  - {{ name: r{index}, key: [user], limits: {:?}, match: {{ {matched} }}, allow: [{{ path: {:?} }}] }}\n",
            limits?,
            if route.route.except.is_empty() { vec!["/none".to_owned()] } else { route.route.except.clone() },
        );
    }
    Some(Policy::parse("suggestion", &text).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

/// Subjects that each rule denies something.
fn touched(policy: Policy, steps: &[Step]) -> BTreeMap<String, BTreeSet<u64>> {
    let clock = ManualClock::new(0);
    let gate = Gate::new(policy, Memory::default()).clock(clock.clone());
    let mut touched: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    walk(steps, |now_ms, step| {
        clock.set_ms(now_ms);
        let answer = gate.check_now(&step.request()).expect("a valid request").expect("a store in memory");
        for rule in answer.limits().filter(|limit| limit.is_violated()).filter_map(|limit| limit.rule) {
            touched.entry(rule.to_owned()).or_default().insert(step.subject);
        }
    });
    touched
}

fn log(rng: &Rng) -> ((Vec<u64>, u32), Vec<Step>) {
    let windows = rng.pick(&[&[1_000][..], &[60_000], &[1_000, 60_000], &[100, 5_000, 60_000]]);
    let subjects = rng.between(1, 60);
    let paths = rng.pick(&[&["/login"][..], &["/login", "/users/1", "/users/2", "/users/me"]]);
    let is_busy = rng.one_in(8);
    let steps = (0..if is_busy { rng.between(300, 900) } else { rng.below(300) }).map(|_| Step {
        wait_ms: if rng.one_in(4) { rng.below(400) } else { rng.below(20) },
        // The first ones have most of the requests.
        subject: if is_busy { rng.below(2) } else { rng.below(rng.between(1, subjects)) },
        path: rng.pick(paths).to_owned(),
    });
    ((windows.to_vec(), rng.below(200_000) as u32), steps.collect())
}

fn name(index: usize) -> String {
    format!("r{index}")
}

fn of_rule(touched: &BTreeMap<String, BTreeSet<u64>>, index: usize) -> usize {
    touched.get(&name(index)).map_or(0, BTreeSet::len)
}

/// A thousand logs in `scripts/test`.
#[test]
fn no_more_subjects_are_touched_than_may_be() {
    prove_part(10, log, |(windows_ms, touched_ppm), steps| {
        let suggestion = suggestion(settings(windows_ms, *touched_ppm), steps);
        let touched_by = touched(policy(&suggestion, 0).expect("quotas of peaks"), steps);
        for (index, route) in suggestion.routes.iter().enumerate() {
            let RouteSuggestion { subjects, may_touch, touched, limits, .. } = route;
            ensure!(
                *may_touch == (*subjects as u64 * u64::from(*touched_ppm) / 1_000_000) as usize,
                "{route:?}"
            );
            ensure!(touched <= may_touch, "{route:?}");
            let found = of_rule(&touched_by, index);
            let is_whole = limits.iter().all(|limit| limit.implied_by.is_none());
            ensure!(
                if is_whole { found == *touched } else { found <= *touched },
                "{found} touched of {route:?}"
            );
        }
        let [_] = &**windows_ms else { return Ok(()) };
        let Some(tighter) = policy(&suggestion, 1) else { return Ok(()) };
        let touched_by = touched(tighter, steps);
        for (index, route) in suggestion.routes.iter().enumerate() {
            let found = of_rule(&touched_by, index);
            ensure!(found > route.may_touch, "{found} touched by a quota less by one of {route:?}");
        }
        Ok(())
    });
}

/// Headroom and rounding never touch more.
#[test]
fn a_margin_touches_no_more() {
    prove_part(50, log, |(windows_ms, touched_ppm), steps| {
        let margin = Margin::Headroom { percent: 20 };
        let suggestion = suggestion(SuggestSettings { margin, ..settings(windows_ms, *touched_ppm) }, steps);
        let touched_by = touched(policy(&suggestion, 0).expect("quotas of peaks"), steps);
        for (index, route) in suggestion.routes.iter().enumerate() {
            let found = of_rule(&touched_by, index);
            ensure!(
                found <= route.touched && route.touched <= route.may_touch,
                "{found} touched of {route:?}"
            );
        }
        Ok(())
    });
}

//! Any tree of descriptors, against a walk through it as envoyproxy/ratelimit is documented to walk.

use std::collections::HashMap;

use serde_json::{Value, json};
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::program::{file, path, run};

use super::decisions::{Came, ConvertedPolicy, of_descriptor};

#[derive(Clone, Debug)]
struct Node {
    key: &'static str,
    value: &'static str,
    /// A quota per second or per minute; `None` inside: unlimited.
    limit: Option<Option<(u64, &'static str)>>,
    shadow: bool,
    shared: bool,
    below: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Ask(Vec<(&'static str, &'static str)>),
}

/// Keys by level; a request may have them in any order.
const KEYS: [&[&str]; 3] = [&["a", "b"], &["c", "d"], &["e"]];
const VALUES: [&str; 9] = ["", "", "x", "xy", "xyz", "x*", "xy*", "*", "z"];
const REQUEST_VALUES: [&str; 7] = ["x", "xy", "xyz", "xq", "z", "q", ""];

fn level(rng: &Rng, depth: usize) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for _ in 0..rng.below(6) {
        let (key, value) = (rng.pick(KEYS[depth]), rng.pick(&VALUES));
        if nodes.iter().any(|node| (node.key, node.value) == (key, value)) {
            continue;
        }
        let limit = match rng.below(6) {
            0 => None,
            1 => Some(None),
            _ => Some(Some((rng.below(4), rng.pick(&["second", "minute"])))),
        };
        let below = if depth + 1 < KEYS.len() && rng.one_in(2) { level(rng, depth + 1) } else { Vec::new() };
        let shared = value.ends_with('*') && rng.one_in(3);
        nodes.push(Node { key, value, limit, shadow: rng.one_in(5), shared, below });
    }
    nodes
}

fn generate(rng: &Rng) -> (Vec<Node>, Vec<Step>) {
    let steps = (0..60).map(|_| {
        if rng.one_in(15) {
            return Step::Wait(rng.pick(&[1, 999, 1_000, 59_000]));
        }
        let depth = rng.between(1, 3) as usize;
        let keys = (0..depth).map(|level| if rng.one_in(12) { "c" } else { rng.pick(KEYS[level]) });
        let mut entries: Vec<(&str, &str)> = Vec::new();
        for key in keys {
            if !entries.iter().any(|(other, _)| *other == key) {
                entries.push((key, rng.pick(&REQUEST_VALUES)));
            }
        }
        Step::Ask(entries)
    });
    (level(rng, 0), steps.collect())
}

fn written(nodes: &[Node]) -> Value {
    let one = |node: &Node| {
        let mut one = json!({ "key": node.key, "descriptors": written(&node.below) });
        if !node.value.is_empty() {
            one["value"] = json!(node.value);
        }
        match node.limit {
            None => {}
            Some(None) => one["rate_limit"] = json!({ "unlimited": true }),
            Some(Some((quota, unit))) => {
                one["rate_limit"] = json!({ "unit": unit, "requests_per_unit": quota });
            }
        }
        if node.shadow {
            one["shadow_mode"] = json!(true);
        }
        if node.shared {
            one["share_threshold"] = json!(true);
        }
        one
    };
    nodes.iter().map(one).collect()
}

/// The limit that a descriptor has, and what it is counted under.
fn walk<'n>(mut nodes: &'n [Node], entries: &[(&str, &str)]) -> Option<(&'n Node, String)> {
    let mut counted = String::new();
    let mut last = None;
    for (key, value) in entries {
        let of_key = || nodes.iter().filter(|node| node.key == *key);
        let exact = of_key().find(|node| !node.value.is_empty() && node.value == *value);
        let wildcard = || {
            of_key().find(|node| node.value.strip_suffix('*').is_some_and(|start| value.starts_with(start)))
        };
        let alone = || of_key().find(|node| node.value.is_empty());
        let node = exact.or_else(wildcard).or_else(alone)?;
        let value = if node.shared { node.value } else { value };
        counted.push_str(&format!("{key}={value},"));
        nodes = &node.below;
        last = Some(node);
    }
    last.map(|node| (node, counted))
}

#[test]
fn every_tree_decides_as_a_walk_through_it() {
    prove_part(20, generate, |nodes, steps| {
        let input = file(&json!({ "domain": "d", "descriptors": written(nodes) }).to_string());
        let ended = run(&["import", "envoy", path(&input)]);
        slidegate_testkit::ensure!((ended.code, ended.stderr.as_str()) == (Some(0), ""), "{ended:?}");
        let policy = ConvertedPolicy::new(&ended.stdout);
        let mut counts: HashMap<(String, u64), u64> = HashMap::new();
        let mut now_ms = 0;
        for step in steps {
            let entries = match step {
                Step::Wait(ms) => {
                    policy.wait_ms(*ms);
                    now_ms += ms;
                    continue;
                }
                Step::Ask(entries) => entries,
            };
            let expected = match walk(nodes, entries) {
                Some((Node { limit: Some(Some((0, _))), shadow: true, .. }, _)) => Came::Free,
                Some((Node { limit: Some(Some((quota, unit))), shadow, .. }, counted)) => {
                    let window = now_ms / if *unit == "second" { 1_000 } else { 60_000 };
                    let count = counts.entry((counted, window)).or_default();
                    *count += 1;
                    match (*count <= *quota, shadow) {
                        (true, _) => Came::Pass,
                        (false, true) => Came::Shadow,
                        (false, false) => Came::Fail,
                    }
                }
                _ => Came::Free,
            };
            let mut names = String::new();
            let came = policy.ask(&of_descriptor("d", entries, &mut names));
            slidegate_testkit::ensure!(
                came == expected,
                "{entries:?}: {came:?}, not {expected:?}\n{}",
                ended.stdout
            );
        }
        Ok(())
    });
}

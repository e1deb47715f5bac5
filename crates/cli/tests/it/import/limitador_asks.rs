//! Any condition that is converted holds when Limitador says that it does.

use std::fmt::Write;

use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::program::{file, path, run};

use super::decisions::{Came, ConvertedPolicy};

/// A condition, as it is written and as it is meant.
#[derive(Clone, Debug)]
enum Condition {
    Is(&'static str, &'static str),
    IsNot(&'static str, &'static str),
    In(&'static str, [&'static str; 2]),
    NotIn(&'static str, [&'static str; 2]),
    StartsWith(&'static str, &'static str),
    NotStartsWith(&'static str, &'static str),
    Has(&'static str),
}

use Condition as C;

const NAMES: [&str; 3] = ["a", "b", "c"];
const VALUES: [&str; 4] = ["x", "xy", "y", "it is"];

impl Condition {
    fn any(rng: &Rng) -> Self {
        let (name, value, other) = (rng.pick(&NAMES), rng.pick(&VALUES), rng.pick(&VALUES));
        match rng.below(7) {
            0 => C::Is(name, value),
            1 => C::IsNot(name, value),
            2 => C::In(name, [value, other]),
            3 => C::NotIn(name, [value, other]),
            4 => C::StartsWith(name, value),
            5 => C::NotStartsWith(name, value),
            _ => C::Has(name),
        }
    }

    fn written(&self, rng: &Rng) -> String {
        let spelled = |name: &str| match rng.below(3) {
            0 => name.to_owned(),
            1 => format!("descriptors[0].{name}"),
            _ => format!("descriptors[0]['{name}']"),
        };
        let quoted = |text: &str| if rng.one_in(2) { format!("'{text}'") } else { format!("\"{text}\"") };
        match self {
            C::Is(name, value) if rng.one_in(2) => format!("{} == {}", quoted(value), spelled(name)),
            C::Is(name, value) => format!("{}=={}", spelled(name), quoted(value)),
            C::IsNot(name, value) if rng.one_in(2) => format!("!({} == {})", spelled(name), quoted(value)),
            C::IsNot(name, value) => format!("{} != {}", spelled(name), quoted(value)),
            C::In(name, [one, other]) if rng.one_in(2) => {
                format!("({0} == {1} || {0} == {2})", spelled(name), quoted(one), quoted(other))
            }
            C::In(name, [one, other]) => format!("{} in [{}, {}]", spelled(name), quoted(one), quoted(other)),
            C::NotIn(name, [one, other]) => {
                format!("!({} in [{}, {}])", spelled(name), quoted(one), quoted(other))
            }
            C::StartsWith(name, value) => format!("{}.startsWith({})", spelled(name), quoted(value)),
            C::NotStartsWith(name, value) => format!("!{}.startsWith({})", spelled(name), quoted(value)),
            C::Has(name) => format!("has(descriptors[0].{name})"),
        }
    }

    /// An attribute that is not there makes any condition on it false.
    fn holds(&self, attributes: &[(&str, &str)]) -> bool {
        let get = |name: &str| attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        match self {
            C::Is(name, value) => get(name) == Some(*value),
            C::IsNot(name, value) => get(name).is_some_and(|own| own != *value),
            C::In(name, values) => get(name).is_some_and(|own| values.contains(&own)),
            C::NotIn(name, values) => get(name).is_some_and(|own| !values.contains(&own)),
            C::StartsWith(name, start) => get(name).is_some_and(|own| own.starts_with(start)),
            C::NotStartsWith(name, start) => get(name).is_some_and(|own| !own.starts_with(start)),
            C::Has(name) => get(name).is_some(),
        }
    }

    /// What a rule can ask of an attribute only once.
    fn is_positive(&self) -> Option<(&str, String)> {
        match self {
            C::Is(name, value) => Some((name, format!("{:?}", [value]))),
            C::In(name, values) => Some((name, format!("{values:?}"))),
            C::StartsWith(name, start) => Some((name, format!("^{start}"))),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Limit {
    text: String,
    conditions: Vec<Condition>,
    variable: Option<&'static str>,
}

fn generate(rng: &Rng) -> (Limit, Vec<Vec<(&'static str, &'static str)>>) {
    let conditions: Vec<Condition> = (0..rng.below(4)).map(|_| Condition::any(rng)).collect();
    let variable = rng.one_in(2).then(|| rng.pick(&NAMES));
    let mut text = "- { namespace: n, max_value: 0, seconds: 60, conditions: [".to_owned();
    let mut joined: Vec<String> = Vec::new();
    for condition in &conditions {
        match joined.last_mut() {
            Some(last) if rng.one_in(2) => last.push_str(&format!(" && {}", condition.written(rng))),
            _ => joined.push(condition.written(rng)),
        }
    }
    let quoted: Vec<String> = joined.iter().map(|one| serde_json::json!(one).to_string()).collect();
    text.push_str(&quoted.join(", "));
    _ = write!(text, "], variables: [{}] }}", variable.unwrap_or_default());
    let ask = || {
        let attributes = NAMES
            .iter()
            .filter(|_| !rng.one_in(4))
            .map(|name| (*name, rng.pick(&["x", "xy", "xyz", "y", "it is", "z"])));
        attributes.collect()
    };
    (Limit { text, conditions, variable }, (0..30).map(|_| ask()).collect())
}

/// A limit of 0 refuses whenever it applies, which is what is looked at.
#[test]
fn conditions_hold_when_they_should() {
    prove_part(20, generate, |limit, requests| {
        let input = file(&limit.text);
        let ended = run(&["import", "limitador", path(&input)]);
        slidegate_testkit::ensure!(ended.code == Some(0), "{ended:?}");
        let tests = limit.conditions.iter().filter_map(Condition::is_positive).collect::<Vec<_>>();
        let is_twice = |(index, (name, test)): (usize, &(&str, String))| {
            tests[..index].iter().any(|(key, other)| key == name && other != test)
        };
        let left_out = tests.iter().enumerate().any(is_twice);
        slidegate_testkit::ensure!(left_out != ended.stderr.is_empty(), "{ended:?}");
        let policy = ConvertedPolicy::new(&ended.stdout);
        for request in requests {
            let has_variable = limit.variable.is_none_or(|name| request.iter().any(|(key, _)| *key == name));
            let applies = has_variable && limit.conditions.iter().all(|condition| condition.holds(request));
            let expected = if applies && !left_out { Came::Fail } else { Came::Free };
            let attributes: Vec<_> = [("domain", "n")].into_iter().chain(request.iter().copied()).collect();
            let came = policy.ask(&attributes);
            slidegate_testkit::ensure!(
                came == expected,
                "{request:?}: {came:?}, not {expected:?}\n{}",
                ended.stdout
            );
        }
        Ok(())
    });
}

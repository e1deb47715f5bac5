//! Whatever stands in a file: it is refused with a place, or what is printed is a policy.

use serde_json::{Value, json};
use slidegate::Policy;
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::program::{file, path, run};

use super::wrong::unwrapped;

const PIECES: [&str; 40] = [
    "a",
    "b",
    "path",
    "ip",
    "method",
    "domain",
    "descriptor",
    "tier",
    "req.path",
    "/",
    "/",
    "*",
    ".",
    "..",
    "{",
    "}",
    "{x}",
    "'",
    "\"",
    "\\",
    "|",
    ",",
    " ",
    "#",
    ":",
    ": ",
    "\n",
    "\t",
    "é",
    "\u{7f}",
    "\u{feff}",
    "%2F",
    "?",
    "0",
    "[",
    "]",
    "-",
    "10.0.0.1",
    "::1",
    "null",
];

fn text(rng: &Rng) -> String {
    (0..rng.between(1, 3)).map(|_| rng.pick(&PIECES)).collect()
}

fn envoy(rng: &Rng) -> Value {
    let descriptors = |below: Value| {
        let mut one = json!({ "key": text(rng), "descriptors": below });
        if !rng.one_in(3) {
            one["value"] = json!(text(rng));
        }
        one["rate_limit"] = json!({ "unit": "day", "requests_per_unit": rng.below(3) });
        one["shadow_mode"] = json!(rng.one_in(4));
        one
    };
    let level =
        |below: &dyn Fn() -> Value| -> Value { (0..rng.below(4)).map(|_| descriptors(below())).collect() };
    json!({ "domain": text(rng), "descriptors": level(&|| level(&|| json!([]))) })
}

fn limitador(rng: &Rng) -> Value {
    let condition = || match rng.below(6) {
        0 => text(rng),
        1 => format!("{} == '{}'", rng.pick(&["a", "path", "ip", "method", "req.path"]), text(rng)),
        2 => format!("descriptors[0]['{}'] != '{}'", text(rng), text(rng)),
        3 => format!("{}.startsWith(\"{}\")", rng.pick(&["a", "path", "ip", "method"]), text(rng)),
        4 => format!("{} in ['{}', '{}'] && has(b)", rng.pick(&["a", "path", "ip"]), text(rng), text(rng)),
        _ => format!("!({} == '{}')", rng.pick(&["a", "path", "ip"]), text(rng)),
    };
    let limit = |_| {
        let conditions: Vec<String> = (0..rng.below(3)).map(|_| condition()).collect();
        let variables: Vec<String> = (0..rng.below(3))
            .map(|_| if rng.one_in(2) { text(rng) } else { rng.pick(&["a", "ip", "path"]).to_owned() })
            .collect();
        json!({
            "namespace": text(rng), "name": text(rng), "max_value": rng.pick(&[0, 1, 5, u64::MAX]), "seconds": rng.pick(&[0, 1, 60, 90]),
            "conditions": conditions, "variables": variables, text(rng): 1,
        })
    };
    (0..rng.below(5)).map(limit).collect()
}

fn rlaas(rng: &Rng) -> String {
    let setting = |name: &str, value: &str| {
        let value = if rng.one_in(4) { text(rng) } else { value.to_owned() };
        format!("{name}{}{value}\n", rng.pick(&["=", ": ", " = "]))
    };
    let number = rng.below(3).to_string();
    [
        setting("rate-limiter.window-size", "60"),
        setting("rateLimiter.maxRequests", &number),
        setting(&text(rng), "1"),
    ]
    .concat()
}

#[test]
fn what_is_printed_is_a_policy() {
    let generate = |rng: &Rng| {
        let (system, text) = match rng.below(3) {
            0 => ("envoy", envoy(rng).to_string()),
            1 => ("limitador", limitador(rng).to_string()),
            _ => ("rlaas", rlaas(rng)),
        };
        ((system, text), Vec::<()>::new())
    };
    prove_part(10, generate, |(system, text), _| {
        let input = file(text);
        let ended = run(&["import", system, path(&input)]);
        let stderr = unwrapped(&ended.stderr);
        slidegate_testkit::ensure!(
            !stderr.contains("fault") && !stderr.contains("panicked"),
            "{stderr}\n{text}"
        );
        match ended.code {
            Some(0) => Policy::parse("it", &ended.stdout).map(|_| ()).map_err(|errors| errors.to_string()),
            Some(1) if stderr.contains(path(&input)) && ended.stdout.is_empty() => Ok(()),
            _ => Err(format!("{ended:?}")),
        }
    });
}

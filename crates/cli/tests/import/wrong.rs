//! Files that are not right: what is said of them, and where.

use super::program::{Ended, command, file, run};

/// The system, the file, the place and what is said.
const TABLE: [(&str, &str, &str, &str); 38] = [
    ("envoy", "", "1:1", "the file is empty"),
    ("envoy", "a: [\n", "1:4", "this is no YAML"),
    ("envoy", "- a\n", "1:1", "the file is a mapping"),
    ("envoy", "descriptors: []\n", "1:1", "there is no domain"),
    ("envoy", "domain: d\ndescriptor: []\n", "2:1", "does not know `descriptor`"),
    ("envoy", "domain: d\ndomain: e\n", "2:1", "`domain` is here twice; the first is on line 1"),
    ("envoy", "domain: d\ndescriptors: a\n", "2:14", "`descriptors` is a list"),
    ("envoy", "domain: d\ndescriptors:\n  - a\n", "3:5", "a descriptor is a mapping"),
    ("envoy", "domain: d\ndescriptors:\n  - value: a\n", "3:5", "a descriptor without a key"),
    ("envoy", "domain: d\ndescriptors:\n  - key: [a]\n", "3:10", "`key` is a text"),
    ("envoy", "domain: d\ndescriptors:\n  - key: a\n    limit: 5\n", "4:5", "does not know `limit`"),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    shadow_mode: maybe\n",
        "4:18",
        "`maybe` does not work as `shadow_mode`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    share_threshold: true\n",
        "4:5",
        "values that end in `*`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n  - key: a\n",
        "4:5",
        "`a` is here twice; the first is on line 3",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a_b\n  - key: a\n    value: b\n",
        "4:5",
        "`a_b` is here twice",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: 5\n",
        "4:17",
        "a rate limit is a mapping",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { requests_per_unit: 5 }\n",
        "4:19",
        "a limit without a unit",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: fortnight }\n",
        "4:25",
        "`fortnight` is no unit",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, unlimited: true }\n",
        "4:25",
        "has no unit",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: -1 }\n",
        "4:49",
        "`-1` does not work",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 4294967296 }\n",
        "4:49",
        "more than",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests: 4 }\n",
        "4:30",
        "does not know `requests`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, name: n, replaces: [{ name: n }] }\n",
        "4:52",
        "replaces itself",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, replaces: [{ name: '' }] }\n",
        "4:43",
        "nothing is replaced",
    ),
    ("envoy", "domain: d\n---\ndomain: e\n", "3:1", "a second document"),
    ("limitador", "a: b\n", "1:1", "is a list"),
    ("limitador", "- a\n", "1:3", "a limit is a mapping"),
    ("limitador", "- max_value: 1\n  seconds: 1\n", "1:3", "a limit without `namespace`"),
    ("limitador", "- namespace: n\n  max_value: 1\n", "1:3", "a limit without `seconds`"),
    (
        "limitador",
        "- namespace: n\n  max_value: many\n  seconds: 1\n",
        "2:14",
        "`many` does not work as `max_value`",
    ),
    ("limitador", "- namespace: n\n  conditions: a == 'b'\n", "2:15", "`conditions` is a list"),
    ("limitador", "- namespace: &n [*n]\n", "1:18", "refers to what it is part of"),
    ("rlaas", "server: 1\n", "1:1", "there is no `rate-limiter`"),
    ("rlaas", "rate-limiter:\n  window-size: 5\n", "2:3", "has no `max-requests`"),
    ("rlaas", "rate-limiter:\n  max-requests: 5\n", "2:3", "has no `window-size`"),
    ("rlaas", "rate-limiter:\n  use-algo: leaky\n", "2:13", "`leaky` is no algorithm"),
    ("rlaas", "rate-limiter.window-size=0\n", "1:26", "a window of 0 s"),
    ("rlaas", "rate-limiter:\n  max-requests: ${MAX}\n", "2:17", "is set from outside"),
];

/// Lines are wrapped where they are too long for a terminal.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split(['\n', '│', ' ']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn from_stdin(system: &str, text: &str) -> Ended {
    let input = file(text).reopen().expect("a file");
    command(&["import", system, "-"]).stdin(input).output().expect("slidegate can be started").into()
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    for (system, text, place, what) in TABLE {
        let ended = from_stdin(system, text);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{text}\n{ended:?}");
        let said = unwrapped(&ended.stderr);
        for expected in [&format!("standard input:{place}: "), what] {
            assert!(said.contains(expected.trim_end()), "{expected} is not in\n{said}\nof\n{text}");
        }
        assert!(said.contains("help: "), "{said}");
    }
}

/// An alias stands for what it refers to, and merges are made; a bomb of them is not set off.
#[test]
fn aliases_are_followed_within_bounds() {
    let merged = "domain: d\ndescriptors:\n  - &base\n    key: a\n    rate_limit: &l { unit: day, requests_per_unit: 2 }\n  \
                  - { <<: *base, key: b }\n  - { key: c, rate_limit: { <<: [*l], requests_per_unit: 5 } }\n";
    let ended = from_stdin("envoy", merged);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for expected in ["d-a\n", "d-b\n", "d-c\n", "quota: 5, window: 1day"] {
        assert!(ended.stdout.contains(expected), "{expected} is not in\n{}", ended.stdout);
    }
    let mut bomb = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let inner = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("- &a{level} [{inner}]\n"));
    }
    let ended = from_stdin("limitador", &bomb);
    assert_eq!(ended.code, Some(1));
    assert!(unwrapped(&ended.stderr).contains("more than 1000000 values"), "{}", ended.stderr);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(from_stdin("limitador", &deep).code, Some(1));
    let nested = format!(
        "[{{ namespace: n, max_value: 1, seconds: 1, conditions: [\"{}a == 'b'\"] }}]",
        "(".repeat(10_000)
    );
    let ended = from_stdin("limitador", &nested);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("nested too deeply"), "{}", ended.stderr);
}

#[test]
fn files_that_cannot_be_read() {
    let absent = run(&["import", "envoy", "no-such-file.yaml"]);
    assert_eq!(absent.code, Some(1));
    assert!(unwrapped(&absent.stderr).contains("no-such-file.yaml cannot be read"), "{}", absent.stderr);
    assert_eq!(run(&["import", "nginx", "-"]).code, Some(2));
    assert_eq!(run(&["import", "envoy"]).code, Some(2));
    let binary = file("");
    std::fs::write(binary.path(), b"domain: d\n\xff").expect("it can be written");
    let ended = run(&["import", "envoy", super::program::path(&binary)]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("is not UTF-8"), "{}", ended.stderr);
}

/// Files of other programs have secrets in them, too: those of Spring do.
#[test]
fn secrets_of_a_file_are_not_shown() {
    let rows = [
        ("rlaas", "spring:\n  redis:\n    password: hunter2\n\turl: redis://me:hunter2@db\n"),
        ("rlaas", "spring: { redis: { password: hunter2, url: 'redis://me:hunter2@db' }, x: [\n"),
        ("envoy", "domain: d\ntoken: hunter2\ndescriptors: a\n"),
    ];
    for (system, text) in rows {
        let file = file(text);
        let ended = run(&["import", system, file.path().to_str().expect("UTF-8")]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
    }
}

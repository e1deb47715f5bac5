//! Files with errors: the message, and its position.

use slidegate_testkit::program::{self, Ended, command, file, run};

/// The system, the file, the place and what is said.
const TABLE: [(&str, &str, &str, &str); 38] = [
    ("envoy", "", "1:1", "the file is empty"),
    ("envoy", "a: [\n", "1:4", "unclosed `[`"),
    ("envoy", "- a\n", "1:1", "the file must be a mapping"),
    ("envoy", "descriptors: []\n", "1:1", "missing `domain`"),
    ("envoy", "domain: d\ndescriptor: []\n", "2:1", "unknown field `descriptor`"),
    ("envoy", "domain: d\ndomain: e\n", "2:1", "duplicate field `domain`: first on line 1"),
    ("envoy", "domain: d\ndescriptors: a\n", "2:14", "`descriptors` must be a list"),
    ("envoy", "domain: d\ndescriptors:\n  - a\n", "3:5", "a descriptor must be a mapping"),
    ("envoy", "domain: d\ndescriptors:\n  - value: a\n", "3:5", "missing `key` of a descriptor"),
    ("envoy", "domain: d\ndescriptors:\n  - key: [a]\n", "3:10", "`key` must be a text"),
    ("envoy", "domain: d\ndescriptors:\n  - key: a\n    limit: 5\n", "4:5", "unknown field `limit`"),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    shadow_mode: maybe\n",
        "4:18",
        "invalid `shadow_mode`: `maybe` is not a boolean",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    share_threshold: true\n",
        "4:5",
        "requires a value that ends in `*`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n  - key: a\n",
        "4:5",
        "duplicate descriptor `a`: first on line 3",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a_b\n  - key: a\n    value: b\n",
        "4:5",
        "duplicate descriptor `a_b`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: 5\n",
        "4:17",
        "a rate limit must be a mapping",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { requests_per_unit: 5 }\n",
        "4:19",
        "missing `unit`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: fortnight }\n",
        "4:25",
        "invalid unit `fortnight`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, unlimited: true }\n",
        "4:25",
        "cannot have a unit",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: -1 }\n",
        "4:49",
        "`-1` is not a whole number",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 4294967296 }\n",
        "4:49",
        "is too large",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests: 4 }\n",
        "4:30",
        "unknown field `requests`",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, name: n, replaces: [{ name: n }] }\n",
        "4:52",
        "cannot replace itself",
    ),
    (
        "envoy",
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, replaces: [{ name: '' }] }\n",
        "4:43",
        "missing `name` in `replaces`",
    ),
    ("envoy", "domain: d\n---\ndomain: e\n", "3:1", "more than one document"),
    ("limitador", "a: b\n", "1:1", "must be a list"),
    ("limitador", "- a\n", "1:3", "a limit must be a mapping"),
    ("limitador", "- max_value: 1\n  seconds: 1\n", "1:3", "missing `namespace` of a limit"),
    ("limitador", "- namespace: n\n  max_value: 1\n", "1:3", "missing `seconds` of a limit"),
    (
        "limitador",
        "- namespace: n\n  max_value: many\n  seconds: 1\n",
        "2:14",
        "invalid `max_value`: `many` is not a whole number",
    ),
    ("limitador", "- namespace: n\n  conditions: a == 'b'\n", "2:15", "`conditions` must be a list"),
    ("limitador", "- namespace: &n [*n]\n", "1:18", "refers to a value that contains it"),
    ("rlaas", "server: 1\n", "1:1", "missing `rate-limiter`"),
    ("rlaas", "rate-limiter:\n  window-size: 5\n", "2:3", "missing `max-requests`"),
    ("rlaas", "rate-limiter:\n  max-requests: 5\n", "2:3", "missing `window-size`"),
    ("rlaas", "rate-limiter:\n  use-algo: leaky\n", "2:13", "invalid algorithm `leaky`"),
    ("rlaas", "rate-limiter.window-size=0\n", "1:26", "invalid window of 0 s"),
    ("rlaas", "rate-limiter:\n  max-requests: ${MAX}\n", "2:17", "is set outside"),
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
        let stderr = unwrapped(&ended.stderr);
        for expected in [&format!("[standard input:{place}]"), what] {
            assert!(stderr.contains(expected), "{expected} is not in\n{stderr}\nof\n{text}");
        }
        assert!(stderr.contains("help: "), "{stderr}");
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
    assert!(unwrapped(&absent.stderr).contains("cannot read no-such-file.yaml"), "{}", absent.stderr);
    assert_eq!(run(&["import", "nginx", "-"]).code, Some(2));
    assert_eq!(run(&["import", "envoy"]).code, Some(2));
    let binary = file("");
    std::fs::write(binary.path(), b"domain: d\n\xff").expect("it can be written");
    let ended = run(&["import", "envoy", program::path(&binary)]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("is not valid UTF-8"), "{}", ended.stderr);
}

/// Files of other programs have secrets in them, too: those of Spring do.
#[test]
fn secrets_of_a_file_are_hidden() {
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

//! Paths that servers read differently: what limits or denies is for any reading, what exempts or
//! selects for all of them.

use slidegate::policy::{Blocked, Choice, HitMode, Policy};
use slidegate::{BatchItem, Gate, Key, ManualClock, Memory, Request, RequestError};

fn policy(rest: &str) -> Policy {
    let text = format!("version: 1\n{rest}");
    Policy::parse("policy.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn at(path: &str) -> Request<'_> {
    Request::new().with("path", path).with("ip", "192.0.2.1")
}

/// Indices of the limits that apply; `None` if nothing limits the request.
fn terms(policy: &Policy, path: &str) -> Option<usize> {
    match policy.choose(&at(path)) {
        Ok(Choice::Hits(hits)) => {
            assert!(hits.len() < 2, "{path}: a rule is charged once: {hits:?}");
            hits.first().map(|hit| hit.limit_set)
        }
        other => panic!("{path}: {other:?}"),
    }
}

/// Why the request is refused without a limit.
fn barred(policy: &Policy, path: &str) -> Option<Blocked> {
    match policy.choose(&at(path)) {
        Ok(Choice::Blocked { reason: why, .. }) => Some(why),
        _ => None,
    }
}

/// Spellings of which one reading is the path `/NAME`, and another is not.
const SPELLINGS: [&str; 11] = [
    "/x/../NAME",
    "/x/..;/NAME",
    "/;a/NAME",
    "//NAME",
    "/./NAME",
    "/x%2F..%2FNAME",
    "/x\\..\\NAME",
    "/%5CNAME",
    "/NAME;x=1",
    "/NAME%3Bx",
    "/NAME#x",
];

fn spellings(name: &str) -> impl Iterator<Item = String> {
    SPELLINGS.iter().map(move |spelling| spelling.replace("NAME", name))
}

#[test]
fn what_limits_or_denies_is_for_any_reading() {
    let limits = policy("rules: [{ name: login, match: { path: /login }, limits: [5/min] }]");
    let denies = policy("rules: [{ name: all, limits: [5/min], deny: [{ path: /login }] }]");
    let canary = policy("rules: [{ name: all, limits: [5/min], mode: { enforce_for: [{ path: /login }] } }]");
    for path in spellings("login") {
        assert_eq!(terms(&limits, &path), Some(0), "{path}");
        assert_eq!(barred(&denies, &path), Some(Blocked::DenyList), "{path}");
        match canary.choose(&at(&path)) {
            Ok(Choice::Hits(hits)) => assert_eq!(hits[0].mode, HitMode::Enforce, "{path}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_exempts_or_selects_is_for_all_readings() {
    let exempts = policy("rules: [{ name: all, limits: [5/min], allow: [{ path: /health }] }]");
    let selects = policy(
        "rules: [{ name: all, limits: [5/min], overrides: [{ when: { path: /health }, limits: [50/min] }] }]",
    );
    for path in ["/health", "/health/", "/health?x=;"] {
        assert_eq!((terms(&exempts, path), terms(&selects, path)), (None, Some(1)), "{path}");
    }
    for path in spellings("health").chain(["/%68ealth".to_owned()]) {
        assert_eq!((terms(&exempts, &path), terms(&selects, &path)), (Some(0), Some(0)), "{path}");
    }
    // A slash at the end may be dropped, and then it is not below.
    let below = policy(r#"rules: [{ name: all, limits: [5/min], allow: [{ path: "/files/{*rest}" }] }]"#);
    assert_eq!((terms(&below, "/files/a"), terms(&below, "/files/")), (None, Some(0)));
}

/// No spelling takes looser limits than its path: where the limits depend on who reads it, the
/// rule's own have to be as tight.
#[test]
fn tight_overrides_are_for_any_reading() {
    let by = |limits: &str, overrides: &str, mode: &str| {
        policy(&format!(
            "rules: [{{ name: all, limits: [{limits}], overrides: [{overrides}], mode: {mode} }}]"
        ))
    };
    let login = |limits: &str| format!("{{ when: {{ path: /login }}, limits: [{limits}] }}");
    let ambiguous = || Err(RequestError::AmbiguousPath { rule: "all".to_owned() });
    let table = [
        // The rule's own, the override's, and whether the rule's are as tight.
        ("50/min", "5/min", false),
        ("5/min", "50/min", true),
        ("5/min", "5/min", true),
        ("5/min", "5/h", false),
        ("5/min", "50/min, 100/h", false),
        ("5/min, 90/h", "50/min, 100/h", true),
        ("{ quota: 5, window: 1min, algorithm: counter }", "50/min", false),
        (
            "{ quota: 5, window: 1s, algorithm: gcra, burst: 10 }",
            "{ quota: 6, window: 1s, algorithm: gcra, burst: 10 }",
            true,
        ),
        (
            "{ quota: 5, window: 1s, algorithm: gcra, burst: 10 }",
            "{ quota: 6, window: 1s, algorithm: gcra, burst: 9 }",
            false,
        ),
        ("200/min", "300/min", true),
    ];
    for (own, other, is_as_tight) in table {
        let (enforced, observed) = (by(own, &login(other), "enforce"), by(own, &login(other), "observe"));
        assert_eq!(terms(&enforced, "/login"), Some(1));
        assert_eq!(terms(&enforced, "/logout;x"), Some(0));
        for path in spellings("login") {
            // A rule that only looks on refuses nobody.
            assert_eq!(terms(&observed, &path), Some(0), "{path}");
            match is_as_tight {
                true => assert_eq!(terms(&enforced, &path), Some(0), "{own}, {other}: {path}"),
                false => assert_eq!(policy_error(&enforced, &path), ambiguous(), "{own}, {other}: {path}"),
            }
        }
    }
    // What holds by all readings is taken if nothing tighter before it holds by some.
    let address = "{ when: { ip: 192.0.2.1 }, limits: [9/min] }";
    let first = by("50/min", &format!("{address}, {}", login("5/min")), "enforce");
    let last = by("5/min", &format!("{}, {address}", login("7/min")), "enforce");
    for path in spellings("login") {
        assert_eq!(terms(&first, &path), Some(1), "{path}");
        assert_eq!(policy_error(&last, &path), ambiguous(), "{path}");
    }
    // All servers read this alike.
    let below = by("50/min", r#"{ when: { path: "/files/{*rest}" }, limits: [5/min] }"#, "enforce");
    assert_eq!((terms(&below, "/files/"), terms(&below, "/files/a")), (Some(0), Some(1)));
}

fn policy_error(policy: &Policy, path: &str) -> Result<(), RequestError> {
    policy.choose(&at(path)).map(|_| ())
}

/// What lists say of parameters is by the same readings.
#[test]
fn parameters_in_lists() {
    let rule = r#"name: user, match: { path: "/users/{id}" }, key: [ip], limits: [5/min]"#;
    let denies = policy(&format!("rules: [{{ {rule}, deny: [{{ id: mallory }}] }}]"));
    let exempts = policy(&format!("rules: [{{ {rule}, allow: [{{ id: alice }}] }}]"));
    for path in ["/users/mallory", "/users/mallory;x", "/x/..;/users/mallory", "/users%2Fmallory"] {
        assert_eq!(barred(&denies, path), Some(Blocked::DenyList), "{path}");
    }
    assert_eq!(terms(&exempts, "/users/alice"), None);
    assert_eq!(terms(&exempts, "/users/alice/"), None);
    for path in ["/users/alice;x", "/users/bob/..;/alice", "/users//alice"] {
        assert_eq!(terms(&exempts, path), Some(0), "{path}");
    }
}

/// A percent sign of a parameter is one in lists too.
#[test]
fn percent_signs_in_lists() {
    let rule = r#"name: user, match: { path: "/users/{id}" }, key: [ip], limits: [5/min]"#;
    let denies =
        policy(&format!("rules: [{{ {rule}, deny: [{{ id: 50% }}, {{ id: {{ prefix: 7%4 }} }}] }}]"));
    for path in ["/users/50%25", "/users/50%", "/users/50%25;x", "/users/7%2542", "/users//7%25404"] {
        assert_eq!(barred(&denies, path), Some(Blocked::DenyList), "{path}");
    }
    for path in ["/users/50%2525", "/users/7B", "/users/7%2F42"] {
        assert_eq!(terms(&denies, path), Some(0), "{path}");
    }
}

fn key(policy: &Policy, path: &str) -> Result<Key<'static>, RequestError> {
    Ok(match policy.choose(&at(path))? {
        Choice::Hits(hits) => hits[0].key.clone().into_owned(),
        other => panic!("{path}: {other:?}"),
    })
}

/// All spellings of a subject are that subject; a path that may be one or another is refused.
#[test]
fn subjects_from_the_path() {
    let users =
        policy(r#"rules: [{ name: user, match: { path: "/users/{id}" }, key: [id], limits: [5/min] }]"#);
    for path in ["/users/42", "/users/42/", "/users/42;v=1", "/users/%34%32", "/users//42", "/x/..;/users/42"]
    {
        assert_eq!(key(&users, path), Ok(Key::from("42")), "{path}");
    }
    assert_eq!(key(&users, "/users/a%2Fb"), Ok(Key::from("a/b")));
    // Decoded once, whatever else there is to read.
    for path in ["/users/%2542", "/users/%2542;x", "/users//%2542", "/users/%2542%3Bx"] {
        assert_eq!(key(&users, path), Ok(Key::from("%2542")), "{path}");
    }
    for path in ["/users/50%25", "/users/50%", "/users/50%25;x", "/users/50%;x"] {
        assert_eq!(key(&users, path), Ok(Key::from("50%25")), "{path}");
    }
    // Tomcat takes this for 42, others for whatever follows.
    let ambiguous = Err(RequestError::AmbiguousPath { rule: "user".to_owned() });
    assert_eq!(key(&users, "/users/42;%2F..%2F7"), ambiguous);
    assert_eq!(key(&users, "/users/42;%5C..%5C7"), ambiguous);

    let files =
        policy(r#"rules: [{ name: file, match: { path: "/files/{*rest}" }, key: [rest], limits: [5/min] }]"#);
    for path in
        ["/files/a/b", "/files/a%2Fb", "/files/a\\b", "/files/a;x/b", "/files//a/./b", "/files/a/c/../b"]
    {
        assert_eq!(key(&files, path), Ok(Key::from("a/b")), "{path}");
    }
    let paths = policy("rules: [{ name: path, key: [path], limits: [5/min] }]");
    for path in ["/a", "/a/", "/a;x", "//a", "/x/../a", "/;/a"] {
        assert_eq!(key(&paths, path), Ok(Key::from("a")), "{path}");
    }
    assert_eq!(key(&paths, "/;x"), Ok(Key::from("/")));
    let refused = key(&paths, "/a//../b");
    assert_eq!(refused, Err(RequestError::AmbiguousPath { rule: "path".to_owned() }));

    // A rule that only looks on refuses nobody.
    let observed = policy("rules: [{ name: path, key: [path], limits: [5/min], mode: observe }]");
    assert!(key(&observed, "/a//../b").is_ok());
}

/// A key that one reading lacks: `skip` needs all to lack it, `deny` one.
#[test]
fn what_is_missing_by_some_readings() {
    let by = |missing: &str| {
        let paths = r#"match: { path: ["/users/{id}", "/users"] }"#;
        policy(&format!("rules: [{{ name: u, {paths}, key: [id], missing: {missing}, limits: [5/min] }}]"))
    };
    // `/users` to those that resolve dots, the user `.` to others: as a subject that is none.
    assert_eq!(terms(&by("skip"), "/users/."), None);
    // `/users/7` to Tomcat, `/users` to those that decode before.
    let path = "/users/7;%2F..";
    assert_eq!(terms(&by("skip"), path), Some(0));
    assert_eq!(barred(&by("deny"), path), Some(Blocked::MissingKey));
    assert_eq!(key(&by("shared"), path), Err(RequestError::AmbiguousPath { rule: "u".to_owned() }));
}

#[test]
fn too_many_readings_are_refused() {
    let policy = policy("rules: [{ name: all, limits: [5/min] }]");
    let path = "/a;b%3Bc%2Fd\\e%5Cf/%67/../h";
    assert_eq!(policy.choose(&at(path)), Err(RequestError::TooManyReadings));
    let long = "/a;b%2Fc//..".repeat(300);
    assert!(policy.choose(&at(&long)).is_ok(), "it is not the length that makes them many");
}

/// What all spellings of a path take together is bounded: a longest path may be odd in two ways, a
/// short one in more.
#[test]
fn long_paths_with_many_spellings_are_refused() {
    let policy = policy("rules: [{ name: all, limits: [5/min] }]");
    let filled = |odd: &str, bytes: usize| format!("/{odd}{}", "a".repeat(bytes - 1 - odd.len()));
    let most = slidegate::MAX_VALUE_BYTES;
    for odd in [";x/", "%2F", "\\", "%5C", "%61", "#", "//", "x/../", ";x/%2F", ";x/%61", "%2F\\"] {
        assert!(policy.choose(&at(&filled(odd, most))).is_ok(), "{odd}");
    }
    let odd = ";x/%2F\\%61/";
    assert!(policy.choose(&at(&filled(odd, 1_000))).is_ok());
    assert_eq!(policy.choose(&at(&filled(odd, 1_100))), Err(RequestError::TooManyReadings));
    assert_eq!(policy.choose(&at(&filled(odd, most))), Err(RequestError::TooManyReadings));
    // What is behind the path does not count.
    let query = filled("login;x/%2F\\%61?", most);
    assert!(policy.choose(&at(&query)).is_ok());
}

#[test]
fn case_where_back_ends_ignore_it() {
    let rules = r#"rules:
  - { name: login, match: { path: /Login }, limits: [5/min] }
  - { name: user, match: { path: "/users/{id}" }, key: [id], limits: [5/min], deny: [{ id: Mallory }] }
"#;
    let (exact, folded) = (policy(rules), policy(&format!("paths: {{ ignore_case: true }}\n{rules}")));
    for path in ["/login", "/LOGIN", "/%4COGIN", "/LoGiN;x"] {
        assert_eq!((terms(&exact, path), terms(&folded, path)), (None, Some(0)), "{path}");
    }
    assert_eq!(key(&folded, "/users/Alice"), key(&folded, "/USERS/alice"));
    assert_ne!(key(&exact, "/users/Alice"), key(&exact, "/users/alice"));
    assert_eq!(barred(&folded, "/users/MALLORY"), Some(Blocked::DenyList));
    let changes: Vec<String> = exact.diff(&folded).iter().map(ToString::to_string).collect();
    assert_eq!(changes, ["paths: ignore_case false -> true"]);
}

/// Units are given back only to rules that the path means however it is read.
#[tokio::test]
async fn units_are_not_freed_by_another_spelling() {
    let policy = policy(
        "rules: [{ name: cancel, match: { path: /cancel }, key: [ip], limits: [5/min], refundable: true }]",
    );
    let gate = Gate::new(policy, Memory::default()).clock(ManualClock::new(1_000_000_000));
    let left = async |demand: BatchItem<'static>| {
        let answers = gate.check_all(&[demand]).await.expect("memory answers");
        answers.verdict().decisions[0].remaining
    };
    let give_back = |path| BatchItem::GiveBack { request: at(path), units: 2 };
    assert_eq!(left(BatchItem::Check(at("/cancel").cost(4))).await, 1);
    assert_eq!(left(give_back("/x;/../cancel")).await, 1);
    assert_eq!(left(give_back("/cancel;x")).await, 1);
    assert_eq!(left(give_back("/cancel")).await, 3);
}

//! What a policy says is what a naive reading of its file says.

use std::cell::Cell;

use slidegate::policy::file::{File, RuleEntry, Test};
use slidegate::policy::{Blocked, Choice, HitMode, Policy};
use slidegate::{Key, Request, RequestError};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::policies::{Attributes, attributes, condition, file, limits, naive, request, spot};

fn compiled(file: &File) -> Policy {
    Policy::compile(file.clone()).unwrap_or_else(|errors| panic!("{errors}\n{file:?}"))
}

/// A rule for some paths, by a key.
fn rule(name: &str, path: &str, key: &[&str]) -> RuleEntry {
    let mut rule = RuleEntry {
        name: spot(name),
        key: key.iter().map(|part| spot(part)).collect(),
        limits: limits(&["5/min"]),
        ..RuleEntry::default()
    };
    if !path.is_empty() {
        rule.matches.0.push(condition("path", Test::Is(vec![spot(path)])));
    }
    rule
}

fn policy(rules: Vec<RuleEntry>) -> Policy {
    compiled(&File { rules, ..File::default() })
}

/// The names of the rules that limit a request.
fn hit<'p>(policy: &'p Policy, request: &Request<'_>) -> Vec<&'p str> {
    match policy.choose(request) {
        Ok(Choice::Hits(hits)) => hits.iter().map(|hit| policy.rules()[hit.rule].name()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_says_what_a_naive_reading_says() {
    let counts = [const { Cell::new(0) }; 6];
    let generate = |rng: &Rng| (file(rng), (0..12).map(|_| attributes(rng)).collect::<Vec<Attributes>>());
    prove(generate, |file, requests| {
        let policy = compiled(file);
        for attributes in requests {
            let request = request(attributes);
            let (found, expected) = (policy.choose(&request), naive::choose(file, &request));
            ensure!(found == expected, "{attributes:?}: {found:?}, expected {expected:?}");
            let what = match &found {
                Ok(Choice::Blocked { reason: Blocked::DenyList, .. }) => 0,
                Ok(Choice::Blocked { reason: Blocked::MissingKey, .. }) => 1,
                Ok(Choice::Hits(hits)) if hits.len() > 1 => 2,
                Err(RequestError::NotAnAddress { .. }) => 3,
                Err(RequestError::TooManyLimits { .. }) => 4,
                Err(RequestError::AmbiguousPath { .. }) => 5,
                _ => continue,
            };
            counts[what].set(counts[what].get() + 1);
        }
        Ok(())
    });
    assert!(counts.iter().all(|count| count.get() > 0), "not everything came up: {counts:?}");
}

/// One rule by its name says what it says in a policy of its own that matches everything.
#[test]
fn one_rule_by_its_name() {
    let generate = |rng: &Rng| (file(rng), (0..4).map(|_| attributes(rng)).collect::<Vec<Attributes>>());
    prove(generate, |file, requests| {
        let policy = compiled(file);
        for (attributes, (index, rule)) in requests.iter().zip(file.rules.iter().enumerate().cycle()) {
            let request = request(attributes);
            let name = rule.name.value.as_deref().unwrap_or_default();
            let found = policy.choose_rule(name, &request);
            // Its parameters stay: a template that matches everything keeps no rule away.
            if rule.matches.0.iter().any(|condition| condition.attribute == "path") {
                ensure!(matches!(found, Ok(Some(_)) | Err(_)), "{found:?}");
                continue;
            }
            let alone = RuleEntry { matches: Default::default(), ..rule.clone() };
            let alone = File { rules: vec![alone], ..file.clone() };
            let expected = naive::choose(&alone, &request).map(|mut choice| {
                match &mut choice {
                    Choice::Blocked { rule, .. } => *rule = index,
                    Choice::Hits(hits) => hits.iter_mut().for_each(|hit| hit.rule = index),
                }
                Some(choice)
            });
            ensure!(found == expected, "{attributes:?}: {found:?}, expected {expected:?}");
        }
        Ok(())
    });
    let policy = policy(vec![rule("login", "/login", &["ip"])]);
    assert_eq!(policy.choose_rule("other", &Request::new()), Ok(None));
}

#[test]
fn a_path_cannot_slip_past_its_rule() {
    let policy = policy(vec![rule("login", "/login", &["ip"])]);
    let spellings = [
        "/login",
        "//login",
        "/login/",
        "/./login",
        "/x/../login",
        "/../login",
        "/%6cogin",
        "/%6C%6Fgin",
        "/x/%2e%2e/login",
        "/login?x",
        "/login/?x=/y",
        "/login#x",
        "login",
        "/login;x=1",
        "/login;jsessionid=1/",
        "/;a/login",
        "/x/..;/login",
        "/x/..;a=%2Fb/login",
        "/login/..;/../;x",
        "/x/%2e%2e;/login",
        "/x%2f..%2flogin",
        "/x%2F..%5Clogin",
        "/x\\..\\login",
        "/%5Clogin",
        "\\login",
        "/login%2f",
        "/login%3Bx",
        "/login;%2Fx",
        "/x//..//../login",
    ];
    for path in spellings {
        assert_eq!(
            hit(&policy, &Request::new().with("path", path).with("ip", "192.0.2.1")),
            ["login"],
            "{path}"
        );
    }
    for path in ["/Login", "/login/x", "/", "/x%2flogin", "/x\\login", "/login%00", "/login%253Bx"] {
        assert!(hit(&policy, &Request::new().with("path", path)).is_empty(), "{path}");
    }
}

/// Every rule that matches applies, in the order of the file.
#[test]
fn all_that_match_apply() {
    let policy = policy(vec![
        rule("rest", "/api/{*rest}", &[]),
        rule("everything", "", &[]),
        rule("user", "/api/users/{id}", &["id"]),
        rule("me", "/api/users/me", &[]),
        rule("other", "/other", &[]),
    ]);
    let at = |path| hit(&policy, &Request::new().with("path", path).with("x", "y"));
    assert_eq!(at("/api/users/me"), ["rest", "everything", "user", "me"]);
    assert_eq!(at("/api/users/42"), ["rest", "everything", "user"]);
    assert_eq!(at("/api"), ["everything"]);
    assert_eq!(hit(&policy, &Request::new()), ["everything"]);
}

/// A parameter is what the path says, whatever an attribute of its name says.
#[test]
fn parameters_in_keys() {
    let policy =
        policy(vec![rule("user", "/users/{id}", &["id"]), rule("file", "/files/{*rest}", &["rest"])]);
    let key = |path: &'static str| {
        let request = Request::new().with("path", path).with("id", "forged").with("rest", "forged");
        match policy.choose(&request) {
            Ok(Choice::Hits(hits)) => hits[0].key.clone().into_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(key("/users/42"), Key::from("42"));
    assert_eq!(key("/users/%34%32/"), Key::from("42"));
    assert_eq!(key("/users/a%2fb"), key("/users/a%2Fb"));
    assert_eq!(key("/files/a/b"), Key::from("a/b"));
    assert_eq!(key("/files//a/./b"), Key::from("a/b"));
}

/// An address is only wrong where somebody looks at it.
#[test]
fn what_is_no_address() {
    let policy = policy(vec![
        rule("login", "/login", &["ip"]),
        rule("api", "/api", &["api_key|ip"]),
        rule("search", "/search", &["user"]),
    ]);
    let at = |path| Request::new().with("path", path).with("ip", "localhost").with("user", "alice");
    let wrong = RequestError::NotAnAddress { attribute: "ip".to_owned(), value: "localhost".to_owned() };
    assert_eq!(policy.choose(&at("/login")), Err(wrong.clone()));
    assert_eq!(policy.choose(&at("/api")), Err(wrong));
    assert_eq!(hit(&policy, &at("/api").with("api_key", "k")), ["api"]);
    assert_eq!(hit(&policy, &at("/search")), ["search"]);
    assert_eq!(hit(&policy, &at("/elsewhere")), [""; 0]);
}

/// The deny list comes before the allow list, and bars only where the rule is enforced.
#[test]
fn lists_in_their_order() {
    let mallory =
        || slidegate::policy::file::Conditions(vec![condition("user", Test::Is(vec![spot("mallory")]))]);
    let inside =
        || slidegate::policy::file::Conditions(vec![condition("ip", Test::Is(vec![spot("10.0.0.0/8")]))]);
    let mut search = rule("search", "", &["ip"]);
    (search.deny, search.allow) = (vec![mallory()], vec![inside()]);
    let mut observed = search.clone();
    observed.mode = slidegate::policy::file::Mode::Observe;
    let (enforced, observed) = (policy(vec![search]), policy(vec![observed]));
    let answer_of = |policy: &Policy, user, ip| {
        policy.choose(&Request::new().with("user", user).with("ip", ip)).map(|choice| match choice {
            Choice::Blocked { reason: why, .. } => Err(why),
            Choice::Hits(hits) => Ok(hits.iter().map(|hit| (hit.mode, hit.would_block)).collect::<Vec<_>>()),
        })
    };
    let would_block = || vec![(HitMode::Observe, Some(Blocked::DenyList))];
    for (user, ip, if_enforced, if_observed) in [
        ("mallory", "10.0.0.1", Err(Blocked::DenyList), Ok(would_block())),
        ("mallory", "192.0.2.1", Err(Blocked::DenyList), Ok(would_block())),
        ("alice", "10.0.0.1", Ok(vec![]), Ok(vec![])),
        ("alice", "192.0.2.1", Ok(vec![(HitMode::Enforce, None)]), Ok(vec![(HitMode::Observe, None)])),
    ] {
        assert_eq!(answer_of(&enforced, user, ip), Ok(if_enforced), "{user} {ip}");
        assert_eq!(answer_of(&observed, user, ip), Ok(if_observed), "{user} {ip}");
    }
}

//! What can be read but makes no policy: every error with its place and a remedy, all at once.

use slidegate::policy::{Policy, PolicyErrors};

fn errors(text: &str) -> PolicyErrors {
    match Policy::parse("policy.yaml", text) {
        Ok(_) => panic!("nothing is wrong with\n{text}"),
        Err(errors) => errors,
    }
}

/// The only error of a rule with these lines, at the place of the first `^` below it.
fn check(rule: &str, marked: &str, expected: &str) {
    let text = format!("version: 1\nrules:\n  - name: search\n    limits: [10/s]\n{}", indented(rule));
    check_file(&text, marked, expected);
}

fn indented(rule: &str) -> String {
    rule.lines().map(|line| format!("    {line}\n")).collect()
}

/// The only error of a file stands where this is marked, and says this.
fn check_file(text: &str, marked: &str, expected: &str) {
    let errors = errors(text);
    let all: Vec<_> = errors.iter().collect();
    assert_eq!(all.len(), 1, "{errors}\n{text}");
    let start = text.find(marked).unwrap_or_else(|| panic!("{marked} is not in\n{text}"));
    assert_eq!(all[0].span.start, start, "{errors}\n{text}");
    assert!(all[0].message.contains(expected), "{errors}");
    assert!(!all[0].help.is_empty(), "{errors}");
}

#[test]
fn settings() {
    check_file("version: 2\n", "2", "unsupported version 2");
    check_file("version: 1\nipv6_prefix: 0\n", "0", "IPv6 prefix length 0");
    check_file("version: 1\nipv6_prefix: 129\n", "129", "IPv6 prefix length 129");
}

/// A library reads the rules of a server's file, and nothing else of it.
#[test]
fn sections_of_the_server_are_not_read() {
    let rules = "rules: [{ name: a, limits: [5/min] }]\n";
    let settings = "server: { http: nonsense }\nstore: 7\nobserve: { zebra: 1 }\n";
    let policy = Policy::parse("policy.yaml", &format!("version: 1\n{settings}{rules}"));
    assert_eq!(policy.expect("a policy").rules().len(), 1);
    check_file("version: 1\nlisteners: 1\n", "listeners", "unknown field `listeners`");
}

#[test]
fn names() {
    let named = |name: &str| format!("version: 1\nrules:\n  - {{ name: {name}, limits: [5/min] }}\n");
    for name in ["\"a b\"", "a/b", "\"ü\"", &"x".repeat(65)] {
        check_file(&named(name), name, "invalid rule name");
    }
    let twice = "version: 1\nrules:\n  - { name: a, limits: [5/min] }\n  - { limits: [5/min], name: a }\n";
    let twice = errors(twice);
    let first = twice.iter().next().expect("an error");
    assert_eq!((first.line, first.column), (4, 30), "{twice}");
    assert!(first.message.contains("first on line 3"), "{twice}");
}

#[test]
fn templates() {
    for (template, expected) in [
        ("login", "invalid path `login`: must start with `/`"),
        ("/a/{*rest}/b", "must be the last segment"),
        ("/a/{}", "missing parameter name"),
        ("/{id}/{id}", "duplicate parameter"),
        ("/a?b=c", "query"),
        ("/a{b}", "must be a whole segment"),
        ("/{ip}", "reserved parameter name"),
    ] {
        let quoted = format!("\"{template}\"");
        check(&format!("match: {{ path: {quoted} }}"), &quoted, expected);
        check(&format!("allow: [{{ path: [/fine, {quoted}] }}]"), &quoted, expected);
        check(&format!("overrides: [{{ when: {{ path: {quoted} }}, limits: [5/s] }}]"), &quoted, expected);
        check(&format!("mode: {{ enforce_for: [{{ path: {quoted} }}] }}"), &quoted, expected);
    }
    check("match: { path: { prefix: \"/a/{*rest}\" } }", "\"/a/{*rest}\"", "in a prefix");
}

#[test]
fn conditions() {
    check("deny: [{ ip: 10.0.0.0/33 }]", "10.0.0.0/33", "invalid address or network");
    check("match: { ip: [10.0.0.1, localhost] }", "localhost", "invalid address or network");
    check("match: { ip: { prefix: \"10.\" } }", "ip:", "`prefix` cannot be used with `ip`");
    check("match: { org: [] }", "org:", "never matches");
    check("mode: { enforce_for: [] }", "search", "would deny nothing");
    check("overrides: [{ when: {}, limits: [5/s] }]", "[5/s]", "without conditions");
}

#[test]
fn keys() {
    check("key: [\"a|\"]", "\"a|\"", "empty part");
    check("key: [\"a||b\"]", "\"a||b\"", "empty part");
    check("key: [ip, \"user|ip\"]", "\"user|ip\"", "duplicate attribute");
    check("key: [ip, user, ip]", "ip]", "duplicate attribute");
}

#[test]
fn limits() {
    let only = |limits: &str| format!("version: 1\nrules:\n  - name: a\n    limits: {limits}\n");
    check_file(&only("[]"), "[]", "empty list of limits");
    check_file(&only("[10/s, 5/s]"), "5/s]", "same algorithm and window");
    check_file(
        &only("[\"10/s\", { quota: 5, window: 1s, resolution: 10ms }]"),
        "{ quota",
        "same algorithm and window",
    );
    assert!(Policy::parse("", &only("[10/s, { quota: 5, window: 1s, name: short }]")).is_ok());
    assert!(Policy::parse("", &only("[10/s, { quota: 5, window: 1s, algorithm: counter }]")).is_ok());
    check_file(&only("[10/s, { quota: 5, window: 2s, name: 10/s }]"), "{ quota", "duplicate limit name");
    check_file(&only("[{ quota: 5, window: 2s, name: \"a b\" }]"), "{ quota", "invalid limit name");
    check_file(&only("[{ quota: 5, window: 2s, name: 'a\"' }]"), "{ quota", "invalid limit name");
    let many: Vec<String> = (1..=33).map(|seconds| format!("5/{seconds}s")).collect();
    let many = format!("[{}]", many.join(", "));
    check_file(&only(&many), &many, "too many limits: 33");
    check("tiers: { gold: [] }", "[] }", "empty list of limits");
    check("overrides: [{ when: { org: a }, limits: [5/s, 6/s] }]", "6/s", "same algorithm and window");
    // One name in answers for limits of two rules.
    let two = "version: 1\nrules:\n  - { name: a-b, limits: [5/s] }\n  - name: a\n    limits: [{ quota: 1, window: 2s, name: b-5/s }]\n";
    check_file(two, "{ quota", "duplicate limit name `a-b-5/s`");
}

#[test]
fn refundable() {
    let gcra = "{ quota: 5, window: 1s, algorithm: gcra, burst: 2 }";
    check(&format!("refundable: true\ntiers: {{ gold: [{gcra}] }}"), gcra, "gcra");
    check(&format!("refundable: true\noverrides: [{{ when: {{ a: b }}, limits: [{gcra}] }}]"), gcra, "gcra");
    let fine = format!("version: 1\nrules: [{{ name: a, limits: [{gcra}] }}]\n");
    assert!(Policy::parse("", &fine).is_ok());
}

/// One wrong thing does not hide another.
#[test]
fn all_at_once() {
    let text = "\
version: 3
ipv6_prefix: 200
rules:
  - name: a b
    match: { path: login, ip: nowhere }
    key: [ip, ip]
    limits: [5/s, 6/s]
  - name: c
    limits: []
    deny: [{ path: \"/{\" }]
";
    let lines: Vec<usize> = errors(text).iter().map(|error| error.line).collect();
    assert_eq!(lines, [1, 2, 4, 5, 5, 6, 7, 9, 10]);
}

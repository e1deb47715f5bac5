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
    check_file("version: 2\n", "2", "version 2 is not known");
    check_file("version: 1\nipv6_prefix: 0\n", "0", "prefix of 0 bits");
    check_file("version: 1\nipv6_prefix: 129\n", "129", "prefix of 129 bits");
    let server = |line: &str| format!("version: 1\nserver:\n  {line}\n");
    check_file(&server("permit_secret: fifteen-letters"), "fifteen", "too short");
    check_file(&server("attributes: { user: \"X User\" }"), "\"X User\"", "no name of a header");
    check_file(&server("attributes: { user: \"Xü\" }"), "\"Xü\"", "no name of a header");
    let store = |lines: &str| format!("version: 1\nstore:\n{}", lines.replace('|', "\n"));
    check_file(&store("  url: redis://h"), "redis://h", "`url` is for Redis");
    check_file(&store("  nodes: [redis://h]"), "redis://h", "`nodes` is for Redis");
    let both = store("  kind: redis|  url: redis://h|  nodes: [redis://i]");
    check_file(&both, "redis://i", "both `url` and `nodes`");
    let nowhere = errors(&store("  kind: redis"));
    assert!(nowhere.to_string().contains("it is not said where"), "{nowhere}");
    assert_eq!(nowhere.iter().map(|error| error.line).collect::<Vec<_>>(), [3]);
}

#[test]
fn names() {
    let named = |name: &str| format!("version: 1\nrules:\n  - {{ name: {name}, limits: [5/min] }}\n");
    for name in ["\"a b\"", "a/b", "\"ü\"", &"x".repeat(65)] {
        check_file(&named(name), name, "is no name for a rule");
    }
    let twice = "version: 1\nrules:\n  - { name: a, limits: [5/min] }\n  - { limits: [5/min], name: a }\n";
    let twice = errors(twice);
    let first = twice.iter().next().expect("an error");
    assert_eq!((first.line, first.column), (4, 30), "{twice}");
    assert!(first.message.contains("already in line 3"), "{twice}");
}

#[test]
fn templates() {
    for (template, expected) in [
        ("login", "is no path"),
        ("/a/{*rest}/b", "not at the end"),
        ("/a/{}", "has no name"),
        ("/{id}/{id}", "comes twice"),
        ("/a?b=c", "query"),
        ("/a{b}", "neither"),
        ("/{ip}", "cannot be called"),
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
    check("deny: [{ ip: 10.0.0.0/33 }]", "10.0.0.0/33", "no address and no network");
    check("match: { ip: [10.0.0.1, localhost] }", "localhost", "no address and no network");
    check("match: { ip: { prefix: \"10.\" } }", "ip:", "no prefix");
    check("match: { org: [] }", "org:", "never holds");
    check("mode: { enforce_for: [] }", "search", "refuses nobody");
    check("overrides: [{ when: {}, limits: [5/s] }]", "[5/s]", "without conditions");
}

#[test]
fn keys() {
    check("key: [\"a|\"]", "\"a|\"", "is empty");
    check("key: [\"a||b\"]", "\"a||b\"", "is empty");
    check("key: [ip, \"user|ip\"]", "\"user|ip\"", "comes twice");
    check("key: [ip, user, ip]", "ip]", "comes twice");
}

#[test]
fn limits() {
    let only = |limits: &str| format!("version: 1\nrules:\n  - name: a\n    limits: {limits}\n");
    check_file(&only("[]"), "[]", "no limits");
    check_file(&only("[10/s, 5/s]"), "5/s]", "share its history");
    check_file(
        &only("[\"10/s\", { quota: 5, window: 1s, resolution: 10ms }]"),
        "{ quota",
        "share its history",
    );
    assert!(Policy::parse("", &only("[10/s, { quota: 5, window: 1s, name: short }]")).is_ok());
    assert!(Policy::parse("", &only("[10/s, { quota: 5, window: 1s, algorithm: counter }]")).is_ok());
    check_file(&only("[10/s, { quota: 5, window: 2s, name: 10/s }]"), "{ quota", "another limit is called");
    check_file(&only("[{ quota: 5, window: 2s, name: \"a b\" }]"), "{ quota", "no name for a limit");
    check_file(&only("[{ quota: 5, window: 2s, name: 'a\"' }]"), "{ quota", "no name for a limit");
    let many: Vec<String> = (1..=33).map(|seconds| format!("5/{seconds}s")).collect();
    let many = format!("[{}]", many.join(", "));
    check_file(&only(&many), &many, "33 limits");
    check("tiers: { gold: [] }", "[] }", "no limits");
    check("overrides: [{ when: { org: a }, limits: [5/s, 6/s] }]", "6/s", "share its history");
    // One name in answers for limits of two rules.
    let two = "version: 1\nrules:\n  - { name: a-b, limits: [5/s] }\n  - name: a\n    limits: [{ quota: 1, window: 2s, name: b-5/s }]\n";
    check_file(two, "{ quota", "another limit is called `a-b-5/s`");
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
store: { kind: memory, url: redis://h }
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
    assert_eq!(lines, [1, 2, 3, 5, 6, 6, 7, 8, 10, 11]);
}

//! Settings that can be read but cannot be used together or at all: every error has its place.

use slidegate::policy::PolicyErrors;
use slidegate_server::Config;

fn errors(text: &str) -> PolicyErrors {
    Config::parse("policy.yaml", text).err().unwrap_or_else(|| panic!("nothing is wrong with\n{text}"))
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
    let server = |line: &str| format!("version: 1\nserver:\n  {line}\n");
    check_file(&server("permit_secret: fifteen-letters"), "fifteen", "too short");
    check_file(&server("attributes: { user: \"X User\" }"), "\"X User\"", "invalid header name");
    check_file(&server("attributes: { user: \"Xü\" }"), "\"Xü\"", "invalid header name");
    let store = |lines: &str| format!("version: 1\nstore:\n{}", lines.replace('|', "\n"));
    check_file(&store("  url: redis://h"), "redis://h", "`url` requires `kind: redis`");
    check_file(&store("  nodes: [redis://h]"), "redis://h", "`nodes` requires `kind: redis`");
    let both = store("  kind: redis|  url: redis://h|  nodes: [redis://i]");
    check_file(&both, "redis://i", "`url` and `nodes` cannot be combined");
    let nowhere = errors(&store("  kind: redis"));
    assert!(nowhere.to_string().contains("missing address of Redis"), "{nowhere}");
    assert_eq!(nowhere.iter().map(|error| error.line).collect::<Vec<_>>(), [3]);
}

/// Errors of settings and of rules come together, in the order of the file.
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

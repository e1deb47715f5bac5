//! Policies without text: from a path, or from limits in code.

use std::error::Error;
use std::fs;

use slidegate::Policy;
use slidegate::policy::LoadError;

/// Result of a file with this content.
fn load(content: &[u8]) -> (String, Result<Policy, LoadError>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.yaml");
    fs::write(&path, content).expect("a file");
    (path.display().to_string(), Policy::load(&path))
}

#[test]
fn a_file_is_loaded() {
    let (_, policy) =
        load(b"version: 1\nserver: { http: 127.0.0.1:0 }\nrules: [{ name: api, limits: [5/min] }]\n");
    let policy = policy.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(policy.rules()[0].name(), "api");
}

#[test]
fn an_error_of_a_path_names_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.yaml");
    for path in [missing.as_path(), folder.path()] {
        let error = Policy::load(path).expect_err("no file");
        assert!(matches!(&error, LoadError::Read { path: named, .. } if named == path), "{error:?}");
        let reason = error.source().expect("an error of the system").to_string();
        assert_eq!(error.to_string(), format!("cannot read {}: {reason}", path.display()));
    }
    let (path, latin) = load(b"version: 1\nrules: [{ name: caf\xe9, limits: [5/min] }]\n");
    let error = latin.expect_err("no UTF-8").to_string();
    assert!(error.starts_with(&format!("cannot read {path}: ")) && error.contains("UTF-8"), "{error}");
}

#[test]
fn an_error_of_a_file_has_its_position_and_a_remedy() {
    let (path, policy) =
        load(b"version: 1\nrules:\n  - { name: api, limits: [ten/min] }\n  - { name: api }\n");
    let error = policy.expect_err("two errors");
    let LoadError::Invalid(errors) = &error else { panic!("{error:?}") };
    assert_eq!(error.to_string(), errors.to_string());
    let text = error.to_string();
    assert!(text.starts_with(&format!("{path}:3:27: ")), "{text}");
    assert!(text.contains(&format!("\n{path}:4:")), "all errors are reported: {text}");
}

#[test]
fn limits_in_code_have_the_errors_of_a_file() {
    let error = |name: &str, key: &[&str], limits: &[&str]| {
        let limits = limits.iter().map(|limit| limit.parse().expect("a limit"));
        Policy::from_limits(name, key, limits).expect_err("an error").to_string()
    };
    assert!(error("api", &[], &[]).contains("limit"), "{}", error("api", &[], &[]));
    assert!(error("", &[], &["5/min"]).contains("name"), "{}", error("", &[], &["5/min"]));
    assert!(error("api", &["a||b"], &["5/min"]).contains("key"), "{}", error("api", &["a||b"], &["5/min"]));
    let twice = error("api", &[], &["5/min", "9/min"]);
    assert!(twice.contains("5/min") || twice.contains("9/min"), "{twice}");
}

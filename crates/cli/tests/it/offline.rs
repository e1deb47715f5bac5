//! What the program does without a server: `validate`, `schema`, `example`, `completions` and the
//! help texts.

use serde_json::Value;
use slidegate_testkit::program::{Ended, command, file, path, run};

#[test]
fn the_example_is_valid_and_has_the_documented_warnings() {
    let example = run(&["example"]);
    assert_eq!(example.code, Some(0));
    let example = file(&example.stdout);
    let ended = run(&["validate", path(&example)]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(ended.stdout.replace(path(&example), "policy.yaml"), include_str!("validated/example.txt"));
}

/// A policy with all that there is.
#[test]
fn every_field_of_a_rule_is_described() {
    let text = include_str!("validated/all.yaml");
    let ended = Ended::from(
        command(&["validate", "-"])
            .stdin(file(text).reopen().expect("a file"))
            .output()
            .expect("slidegate can be started"),
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(ended.stdout, include_str!("validated/all.txt"));
}

#[test]
fn the_same_for_programs() {
    let policy = file(include_str!("validated/all.yaml"));
    let ended = run(&["validate", path(&policy), "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(report["valid"], true);
    let counter = &report["rules"][1]["terms"][0]["limits"][1];
    assert_eq!(counter["algorithm"], "counter");
    assert_eq!((&counter["quota"], &counter["worst_case"]), (&Value::from(600), &Value::from(1199)));
}

const BROKEN: &str =
    "version: 1\nrules:\n  - name: login\n    key: [ip]\n    limits: [\"5/fortnight\"]\n    colour: red\n";

#[test]
fn all_errors_are_reported_at_once() {
    let broken = file(BROKEN);
    let ended = run(&["validate", path(&broken)]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    for expected in [":5:14", ":6:5", "5/fortnight", "colour"] {
        assert!(ended.stderr.contains(expected), "{expected} is not in:\n{}", ended.stderr);
    }
    assert!(!ended.stderr.contains('\x1b'), "no colours in a pipe");
}

#[test]
fn what_is_wrong_for_programs() {
    let broken = file(BROKEN);
    let ended = run(&["validate", path(&broken), "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(report["valid"], false);
    let errors = report["errors"].as_array().expect("errors");
    let places: Vec<_> = errors.iter().map(|error| (&error["line"], &error["column"])).collect();
    assert_eq!(places, [(&Value::from(5), &Value::from(14)), (&Value::from(6), &Value::from(5))]);
    assert!(errors.iter().all(|error| error["remedy"].as_str().is_some_and(|text| !text.is_empty())));

    let absent = run(&["validate", "no-such-file.yaml", "--json"]);
    assert_eq!(absent.code, Some(1));
    let report: Value = serde_json::from_str(&absent.stdout).expect("JSON");
    assert!(report["errors"][0]["what"].as_str().is_some_and(|what| what.contains("no-such-file.yaml")));
}

#[test]
fn a_file_that_is_not_text_is_an_error() {
    let binary = file("");
    std::fs::write(binary.path(), b"version: 1\n\xff").expect("it can be written");
    let ended = run(&["validate", path(&binary)]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("is not valid UTF-8"), "{}", ended.stderr);
}

#[test]
fn the_schema_is_that_of_the_types() {
    let ended = run(&["schema"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let schema: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(schema, slidegate_server::config::schema::json());
    assert!(schema["properties"]["rules"].is_object(), "{schema}");
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = run(&["completions", shell]);
        assert_eq!(ended.code, Some(0), "{shell}");
        for word in ["serve", "validate", "max-memory"] {
            assert!(ended.stdout.contains(word), "{word} is not in that of {shell}");
        }
    }
    assert_eq!(run(&["completions", "none"]).code, Some(2));
}

/// Every command says what it does; those that decide something also say what they end with and
/// give an example.
#[test]
fn help_helps() {
    let all = run(&["--help"]);
    for name in ["serve", "check", "admin", "validate", "example", "schema", "completions"] {
        assert!(all.stdout.contains(&format!("\n  {name}")), "{name} is not in:\n{}", all.stdout);
        let help = run(&[name, "--help"]);
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains("Usage: slidegate"), "{}", help.stdout);
        if ["serve", "check", "admin", "validate"].contains(&name) {
            assert!(
                help.stdout.contains("Example:\n") && help.stdout.contains("Exit codes:\n"),
                "{}",
                help.stdout
            );
        }
    }
    assert_eq!(run(&[]).code, Some(2));
    assert_eq!(run(&["--version"]).stdout, format!("slidegate {}\n", env!("CARGO_PKG_VERSION")));
}

/// `head` closes the pipe when it has enough; that is nobody's error.
#[cfg(unix)]
#[test]
fn a_pipe_that_is_closed_is_no_error() {
    for arguments in [&["schema"][..], &["example"], &["completions", "zsh"]] {
        let mut child = command(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("slidegate can be started");
        drop(child.stdout.take());
        let ended = Ended::from(child.wait_with_output().expect("it ends"));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

//! Where the policy goes.

use std::fs;

use slidegate_testkit::program::{file, path, run};

const ENVOY: &str =
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 2 }\n";

#[test]
fn a_file_is_overwritten_only_on_request() {
    let input = file(ENVOY);
    let directory = tempfile::tempdir().expect("a directory");
    let output = directory.path().join("policy.yaml");
    let to = output.to_str().expect("a path");
    let printed = run(&["import", "envoy", path(&input)]);
    let first = run(&["import", "envoy", path(&input), "--output", to]);
    assert_eq!((first.code, first.stdout.as_str(), first.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(&output).expect("the policy"), printed.stdout);
    assert_eq!(run(&["validate", to]).code, Some(0));

    fs::write(&output, "mine, and longer than what would be written".repeat(100)).expect("it can be written");
    let second = run(&["import", "envoy", path(&input), "--output", to]);
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("--force"), "{}", second.stderr);
    assert!(fs::read_to_string(&output).expect("the file").starts_with("mine"));

    let forced = run(&["import", "envoy", path(&input), "--output", to, "--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert_eq!(fs::read_to_string(&output).expect("the policy"), printed.stdout);
    assert_eq!(run(&["import", "envoy", path(&input), "--force"]).code, Some(2), "it needs --output");
}

/// What is too large for a policy is said so, and not printed.
#[test]
fn what_is_no_policy_is_not_printed() {
    let mut many = "domain: d\ndescriptors:\n".to_owned();
    for number in 0..30_000 {
        many.push_str(&format!(
            "  - {{ key: k{number}, rate_limit: {{ unit: day, requests_per_unit: 1 }} }}\n"
        ));
    }
    let ended = run(&["import", "envoy", path(&file(&many))]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let stderr = super::wrong::unwrapped(&ended.stderr);
    assert!(stderr.contains("the maximum is 1 MiB") && stderr.contains("split the file"), "{stderr}");
}

/// Texts of any kind come through as they are, and numbers as large as they get.
#[test]
fn texts_and_numbers_come_through() {
    let odd = r#"{"domain":"a\u0007: \"b\" # 'c'","descriptors":[
        {"key":"k e y","value":"\u0085 \\ ☃ {x} [y]: z","rate_limit":{"unit":"year","requests_per_unit":4294967295}},
        {"key":"true","value":"null","rate_limit":{"unit":"second","requests_per_unit":4294967295}},
        {"key":"true","rate_limit":{"unit":"second","requests_per_unit":1}}]}"#;
    let largest = format!("- {{ namespace: '', max_value: {}, seconds: 86400000 }}\n", u64::MAX);
    for (system, text) in [("envoy", odd), ("limitador", &largest)] {
        for flags in [&[][..], &["--sliding"]] {
            let input = file(text);
            let ended = run(&[&["import", system, path(&input)], flags].concat());
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
            let policy = super::decisions::ConvertedPolicy::new(&ended.stdout);
            if system == "envoy" {
                let attributes = [
                    ("domain", "a\u{7}: \"b\" # 'c'"),
                    ("descriptor", "k e y"),
                    ("k e y", "\u{85} \\ ☃ {x} [y]: z"),
                ];
                assert_eq!(policy.ask(&attributes), super::decisions::Came::Pass);
            }
        }
    }
}

#[test]
fn the_help_helps() {
    let help = run(&["import", "--help"]);
    assert_eq!(help.code, Some(0));
    for expected in [
        "Example:\n",
        "Exit codes:\n",
        "slidegate import envoy",
        "--sliding",
        "--strict",
        "rlaas",
        "limitador",
    ] {
        assert!(help.stdout.contains(expected), "{expected} is not in\n{}", help.stdout);
    }
}

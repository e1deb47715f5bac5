//! Examples of the three systems: the policy that is made of each stands beside it, and what their documentation says of it as
//! steps: how many requests in a row are within the limit (`pass`), refused (`fail`), admitted where a rule only looks on
//! (`shadow`), or nobody's business (`free`).

use std::fs;
use std::path::{Path, PathBuf};

use slidegate_testkit::program::{Ended, command};

use super::decisions::{Came, ConvertedPolicy, of_descriptor};

fn folder(system: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/import").join(system)
}

/// The configurations of a system, by name.
fn examples(system: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder(system)).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_input = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        !name.ends_with(".policy.yaml")
            && [".yaml", ".yml", ".properties"].iter().any(|end| name.ends_with(end))
    };
    let mut found: Vec<PathBuf> = entries.filter(is_input).collect();
    found.sort();
    found
}

fn convert(system: &str, example: &Path, flags: &[&str]) -> Ended {
    let name = example.file_name().and_then(|name| name.to_str()).expect("a name");
    let arguments = [&["import", system, name], flags].concat();
    command(&arguments).current_dir(folder(system)).output().expect("slidegate can be started").into()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Asks what the steps say; `%20` stands for a space.
fn follow(steps: &str, policy: &str, system: &str) -> usize {
    let policy = ConvertedPolicy::new(policy);
    let mut count = 0;
    for (index, line) in steps.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let words: Vec<String> = line.split(' ').map(|word| word.replace("%20", " ")).collect();
        if let [wait, ms] = &*words
            && wait == "wait"
        {
            policy.wait_ms(ms.parse().expect("milliseconds"));
            continue;
        }
        let expected = match words[1].as_str() {
            "pass" => Came::Pass,
            "fail" => Came::Fail,
            "shadow" => Came::Shadow,
            "free" => Came::Free,
            other => panic!("{other}"),
        };
        let pairs: Vec<(&str, &str)> =
            words[2..].iter().map(|pair| pair.split_once('=').expect("name=value")).collect();
        let mut names = String::new();
        let attributes = match system {
            "envoy" => of_descriptor(pairs[0].1, &pairs[1..], &mut names),
            _ => pairs,
        };
        for _ in 0..words[0].parse().expect("a number") {
            assert_eq!(policy.ask(&attributes), expected, "line {}: {line}", index + 1);
            count += 1;
        }
    }
    count
}

fn hold(system: &str, least: usize) {
    let mut count = 0;
    for example in examples(system) {
        let ended = convert(system, &example, &[]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stdout, read(&example.with_extension("policy.yaml")), "{}", example.display());
        assert_eq!(ended.stderr, read(&example.with_extension("warnings")), "{}", example.display());
        count += follow(&read(&example.with_extension("steps")), &ended.stdout, system);

        let strict = convert(system, &example, &["--strict"]);
        assert_eq!(strict.code, Some(i32::from(!ended.stderr.is_empty())), "{}", example.display());
        assert_eq!((strict.stdout, strict.stderr), (ended.stdout, ended.stderr));
    }
    assert!(count >= least, "{count} requests");
}

#[test]
fn envoy() {
    hold("envoy", 250);
}

#[test]
fn limitador() {
    hold("limitador", 200);
}

#[test]
fn rlaas() {
    hold("rlaas", 30);
}

/// With `--sliding` there is no window left whose edge lets twice the quota through.
#[test]
fn windows_slide_on_request() {
    for system in ["envoy", "limitador", "rlaas"] {
        for example in examples(system) {
            let ended = convert(system, &example, &["--sliding"]);
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let rules: Vec<&str> =
                ended.stdout.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
            assert!(!rules.iter().any(|line| line.contains("fixed")), "{}", ended.stdout);
        }
    }
    let values = convert("envoy", &folder("envoy").join("values.yaml"), &["--sliding"]);
    let policy = ConvertedPolicy::new(&values.stdout);
    let mut names = String::new();
    let attributes = of_descriptor("warehouse", &[("aisle", "paint")], &mut names);
    policy.wait_ms(999);
    assert_eq!([(); 2].map(|()| policy.ask(&attributes)), [Came::Pass; 2]);
    policy.wait_ms(1);
    assert_eq!(
        policy.ask(&attributes),
        Came::Fail,
        "the window of the clock ended, that of the request did not"
    );
    policy.wait_ms(999);
    assert_eq!(policy.ask(&attributes), Came::Pass);
}

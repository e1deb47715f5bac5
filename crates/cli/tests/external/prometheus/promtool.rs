//! promtool accepts what a server tells, and the alerts.

use std::io::Write;
use std::process::{Command, Stdio};

use slidegate_testkit::program::Ended;

use crate::prometheus::lived::Lived;
use crate::prometheus::{root, tool};

/// Runs promtool among the alerts, with something to read.
fn promtool(arguments: &[&str], input: &str) -> Ended {
    let mut child = Command::new(tool("SLIDEGATE_PROMTOOL"))
        .args(arguments)
        .current_dir(root().join("contrib/prometheus"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool can be started");
    // It may end without reading.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends").into()
}

#[test]
fn it_accepts_the_metrics() {
    let lived = Lived::new();
    for text in lived.scrape() {
        assert!(text.contains(r#"route="/quo\"te/back\\slash/{*rest}""#), "{text}");
        let ended = promtool(&["check", "metrics"], &text);
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""), "{text}");
    }
    // It would not accept everything.
    assert_ne!(promtool(&["check", "metrics"], "slidegate_quote{a=\"b\"c\"} 1\n").code, Some(0));
}

#[test]
fn it_accepts_the_alerts_and_their_tests() {
    for arguments in [["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]] {
        let ended = promtool(&arguments, "");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("SUCCESS"), "{ended:?}");
    }
    let ended = promtool(&["check", "config", "--syntax-only", "prometheus.yaml"], "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

//! `slidegate simulate`: the worst cases of the algorithms, and the page.

use std::fs;
use std::path::Path;

use serde_json::Value;
use slidegate_testkit::program::{hold_without_server, run};

const PAGE: &str = include_str!("../../../../docs/simulate.md");
/// Pictures that the commands of the page write.
const PICTURES: [&str; 3] = ["adversary.svg", "edge-burst.svg", "herd.svg"];

/// The commands of the page print what it shows, and write its pictures.
#[test]
fn the_page_has_what_its_commands_print_and_draw() {
    let folder = tempfile::tempdir().expect("a folder");
    hold_without_server(PAGE, folder.path());
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    for name in PICTURES {
        let drawn = fs::read_to_string(folder.path().join(name)).expect("a picture");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(images.join(name), &drawn).expect("it can be written");
        }
        let picture = fs::read_to_string(images.join(name)).unwrap_or_default();
        assert!(
            picture == drawn,
            "docs/images/{name} is out of date: UPDATE=1 cargo test -p slidegate-cli --all-features --test it simulate::"
        );
        assert!(PAGE.contains(&format!("](images/{name})")), "{name} is not on the page");
    }
}

/// A picture has every result in words too, and nothing that a page could load or run.
#[test]
fn a_picture_is_complete_and_harmless() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("picture.svg");
    let path = path.to_str().expect("a path");
    for (scenario, expected) in [
        ("adversary", "100/s counter admits at most 199 in a window."),
        ("edge-burst", "100/s fixed admits at most 200 in a window."),
        ("overload", "100/s admits at most 100 in a window."),
        ("herd", "exact: 21,000 attempts, the last client admitted after 19.0 s."),
    ] {
        let ended = run(&["simulate", scenario, "--svg", path]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        let picture = fs::read_to_string(path).expect("a picture");
        assert!(picture.contains(expected), "{scenario}: {expected}\n{picture}");
        assert_eq!(picture.matches("<svg").count(), picture.matches("</svg>").count());
        for word in ["<script", "href", "url(", "@import", "NaN", "https:"] {
            assert!(!picture.contains(word), "{scenario}: {word}");
        }
    }
}

#[test]
fn a_picture_that_cannot_be_written_is_an_error() {
    let ended = run(&["simulate", "adversary", "--svg", "/nowhere/picture.svg"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("cannot write /nowhere/picture.svg"), "{}", ended.stderr);
}

/// 199 of 100 by the counter, twice the quota in a fixed window, none too many by the log.
#[test]
fn the_worst_cases_are_those_of_the_documentation() {
    let most = |scenario: &str| {
        let ended = run(&["simulate", scenario, "--json", "--algorithm", "log,counter,fixed"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        [0, 1, 2].map(|index| report["algorithms"][index]["most_in_window"].as_u64().expect("a number"))
    };
    assert_eq!(most("adversary"), [100, 199, 199]);
    assert_eq!(most("edge-burst"), [100, 104, 200]);
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let result = |seed| run(&["simulate", "overload", "--json", "--seed", seed]).stdout;
    assert_eq!(result("7"), result("7"));
    assert_ne!(result("7"), result("8"));
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let rows: [&[&str]; 3] = [
        &["adversary", "--quota", "0"],
        &["herd", "--window", "0"],
        &["edge-burst", "--algorithm", "bucket"],
    ];
    for arguments in rows {
        let ended = run(&[&["simulate"], arguments].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(!ended.stderr.is_empty());
    }
}

//! Public API of the libraries: every item that a user can name, in one file per crate.
//!
//! The items are those of rustdoc's JSON, which the pinned toolchain writes when it is told to. Blanket
//! and auto traits are left out, and so is what `derive` adds to the name of a trait.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use public_api::Builder;
use serde_json::Value;

/// Folders of the crates.
const CRATES: [&str; 6] = ["client", "core", "policy", "slidegate", "store", "store-redis"];
/// What rewrites the files.
const UPDATE: &str = "UPDATE=1 cargo test -p slidegate --all-features --test it public_api";

#[test]
fn the_public_api_is_that_of_the_snapshots() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documents = rustdoc_json(&root);
    let mut changes = String::new();
    for name in CRATES {
        let items = items(&documents.join(format!("{}.json", package(name).replace('-', "_"))));
        assert!(items.len() >= 50, "{name} has {} items", items.len());
        let path = root.join("crates").join(name).join("api.txt");
        let text = items.join("\n") + "\n";
        let snapshot = fs::read_to_string(&path).unwrap_or_default();
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, text).expect("a file of the repository");
        } else if text != snapshot {
            changes.push_str(&format!("crates/{name}/api.txt\n{}", difference(&snapshot, &text)));
        }
    }
    assert!(changes.is_empty(), "the public API has changed:\n{changes}if it should have: {UPDATE}");
}

/// Package in a folder.
fn package(folder: &str) -> String {
    if folder == "slidegate" { folder.to_owned() } else { format!("slidegate-{folder}") }
}

/// Items of a crate. Of a derived trait only its name.
fn items(document: &Path) -> Vec<String> {
    let build = |builder: Builder| {
        let api = builder.omit_blanket_impls(true).omit_auto_trait_impls(true).build();
        let api = api.unwrap_or_else(|error| panic!("{}: {error}", document.display()));
        api.items().map(ToString::to_string).collect::<Vec<_>>()
    };
    let written: BTreeSet<String> =
        build(Builder::from_rustdoc_json(document).omit_auto_derived_impls(true)).into_iter().collect();
    let mut items = build(Builder::from_rustdoc_json(document));
    items.retain(|item| written.contains(item) || item.starts_with("impl") && !item.contains("::Structural"));
    items
}

/// Lines that are in one of two texts only.
fn difference(old: &str, new: &str) -> String {
    let [old, new] = [old, new].map(|text| text.lines().collect::<BTreeSet<_>>());
    let removed = old.difference(&new).map(|line| format!("  - {line}\n"));
    removed.chain(new.difference(&old).map(|line| format!("  + {line}\n"))).collect()
}

/// Writes rustdoc's JSON of the libraries. Its folder.
fn rustdoc_json(root: &Path) -> PathBuf {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        let command =
            command.current_dir(root).args(arguments).env("RUSTDOC", root.join("scripts/rustdoc-unstable"));
        let output = command.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json").output();
        let output = output.expect("cargo");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let packages = CRATES.map(|name| format!("--package={}", package(name)));
    let options = ["doc", "--quiet", "--no-deps", "--all-features", "--lib"];
    run(&options.into_iter().chain(packages.iter().map(String::as_str)).collect::<Vec<_>>());
    let metadata = run(&["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata: Value = serde_json::from_slice(&metadata).expect("JSON");
    Path::new(metadata["target_directory"].as_str().expect("a path")).join("doc")
}

//! The bill of materials: held against the lock file, and against what is known to be in the
//! program and what is not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{passes, read, root};

/// Checksums of the lock file, by name and version; those of the workspace have none.
fn locked() -> BTreeMap<String, Option<String>> {
    let lock = read("Cargo.lock");
    let field = |entry: &str, name: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
        line.strip_suffix('"').map(str::to_owned)
    };
    let entries = lock.split("[[package]]").skip(1);
    let entries = entries.map(|entry| {
        let named = |name| field(entry, name).expect("every package has it");
        (format!("{}@{}", named("name"), named("version")), field(entry, "checksum"))
    });
    entries.collect()
}

/// Whether a bill tells the truth, as far as it can be known.
pub(super) fn check(bill: &str) {
    assert!(!bill.contains(root().canonicalize().expect("a folder").to_str().expect("UTF-8")), "no paths");
    let bill: Value = serde_json::from_str(bill).expect("JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    let program = &bill["metadata"]["component"];
    assert_eq!(
        (&program["name"], &program["version"]),
        (&"slidegate-cli".into(), &env!("CARGO_PKG_VERSION").into())
    );
    let (locked, mut built_in) = (locked(), BTreeSet::new());
    let mut references = BTreeSet::from([program["bom-ref"].as_str().expect("a reference")]);
    for part in bill["components"].as_array().expect("a list") {
        let text = |name: &str| part[name].as_str().unwrap_or_else(|| panic!("{name}: {part}"));
        let crate_name = format!("{}@{}", text("name"), text("version"));
        let checksum = locked.get(&crate_name).unwrap_or_else(|| panic!("{crate_name} is not in Cargo.lock"));
        assert_eq!(part["hashes"][0]["content"].as_str(), checksum.as_deref(), "{crate_name}");
        assert!(part["licenses"][0]["expression"].is_string(), "{part}");
        assert!(references.insert(text("bom-ref")), "{crate_name} is there twice");
        if text("scope") == "required" {
            built_in.insert(text("name"));
        }
    }
    for name in ["slidegate", "slidegate-core", "slidegate-server", "tokio", "rustls", "hyper", "h2", "redis"]
    {
        assert!(built_in.contains(name), "{name} is missing");
    }
    // For tests, for other systems, and for the compiler alone.
    for name in ["jsonschema", "tempfile", "windows-sys", "serde_derive", "cc"] {
        assert!(!built_in.contains(name), "{name} is not built in");
    }
    let edges = bill["dependencies"].as_array().expect("a list");
    assert_eq!(edges.len(), references.len());
    for edge in edges {
        let needs = edge["dependsOn"].as_array().expect("a list").iter().chain([&edge["ref"]]);
        assert!(
            needs.map(|one| one.as_str().expect("a reference")).all(|one| references.contains(one)),
            "{edge}"
        );
    }
}

/// Of the same sources.
#[test]
fn it_is_the_same_bill_each_time() {
    let make = || passes("scripts/sbom", &["slidegate-cli"]);
    let bill = make();
    check(&bill);
    assert_eq!(make(), bill);
}

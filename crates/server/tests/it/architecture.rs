//! Walls: which module of the server may use which, and which crate may depend on which.
//!
//! The modules are read from the `use` lines and paths of the sources, the crates from `cargo
//! metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Rooms of the server. Each may use those before it.
const ROOMS: [&str; 8] =
    ["config", "http_client", "telemetry", "net", "runtime", "protocols", "admin", "server"];

/// Modules of the protocols, and what each may use besides itself and what all protocols share.
const PROTOCOLS: [(&str, &[&str]); 5] =
    [("http", &[]), ("rls", &[]), ("rest", &["http", "rls"]), ("grpc", &["rls"]), ("resp", &[])];

/// Crates, and what each may depend on. A crate that is not here may not be in the workspace.
const CRATES: [(&str, &[&str]); 15] = [
    ("slidegate-core", &[]),
    ("slidegate-store", &["slidegate-core"]),
    ("slidegate-store-redis", &["slidegate-core", "slidegate-store"]),
    ("slidegate-policy", &["slidegate-core", "slidegate-store"]),
    ("slidegate", &["slidegate-core", "slidegate-store", "slidegate-store-redis", "slidegate-policy"]),
    ("slidegate-client", &[]),
    ("slidegate-server", &["slidegate"]),
    ("slidegate-tune", &["slidegate", "slidegate-client", "slidegate-core"]),
    ("slidegate-cli", &["slidegate", "slidegate-server", "slidegate-tune"]),
    ("slidegate-bench", &["slidegate", "slidegate-store", "slidegate-server", "slidegate-tune"]),
    ("slidegate-testkit", &["slidegate-core", "slidegate-store", "slidegate"]),
    ("example-axum-tiers", &["slidegate"]),
    ("example-llm-proxy", &["slidegate"]),
    ("example-redis-gateway", &["slidegate"]),
    ("example-tonic-service", &["slidegate"]),
];

/// Crate that only tests may depend on.
const TESTKIT: &str = "slidegate-testkit";

/// Use of a module by another, both by their path within the crate.
type Arrow = (Vec<String>, Vec<String>);

#[test]
fn rooms_use_only_the_rooms_before_them() {
    let wrong: Vec<String> = arrows().iter().filter(|arrow| !is_allowed(arrow)).map(render).collect();
    assert!(wrong.is_empty(), "uses against the arrows:\n{}", wrong.join("\n"));
}

#[test]
fn no_two_modules_use_each_other() {
    let arrows = arrows();
    let modules = modules();
    let file = |path: &[String]| {
        (1..=path.len()).rev().map(|length| path[..length].to_vec()).find(|path| modules.contains_key(path))
    };
    let files: BTreeSet<Arrow> =
        arrows.iter().filter_map(|(from, to)| Some((file(from)?, file(to)?))).collect();
    // A module and those in it are one unit.
    let is_within = |one: &[String], other: &[String]| one.starts_with(other) || other.starts_with(one);
    let mutual = files.iter().filter(|(from, to)| from < to && !is_within(from, to));
    let mutual = mutual.filter(|(from, to)| files.contains(&(to.clone(), from.clone())));
    let mutual: Vec<String> = mutual.map(render).collect();
    assert!(mutual.is_empty(), "modules that use each other:\n{}", mutual.join("\n"));
}

/// The test sees what it has to see.
#[test]
fn uses_against_the_arrows_are_found() {
    let rows: [(&[&str], &str, bool); 11] = [
        (&["net", "accept"], "use super::connections::{Order, Phase};", true),
        (&["net", "accept"], "use crate::telemetry::log_throttle::LogThrottle;", true),
        (&["net", "accept"], "use crate::protocols::http;", false),
        (&["telemetry", "otlp"], "use crate::{config::pem, net::tls};", false),
        (&["runtime"], "    let page = crate::admin::metrics::page();", false),
        (&["config"], "use super::telemetry::audit;", false),
        (&["protocols", "http", "body"], "use crate::protocols::rls::proto;", false),
        (&["protocols", "rls", "service"], "use super::super::http::body;", false),
        (&["protocols", "rest", "routes"], "use crate::protocols::{auth, rls};", true),
        (&["protocols", "problem"], "use super::grpc::status;", false),
        (&["protocols", "grpc", "call"], "use crate::protocols::rls::service;", true),
    ];
    for (module, line, expected) in rows {
        let module: Vec<String> = module.iter().map(|&name| name.to_owned()).collect();
        let found = paths(&module, line).into_iter().map(|to| (module.clone(), to)).collect::<Vec<_>>();
        assert!(!found.is_empty(), "{line}");
        assert_eq!(found.iter().all(is_allowed), expected, "{line}");
    }
}

#[test]
fn crates_depend_only_on_those_below_them() {
    let allowed: BTreeMap<&str, &[&str]> = CRATES.into_iter().collect();
    let mut wrong = Vec::new();
    for package in workspace() {
        let name = package["name"].as_str().expect("a name");
        let Some(allowed) = allowed.get(name) else {
            wrong.push(format!("{name} is not in the table"));
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("a list") {
            let of = dependency["name"].as_str().expect("a name");
            let is_for_tests = dependency["kind"] == "dev";
            if of.starts_with("slidegate") && !is_for_tests && (!allowed.contains(&of) || of == TESTKIT) {
                wrong.push(format!("{name} depends on {of}"));
            }
        }
    }
    assert!(wrong.is_empty(), "dependencies against the arrows:\n{}", wrong.join("\n"));
}

/// Whether a module may use another.
fn is_allowed((from, to): &Arrow) -> bool {
    let [Some(from_room), Some(to_room)] = [from, to].map(|path| path.first().and_then(|name| rank(name)))
    else {
        // The root of the crate and macros.
        return true;
    };
    if from_room != to_room {
        return to_room < from_room;
    }
    if ROOMS[from_room] != "protocols" {
        return true;
    }
    match (protocol(from), protocol(to)) {
        (Some(from), Some(to)) => from.0 == to.0 || from.1.contains(&to.0),
        // What all protocols share uses none of them; the health checks are HTTP responses of their
        // own.
        (None, Some(_)) => from.len() == 1,
        (_, None) => true,
    }
}

fn rank(room: &str) -> Option<usize> {
    ROOMS.iter().position(|other| *other == room)
}

fn protocol(path: &[String]) -> Option<(&'static str, &'static [&'static str])> {
    PROTOCOLS.into_iter().find(|(name, _)| path.get(1).is_some_and(|module| module == name))
}

fn render((from, to): &Arrow) -> String {
    format!("  {} uses {}", from.join("::"), to.join("::"))
}

/// Every use of a module by another.
fn arrows() -> BTreeSet<Arrow> {
    let mut arrows = BTreeSet::new();
    for (module, file) in modules() {
        let source = fs::read_to_string(&file).expect("a source");
        // Tests may use anything.
        let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let source = source.split("#[cfg(test)]\npub(crate) mod tests").next().unwrap_or_default();
        arrows.extend(paths(&module, source).into_iter().map(|to| (module.clone(), to)));
    }
    assert!(arrows.len() > 500, "only {} uses were found", arrows.len());
    arrows
}

/// Modules of the server and their files, without tests.
fn modules() -> BTreeMap<Vec<String>, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).expect("a source").with_extension("");
                let names: Vec<String> =
                    relative.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                if names != ["lib"] && names.last().is_some_and(|name| name != "tests") {
                    modules.insert(names, path);
                }
            }
        }
    }
    modules
}

/// Absolute paths that a source names by `crate::` or `super::`.
fn paths(module: &[String], source: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let code: String =
        source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let mut base = Vec::new();
            if start == "super::" {
                base = module[..module.len().saturating_sub(1)].to_vec();
            }
            read_tree(&mut found, base, &code[at + start.len()..]);
        }
    }
    found
}

/// Reads `a::b`, `a::{b, c::d}` and further `super::`s, up to the end of the path. What follows it.
fn read_tree<'s>(found: &mut Vec<Vec<String>>, mut path: Vec<String>, mut rest: &'s str) -> &'s str {
    loop {
        rest = rest.trim_start();
        if let Some(list) = rest.strip_prefix('{') {
            let mut rest = list;
            loop {
                rest = rest.trim_start();
                if let Some(after) = rest.strip_prefix('}') {
                    return after;
                }
                if rest.is_empty() {
                    return rest;
                }
                rest = match rest.strip_prefix(',') {
                    Some(after) => after,
                    None => read_tree(found, path.clone(), rest),
                };
            }
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        match name {
            "super" => drop(path.pop()),
            "self" | "" => {}
            name => path.push(name.to_owned()),
        }
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(after) => rest = after,
            None => {
                found.push(path);
                let rename = rest.trim_start().strip_prefix("as ");
                // A glob, or a new name, ends the path as well.
                return match (rest.strip_prefix('*'), rename) {
                    (Some(after), _) => after,
                    (None, Some(renamed)) => {
                        renamed.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                    }
                    (None, None) => rest,
                };
            }
        }
    }
}

/// Packages of the workspace, as `cargo metadata` has them.
fn workspace() -> Vec<Value> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

//! Lines of every format, and what is read from them: `golden/*.log` and `golden/*.expected`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use slidegate_tune::access_log::{AccessLogFormat, AccessLogs, AttributeField, CombinedServer, ReadOptions};

use super::{file, needed, read};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/access_log/golden")
}

/// What is read of a file, in the order of its lines: the facts, a line per request, the lines that are not read.
fn render(path: &Path, options: &ReadOptions) -> String {
    let logs = AccessLogs::open(options).unwrap_or_else(|error| panic!("{error}"));
    let facts: Vec<_> = logs.files().map(|(_, facts)| facts.cloned()).collect();
    let facts = facts[0].as_ref().unwrap_or_else(|| panic!("{}: no format", path.display()));
    let mut text = format!("{facts}\n");
    let (mut visited, report) = read(options);
    visited.sort_by_key(|request| request.line);
    for request in visited {
        write!(text, "{}: start {}", request.line, request.start_ms).expect("a string");
        for (name, value) in [("duration", request.duration_ms), ("status", request.status.map(u64::from))] {
            if let Some(value) = value {
                write!(text, " {name} {value}").expect("a string");
            }
        }
        for (name, value) in request.attributes {
            write!(text, " {name}=`{value}`").expect("a string");
        }
        text.push('\n');
    }
    for unreadable in &report.files[0].unreadable_lines {
        writeln!(text, "{}: {}", unreadable.line, unreadable.reason).expect("a string");
    }
    text
}

/// Options of a golden file, which its name says.
fn options(path: &Path) -> ReadOptions {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut options = ReadOptions {
        inputs: vec![file(path)],
        needed: needed(&["method", "path", "host", "ip", "user", "agent", "api_key"]),
        ..ReadOptions::default()
    };
    let (user, agent, api_key) = match name.as_str() {
        "caddy" => ("user_id", "request.headers.User-Agent", "request.headers.X-Api-Key"),
        "traefik_json" => ("ClientUsername", "request_User-Agent", "request_X-Api-Key"),
        "json_lines" => ("user", "agent", "key"),
        "csv" => ("user", "user agent", "key"),
        _ => ("remote_user", "user_agent", "api_key"),
    };
    for (attribute, field) in [("user", user), ("agent", agent), ("api_key", api_key)] {
        options.attributes.push(AttributeField { attribute: attribute.to_owned(), field: field.to_owned() });
    }
    if name == "apache" {
        options.combined_server = Some(CombinedServer::Apache);
    }
    options.trusted_proxies = vec!["10.0.0.0/8".parse().expect("a network")];
    options
}

#[test]
fn every_format_is_read() {
    let mut formats = Vec::new();
    for entry in fs::read_dir(folder()).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let options = options(&path);
        let found = render(&path, &options);
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, &found).expect("a file");
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{}: UPDATE=1 rewrites what is expected", path.display());
        let logs = AccessLogs::open(&options).expect("a log");
        formats.extend(logs.files().filter_map(|(_, facts)| Some(facts?.format)));
    }
    for format in AccessLogFormat::all() {
        assert!(formats.contains(&format), "no golden lines of {format}");
    }
}

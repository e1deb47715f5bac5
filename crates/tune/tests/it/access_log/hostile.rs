//! Lines that nobody should write: none stops a run, and none takes a good line with it.
//!
//! `SLIDEGATE_LOG_LINES` sets the number of lines, over all formats.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use slidegate_testkit::cases::{self, Rng};
use slidegate_tune::access_log::{AccessLogFormat, CombinedServer, ReadOptions};
use tempfile::TempDir;

use super::{file, needed, read};

const LINES: u64 = 24_000;

/// One in so many lines is left as it is.
const GOOD_ONE_IN: u64 = 8;

/// One in so many is longer than a megabyte.
const LONG_ONE_IN: u64 = 20_000;

/// A good line of a format; of CSV, its header too.
struct Pattern {
    format: AccessLogFormat,
    header: Vec<u8>,
    line: Vec<u8>,
}

fn patterns() -> Vec<Pattern> {
    let names = [
        (AccessLogFormat::NginxCombined, "nginx"),
        (AccessLogFormat::ApacheCombined, "apache"),
        (AccessLogFormat::NginxTimed, "nginx_timed"),
        (AccessLogFormat::ApacheTimed, "apache_timed"),
        (AccessLogFormat::TraefikCommon, "traefik"),
        (AccessLogFormat::TraefikJson, "traefik_json"),
        (AccessLogFormat::Envoy, "envoy"),
        (AccessLogFormat::Haproxy, "haproxy"),
        (AccessLogFormat::CaddyJson, "caddy"),
        (AccessLogFormat::AwsAlb, "alb"),
        (AccessLogFormat::Csv, "csv"),
        (AccessLogFormat::JsonLines, "json_lines"),
    ];
    assert_eq!(names.len(), AccessLogFormat::all().count());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/access_log/golden");
    let pattern = |(format, name): (AccessLogFormat, &str)| {
        let golden = fs::read(folder.join(name).with_extension("log")).expect("golden lines");
        let mut lines = golden.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        let mut next = || lines.next().expect("a line");
        let header =
            if format == AccessLogFormat::Csv { [next(), b"\n".to_vec()].concat() } else { Vec::new() };
        Pattern { format, header, line: next() }
    };
    names.map(pattern).into()
}

/// Spoils a line in one of many ways. It stays one line.
fn spoil(line: &mut Vec<u8>, rng: &Rng) {
    let place = |line: &[u8]| rng.below(line.len() as u64 + 1) as usize;
    for _ in 0..rng.between(1, 4) {
        let (from, to) = (place(line), place(line));
        let (from, to) = (from.min(to), from.max(to));
        match rng.below(7) {
            0 => drop(line.drain(from..to)),
            1 => line.truncate(from),
            2 => line[from..to].fill(rng.next() as u8),
            3 | 4 => drop(line.splice(from..from, [rng.pick(b"\"\\\0\xff\r[] {}:,-")])),
            5 => {
                let part = line[from..to].to_vec();
                drop(line.splice(from..from, part));
            }
            _ => line.iter_mut().skip(from).take(8).for_each(|byte| *byte = rng.next() as u8),
        }
        line.truncate(4096);
    }
    if rng.one_in(LONG_ONE_IN) {
        line.resize((1 << 20) + rng.below(1 << 20) as usize + 1, b'a');
    }
    line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
}

#[test]
fn no_line_stops_a_run() {
    let lines = cases::number("SLIDEGATE_LOG_LINES").unwrap_or(LINES) / 12;
    let rng = Rng::new(cases::number("SLIDEGATE_SEED").unwrap_or(7));
    let folder = TempDir::new().expect("a folder");
    for Pattern { format, header, line: pattern } in patterns() {
        let mut log = header.clone();
        let first = if header.is_empty() { 1 } else { 2 };
        let mut good = Vec::new();
        for number in first..first + lines {
            let mut line = pattern.clone();
            if rng.one_in(GOOD_ONE_IN) {
                good.push(number);
            } else {
                spoil(&mut line, &rng);
            }
            log.extend_from_slice(&line);
            log.extend_from_slice(if rng.one_in(3) { b"\r\n" } else { b"\n" });
        }
        let path = folder.path().join(format.name());
        let options = ReadOptions {
            inputs: vec![file(&path)],
            format: Some(format),
            combined_server: Some(CombinedServer::Apache),
            needed: needed(&["method", "path", "host", "ip", "user_agent", "api_key"]),
            trusted_proxies: vec!["0.0.0.0/0".parse().expect("a network")],
            ..ReadOptions::default()
        };
        fs::write(&path, &log).expect("a file");
        let (visited, report) = read(&options);
        assert_eq!(report.lines(), lines + first - 1, "{format}");
        assert_eq!(report.requests + report.unreadable(), lines, "{format}");
        let mut numbers: Vec<u64> = visited.iter().map(|request| request.line).collect();
        numbers.sort_unstable();
        let lost = good.iter().find(|number| numbers.binary_search(number).is_err());
        assert_eq!(lost, None, "{format}: a good line was lost");
        assert!(report.unreadable() > lines / 10, "{format}: only {} unreadable", report.unreadable());

        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&log).expect("memory");
        let compressed = encoder.finish().expect("memory");
        let cut = rng.below(compressed.len() as u64) as usize;
        fs::write(&path, &compressed[..cut]).expect("a file");
        let (torn, report) = read(&options);
        assert!(torn.len() <= visited.len(), "{format}");
        assert!(cut < 2 || report.unreadable() > 0, "{format}");
    }
}

/// Every prefix and every single spoilt byte of the good lines.
#[test]
fn every_cut_of_a_line_is_read() {
    let folder = TempDir::new().expect("a folder");
    for Pattern { format, header, line } in patterns() {
        // The first lines say which fields JSON has.
        let mut log = [&header[..], &line, b"\n"].concat();
        for end in 0..line.len() {
            log.extend_from_slice(&line[..end]);
            log.push(b'\n');
            let mut spoilt = line.clone();
            spoilt[end] = b'"';
            log.extend_from_slice(&spoilt);
            log.push(b'\n');
            spoilt[end] = 0;
            log.extend_from_slice(&spoilt);
            log.push(b'\n');
        }
        let path = folder.path().join(format.name());
        fs::write(&path, &log).expect("a file");
        let inputs = vec![file(&path)];
        let needed = needed(&["method", "path", "host", "ip", "user_agent", "api_key"]);
        let (_, report) =
            read(&ReadOptions { inputs, format: Some(format), needed, ..ReadOptions::default() });
        assert_eq!(report.requests + report.unreadable(), 3 * line.len() as u64 + 1, "{format}");
    }
}

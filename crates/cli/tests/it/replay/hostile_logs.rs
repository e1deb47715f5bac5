//! Logs that nobody should write, read by the commands: none makes them panic, and no line stops
//! the rest.
//!
//! Every log has a format of its own, which is detected or named, lines that are spoilt in many ways,
//! and a form: plain, gzip or zstd, whole, torn or damaged. `SLIDEGATE_COMMAND_LINES` sets the number
//! of lines of all logs.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use slidegate_testkit::cases::{Rng, number};
use slidegate_testkit::program::{Ended, command, file, path};
use tempfile::TempDir;

/// Lines of all logs, in the tests.
const LINES: u64 = 24_000;
/// Most lines of a log.
const LOG_LINES: u64 = 1_000;
/// Lines by which a format is detected.
const HEAD_LINES: u64 = 50;
/// One in so many lines is left as it is.
const GOOD_ONE_IN: u64 = 6;
/// One in so many is longer than a megabyte.
const LONG_ONE_IN: u64 = 8_000;
/// Formats whose first lines say which fields they have.
const NAMED_FIELDS: [&str; 4] = ["caddy", "csv", "json", "traefik-json"];
const POLICY: &str = "
version: 1
rules:
  - { name: login, match: { method: POST, path: /login }, key: [\"ip|path\"], limits: [3/min] }
  - { name: all, key: [\"ip|path\"], limits: [5/s, { quota: 100, window: 1min, algorithm: counter }], mode: observe }
";

/// Good line of a format; of CSV, its header too.
struct Pattern {
    /// Name of the format.
    name: &'static str,
    /// How a report names it when it is detected.
    read_as: &'static str,
    header: Option<Vec<u8>>,
    line: Vec<u8>,
}

/// Log with what has to be read of it.
struct HostileLog {
    bytes: Vec<u8>,
    lines: u64,
    has_header: bool,
    /// Whether the first lines are good, so that the format is detected.
    has_good_head: bool,
    /// Numbers of the lines that are as the format has them.
    good: Vec<u64>,
}

/// Form of a log in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FileForm {
    Whole,
    /// It ends early.
    Torn,
    /// Some of its bytes are others.
    Damaged,
}

fn patterns() -> Vec<Pattern> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tune/tests/it/access_log/golden");
    let formats = [
        ("nginx", "nginx", "nginx combined:"),
        ("nginx-timed", "nginx_timed", "nginx combined with"),
        ("apache-timed", "apache_timed", "Apache combined with"),
        ("traefik", "traefik", "Traefik CLF:"),
        ("traefik-json", "traefik_json", "Traefik JSON:"),
        ("envoy", "envoy", "Envoy default:"),
        ("haproxy", "haproxy", "HAProxy httplog:"),
        ("caddy", "caddy", "Caddy JSON:"),
        ("alb", "alb", "AWS ALB:"),
        ("csv", "csv", "CSV:"),
        ("json", "json_lines", "JSON lines:"),
    ];
    let pattern = |(name, golden, read_as): (&'static str, &str, &'static str)| {
        let golden = fs::read(folder.join(golden).with_extension("log")).expect("golden lines");
        let mut lines = golden.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        let mut next = || lines.next().expect("a line");
        Pattern { name, read_as, header: (name == "csv").then(&mut next), line: next() }
    };
    formats.map(pattern).into()
}

/// Spoils a line. It stays one line.
fn spoil(line: &mut Vec<u8>, rng: &Rng) {
    let place = |line: &[u8]| rng.below(line.len() as u64 + 1) as usize;
    for _ in 0..rng.between(1, 4) {
        let (one, other) = (place(line), place(line));
        let (from, to) = (one.min(other), one.max(other));
        match rng.below(8) {
            0 => drop(line.drain(from..to)),
            1 => line.truncate(from),
            2 => line[from..to].fill(rng.pick(b"\0\xff\xc3\x80\"\\0-9 ")),
            3 => drop(line.splice(from..from, *b"\xed\xa0\x80\xf5\0")),
            4 => drop(line.splice(from..from, [rng.pick(b"\"\\\0\xff\r[]{}:,- ")])),
            5 => {
                let part = line[from..to].to_vec();
                drop(line.splice(from..from, part));
            }
            6 => line.iter_mut().skip(from).take(8).for_each(|byte| *byte = rng.next() as u8),
            _ => drop(line.splice(from..to, rng.next().to_string().into_bytes())),
        }
        line.truncate(4_096);
    }
    if rng.one_in(LONG_ONE_IN) {
        line.resize((1 << 20) + rng.below(1 << 20) as usize, b'a');
    }
    line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
}

impl HostileLog {
    /// Log of so many lines, the header included.
    fn new(pattern: &Pattern, lines: u64, rng: &Rng) -> Self {
        let has_good_head = !rng.one_in(4);
        let mut log = Self {
            bytes: Vec::new(),
            lines,
            has_header: pattern.header.is_some(),
            has_good_head,
            good: Vec::new(),
        };
        for number in 1..=lines {
            let is_header = number == 1 && log.has_header;
            let mut line = pattern.header.as_ref().filter(|_| is_header).unwrap_or(&pattern.line).clone();
            if has_good_head && number <= HEAD_LINES || rng.one_in(GOOD_ONE_IN) {
                log.good.extend((!is_header).then_some(number));
            } else {
                spoil(&mut line, rng);
            }
            log.bytes.extend_from_slice(&line);
            log.bytes.extend_from_slice(if rng.one_in(3) { b"\r\n" } else { b"\n" });
        }
        log
    }

    /// The bytes of a file with the log.
    fn file(&self, form: FileForm, rng: &Rng) -> Vec<u8> {
        let mut bytes = match rng.below(if form == FileForm::Whole { 3 } else { 2 }) {
            0 => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&self.bytes).expect("memory");
                encoder.finish().expect("memory")
            }
            1 => zstd::encode_all(&*self.bytes, 1).expect("memory"),
            _ => self.bytes.clone(),
        };
        let at = rng.below(bytes.len() as u64) as usize;
        match form {
            FileForm::Whole => {}
            FileForm::Torn => bytes.truncate(at),
            FileForm::Damaged => bytes.iter_mut().skip(at).take(40).for_each(|byte| *byte = rng.next() as u8),
        }
        bytes
    }
}

/// Runs a command over a log, as a file or by standard input.
fn run(name: &str, log: &Path, arguments: &[&str], rng: &Rng) -> Ended {
    let is_piped = rng.one_in(3);
    let input = if is_piped { "-" } else { log.to_str().expect("a path") };
    let mut command = command(&[&[name, input, "--json"], arguments].concat());
    if is_piped {
        command.stdin(fs::File::open(log).expect("a log"));
    }
    let ended: Ended =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it starts").into();
    let is_refused = ended.code == Some(2)
        && ["unknown format", "no time in", "which no field of", "no line of"]
            .iter()
            .any(|why| ended.stderr.contains(why));
    assert!(ended.code == Some(0) || is_refused, "{arguments:?}: {ended:?}");
    ended
}

#[test]
fn no_log_makes_a_command_panic_and_no_line_stops_it() {
    let rng = Rng::new(number("SLIDEGATE_SEED").unwrap_or(11));
    let (folder, policy, patterns) = (TempDir::new().expect("a folder"), file(POLICY), patterns());
    let [log_path, verdicts] = ["access.log", "verdicts.csv"].map(|name| folder.path().join(name));
    let verdicts_path = verdicts.to_str().expect("a path");
    let mut left = number("SLIDEGATE_COMMAND_LINES").unwrap_or(LINES);
    let (mut logs, mut refused, mut unreadable, mut damaged) = (0_u64, 0_u64, 0_u64, 0_u64);
    while left > 0 {
        let pattern = &patterns[logs as usize % patterns.len()];
        let log = HostileLog::new(pattern, rng.between(1, LOG_LINES).min(left), &rng);
        left -= log.lines;
        logs += 1;
        let form = rng.pick(&[FileForm::Whole, FileForm::Whole, FileForm::Torn, FileForm::Damaged]);
        fs::write(&log_path, log.file(form, &rng)).expect("a file");
        let named = ["--format", pattern.name];
        let mut arguments = if rng.one_in(4) { named.to_vec() } else { Vec::new() };
        arguments.extend(["--reorder", rng.pick(&["0s", "1s", "60s"])]);
        if rng.one_in(2) {
            arguments.extend(["--trusted-proxies", "0.0.0.0/0"]);
        }
        if rng.one_in(4) {
            let ended = run("suggest", &log_path, &arguments, &rng);
            assert!(ended.code == Some(0) || !log.has_good_head || form != FileForm::Whole, "{ended:?}");
        }
        arguments.extend(["--policy", path(&policy), "--verdicts", verdicts_path]);
        let ended = run("replay", &log_path, &arguments, &rng);
        if ended.code != Some(0) {
            // What is left of a compressed file may be too little to know that it is one.
            assert!(!log.has_good_head || form != FileForm::Whole, "{}: {ended:?}", pattern.name);
            refused += 1;
            continue;
        }
        let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let [lines, bad] =
            ["lines", "unreadable"].map(|name| report["read"][name].as_u64().expect("a number"));
        unreadable += bad;
        if form != FileForm::Whole {
            // A cut within the last frame may leave all of it, or nothing at all.
            damaged += u64::from(bad > 0);
            continue;
        }
        assert_eq!(lines, log.lines, "{}", pattern.name);
        let requests = &report["requests"];
        let decided = ["decided", "invalid"].map(|name| requests[name].as_u64().expect("a number"));
        let read_as = report["read"]["files"][0]["read_as"].as_str().expect("a format");
        let header = u64::from(read_as.starts_with("CSV"));
        assert_eq!(decided.iter().sum::<u64>() + bad + header, lines, "{read_as}");
        let has_fields = log.has_good_head || !NAMED_FIELDS.contains(&pattern.name);
        if read_as.starts_with(pattern.read_as) && has_fields {
            let text = fs::read_to_string(&verdicts).expect("verdicts");
            let found: HashSet<u64> =
                text.lines().filter_map(|line| line.split(',').nth(1)?.parse().ok()).collect();
            let lost = log.good.iter().find(|number| !found.contains(number));
            assert_eq!(lost, None, "{read_as}: a good line was lost");
        } else {
            assert!(!log.has_good_head, "{} was read as {read_as}", pattern.name);
        }
    }
    assert!(unreadable > 0 && damaged > 0 && refused < logs / 2, "{refused} of {logs} refused");
    println!("{logs} logs: {unreadable} lines unreadable, {damaged} logs torn or damaged, {refused} refused");
}

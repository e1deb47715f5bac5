//! Order of requests, against a naive oracle: a heap, and whole seconds spread over their lines.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::time::Duration;

use slidegate_testkit::cases::{self, Rng};
use slidegate_tune::access_log::{AccessLogFormat, ReadOptions};
use tempfile::TempDir;

use super::{file, read};

/// 15 November 2025, 09:46.
const BEGIN_MS: u64 = 1_763_199_960_000;

#[derive(Clone, Debug)]
struct Setting {
    format: AccessLogFormat,
    files: usize,
    reorder_ms: u64,
    max_lines: usize,
}

#[derive(Clone, Copy, Debug)]
struct LineStep {
    file: usize,
    /// Stamp, before it is cut to the second.
    stamp_ms: u64,
    duration_ms: u64,
}

/// Start, file, line and whether it is late.
type Visit = (u64, usize, u64, bool);

fn generate(rng: &Rng) -> (Setting, Vec<LineStep>) {
    let formats = [AccessLogFormat::NginxTimed, AccessLogFormat::JsonLines, AccessLogFormat::Csv];
    let setting = Setting {
        format: rng.pick(&formats),
        files: rng.between(1, 3) as usize,
        reorder_ms: rng.pick(&[0, 1, 100, 1000, 5000, 60_000]),
        max_lines: rng.pick(&[1, 5, 1000]),
    };
    let (pace_ms, jitter_ms) = (rng.magnitude(20_000), rng.magnitude(10_000));
    let mut now_ms = BEGIN_MS;
    let step = |_| {
        now_ms += rng.below(pace_ms);
        if rng.one_in(20) {
            now_ms += rng.below(200_000);
        }
        LineStep {
            file: rng.below(setting.files as u64) as usize,
            stamp_ms: now_ms + rng.below(jitter_ms),
            duration_ms: rng.below(jitter_ms),
        }
    };
    let steps = (0..rng.magnitude(200)).map(step).collect();
    (setting, steps)
}

impl Setting {
    fn is_whole_second(&self) -> bool {
        self.format != AccessLogFormat::NginxTimed
    }

    fn write(&self, text: &mut String, line: &LineStep) {
        let LineStep { stamp_ms, duration_ms, .. } = *line;
        let (second, ms) = (stamp_ms / 1000, stamp_ms % 1000);
        let written = match self.format {
            AccessLogFormat::NginxTimed => writeln!(
                text,
                "192.0.2.1 - - [15/Nov/2025:09:46:00 +0000] \"GET / HTTP/1.1\" 200 0 \"-\" \"-\" {second}.{ms:03} {}.{:03}",
                duration_ms / 1000,
                duration_ms % 1000
            ),
            // Ends in whole seconds, with a duration.
            AccessLogFormat::JsonLines => {
                writeln!(text, "{{\"end\":{second},\"duration_ms\":{duration_ms}}}")
            }
            // Starts in whole seconds.
            _ => writeln!(text, "{second},{duration_ms}"),
        };
        written.expect("a string");
    }

    /// Second and start of a line, as they are in the log.
    fn times(&self, line: &LineStep) -> (u64, u64) {
        let second = line.stamp_ms / 1000;
        match self.format {
            AccessLogFormat::NginxTimed => (second, line.stamp_ms - line.duration_ms),
            AccessLogFormat::JsonLines => (second, second * 1000 - line.duration_ms),
            _ => (second, second * 1000),
        }
    }
}

/// Line that waits: its file, its number, its second, how many lines of it came before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OracleLine {
    file: usize,
    line: u64,
    second: u64,
    nth: Option<u64>,
}

#[derive(Default)]
struct Oracle {
    waiting: BTreeMap<u64, Vec<OracleLine>>,
    counts: BTreeMap<(usize, u64), u64>,
    base_ms: u64,
    reached_ms: u64,
    visits: Vec<Visit>,
}

impl Oracle {
    fn share_ms(&mut self, line: &mut OracleLine) -> u64 {
        line.nth.take().map_or(0, |nth| 1000 * nth / self.counts[&(line.file, line.second)])
    }

    fn visit(&mut self, line: &OracleLine, start_ms: u64) {
        let is_late = start_ms < self.reached_ms;
        self.reached_ms = self.reached_ms.max(start_ms);
        self.visits.push((self.reached_ms, line.file, line.line, is_late));
    }

    /// Releases the earliest millisecond, if it is before a time.
    fn release(&mut self, until_ms: u64) -> bool {
        let Some((&ms, _)) = self.waiting.first_key_value().filter(|(ms, _)| **ms < until_ms) else {
            return false;
        };
        self.base_ms = self.base_ms.max(ms);
        let mut lines = self.waiting.remove(&ms).expect("the first");
        lines.sort_by_key(|line| (line.file, line.line));
        for mut line in lines {
            match self.share_ms(&mut line) {
                0 => self.visit(&line, ms),
                share_ms => self.waiting.entry(ms + share_ms).or_default().push(line),
            }
        }
        true
    }
}

fn oracle(setting: &Setting, steps: &[LineStep]) -> Vec<Visit> {
    let mut reorder_ms = setting.reorder_ms;
    if setting.is_whole_second() {
        reorder_ms = reorder_ms.max(1000);
    }
    let mut files: Vec<Vec<LineStep>> = vec![Vec::new(); setting.files];
    for step in steps {
        files[step.file].push(*step);
    }
    let mut oracle = Oracle::default();
    let mut next = vec![0; setting.files];
    let mut reached_ms = vec![0; setting.files];
    loop {
        let ahead = (0..setting.files).filter(|&file| next[file] < files[file].len());
        let key = |file: usize| setting.times(&files[file][next[file]]).1.max(reached_ms[file]);
        let Some(file) = ahead.min_by_key(|&file| (key(file), file)) else { break };
        reached_ms[file] = key(file);
        let (second, mut start_ms) = setting.times(&files[file][next[file]]);
        next[file] += 1;
        let until_ms = reached_ms[file] - reorder_ms;
        while oracle.release(until_ms) {}
        oracle.base_ms = oracle.base_ms.max(until_ms);
        let header = u64::from(setting.format == AccessLogFormat::Csv);
        let mut line = OracleLine { file, line: next[file] as u64 + header, second, nth: None };
        if setting.is_whole_second() {
            let count = oracle.counts.entry((file, second)).or_default();
            line.nth = Some(*count);
            *count += 1;
        }
        if start_ms < oracle.base_ms {
            start_ms += oracle.share_ms(&mut line);
            if start_ms < oracle.base_ms {
                oracle.visit(&line, start_ms);
                continue;
            }
        }
        oracle.waiting.entry(start_ms).or_default().push(line);
        while oracle.waiting.values().map(Vec::len).sum::<usize>() > setting.max_lines {
            oracle.release(u64::MAX);
        }
    }
    while oracle.release(u64::MAX) {}
    oracle.visits
}

#[test]
fn requests_are_ordered_as_by_a_naive_oracle() {
    let folder = TempDir::new().expect("a folder");
    cases::prove_part(20, generate, |setting, steps| {
        let mut texts = vec![String::new(); setting.files];
        if setting.format == AccessLogFormat::Csv {
            texts.fill("start,duration_ms\n".to_owned());
        }
        for step in steps {
            setting.write(&mut texts[step.file], step);
        }
        let paths: Vec<_> = (0..setting.files).map(|file| folder.path().join(file.to_string())).collect();
        for (path, text) in paths.iter().zip(&texts) {
            fs::write(path, text).expect("a file");
        }
        let options = ReadOptions {
            inputs: paths.iter().map(|path| file(path)).collect(),
            format: Some(setting.format),
            reorder: Duration::from_millis(setting.reorder_ms),
            max_reordered_lines: setting.max_lines,
            ..ReadOptions::default()
        };
        let (visited, report) = read(&options);
        let visited = visited.iter();
        let visits: Vec<Visit> =
            visited.map(|visit| (visit.start_ms, visit.file, visit.line, visit.is_late)).collect();
        let expected = oracle(setting, steps);
        slidegate_testkit::ensure!(visits == expected, "got {visits:?}\nexpected {expected:?}");
        let late = expected.iter().filter(|visit| visit.3).count() as u64;
        slidegate_testkit::ensure!(
            report.late.count == late,
            "late: {} instead of {late}",
            report.late.count
        );
        Ok(())
    });
}

/// Lines of nginx with these seconds after the minute.
fn nginx(seconds: &[u64]) -> String {
    let line = |second: &u64| {
        format!(
            "192.0.2.1 - - [15/Nov/2025:09:{:02}:{:02} +0000] \"GET / HTTP/1.1\" 200 0 \"-\" \"-\"\n",
            46 + second / 60,
            second % 60
        )
    };
    seconds.iter().map(line).collect()
}

#[test]
fn the_lines_of_a_second_are_spread_over_it() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("log");
    // The last line of second 1 comes after one of second 2.
    fs::write(&path, nginx(&[0, 1, 1, 2, 1, 70])).expect("a file");
    let (visited, report) = read(&ReadOptions { inputs: vec![file(&path)], ..ReadOptions::default() });
    let starts: Vec<_> = visited.iter().map(|visit| (visit.start_ms - BEGIN_MS, visit.line)).collect();
    assert_eq!(starts, [(0, 1), (1000, 2), (1333, 3), (1666, 5), (2000, 4), (70_000, 6)]);
    assert_eq!(
        (report.late.count, report.first_ms, report.last_ms),
        (0, Some(BEGIN_MS), Some(BEGIN_MS + 70_000))
    );
}

#[test]
fn what_comes_later_still_gets_the_time_reached() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("log");
    // When second 100 is read, all before second 40 has left, the latest at 30.
    fs::write(&path, nginx(&[0, 30, 100, 10, 35, 100])).expect("a file");
    let (visited, report) = read(&ReadOptions { inputs: vec![file(&path)], ..ReadOptions::default() });
    let starts: Vec<_> =
        visited.iter().map(|visit| (visit.start_ms - BEGIN_MS, visit.line, visit.is_late)).collect();
    let expected = [
        (0, 1, false),
        (30_000, 2, false),
        (30_000, 4, true),
        (35_000, 5, false),
        (100_000, 3, false),
        (100_500, 6, false),
    ];
    assert_eq!(starts, expected);
    assert_eq!((report.late.count, report.late.most_ms), (1, 20_000));
}

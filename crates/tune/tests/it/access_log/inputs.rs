//! Inputs: compressed, torn, empty, without an end of line, of no known format.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use slidegate_tune::access_log::{
    AccessLogFormat, AccessLogs, LogInput, ReadError, ReadOptions, UnreadableReason,
};
use tempfile::TempDir;

use super::{file, needed, read};

const LINES: usize = 5000;

/// Lines of nginx, ten per second.
fn lines() -> String {
    let line = |n: usize| {
        let (minute, second) = (n / 600 % 60, n / 10 % 60);
        format!(
            "203.0.113.7 - - [15/Nov/2025:09:{minute:02}:{second:02} +0000] \"GET /{n} HTTP/1.1\" 200 612 \"-\" \"-\"\n"
        )
    };
    (0..LINES).map(line).collect()
}

fn write(folder: &TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).expect("a file");
    path
}

fn options(path: &Path) -> ReadOptions {
    ReadOptions { inputs: vec![file(path)], needed: needed(&["path"]), ..ReadOptions::default() }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn compressed_files_are_read_as_plain_ones() {
    let folder = TempDir::new().expect("a folder");
    let lines = lines();
    let (first, second) = lines.split_at(lines.len() / 3);
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).expect("memory");
    let plain = write(&folder, "plain", lines.as_bytes());
    let expected = read(&options(&plain)).0;
    assert_eq!(expected.len(), LINES);
    let files = [
        write(&folder, "gzip", &gzip(lines.as_bytes())),
        // Members and frames, as rotation and parallel compressors write them.
        write(&folder, "members", &[gzip(first.as_bytes()), gzip(second.as_bytes())].concat()),
        write(&folder, "zstd", &zstd(&lines)),
        write(&folder, "frames", &[zstd(first), zstd(second)].concat()),
        write(&folder, "crlf", lines.replace('\n', "\r\n").as_bytes()),
        write(&folder, "without-end", lines.trim_end().as_bytes()),
    ];
    for path in files {
        let (found, report) = read(&options(&path));
        assert_eq!(found, expected, "{}", path.display());
        assert_eq!((report.lines(), report.unreadable()), (LINES as u64, 0), "{}", path.display());
        assert_eq!(report.files[0].bytes, fs::metadata(&path).expect("a file").len());
    }
}

#[test]
fn what_is_before_a_tear_is_read() {
    let folder = TempDir::new().expect("a folder");
    let lines = lines();
    let compressed = [gzip(lines.as_bytes()), zstd::encode_all(lines.as_bytes(), 1).expect("memory")];
    for (index, whole) in compressed.into_iter().enumerate() {
        for cut in [5, 30, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
            let path = write(&folder, &format!("{index}-{cut}"), &whole[..cut]);
            let (found, report) = read(&options(&path));
            let file = &report.files[0];
            assert_eq!(file.unreadable, 1, "{cut} of {}", whole.len());
            let unreadable = file.unreadable_lines[0];
            assert_eq!(unreadable.reason, UnreadableReason::Torn);
            assert_eq!(unreadable.line, found.len() as u64 + 1);
            for (request, line) in found.iter().zip(1..) {
                assert_eq!(request.line, line);
            }
            assert!(cut < whole.len() / 2 || found.len() > LINES / 10, "{cut}: {}", found.len());
        }
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 40].fill(0x55);
        let path = write(&folder, &format!("{index}-damaged"), &damaged);
        let (_, report) = read(&options(&path));
        assert!(report.unreadable() > 0);
    }
}

#[test]
fn empty_files_are_read_among_others() {
    let folder = TempDir::new().expect("a folder");
    let files = ["a", "b", "c"].map(|name| write(&folder, name, if name == "b" { b"" } else { ONE_LINE }));
    let inputs = files.iter().map(|path| file(path)).collect();
    let (found, report) = read(&ReadOptions { inputs, ..ReadOptions::default() });
    assert_eq!(found.iter().map(|request| request.file).collect::<Vec<_>>(), [0, 2]);
    assert!(report.files[1].facts.is_none());
}

const ONE_LINE: &[u8] =
    b"203.0.113.7 - - [15/Nov/2025:09:46:01 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"-\"\n";

#[test]
fn a_line_may_be_as_long_as_a_megabyte() {
    let folder = TempDir::new().expect("a folder");
    let line = |bytes: usize| {
        let (before, after) = (&ONE_LINE[..51], &ONE_LINE[51..]);
        let path = vec![b'a'; bytes + 1 - ONE_LINE.len()];
        [before, &path, after].concat()
    };
    let lines = [line(1 << 20), line((1 << 20) + 1), line(3 << 20), line(100), line(5 << 20), line(1 << 19)];
    let path = write(&folder, "long", &lines.concat());
    let (found, report) = read(&options(&path));
    let found = found.iter().map(|request| (request.line, request.attributes[0].1.len()));
    let path_bytes = |line: usize| line - (ONE_LINE.len() - 1) + 1;
    assert_eq!(
        found.collect::<Vec<_>>(),
        [(1, path_bytes(1 << 20)), (4, path_bytes(100)), (6, path_bytes(1 << 19))]
    );
    let unreadable = &report.files[0].unreadable_lines;
    assert!(unreadable.iter().all(|line| line.reason == UnreadableReason::TooLong));
    assert_eq!(unreadable.iter().map(|line| line.line).collect::<Vec<_>>(), [2, 3, 5]);
    assert_eq!(report.lines(), 6);
}

#[test]
fn errors_say_what_to_do() {
    let folder = TempDir::new().expect("a folder");
    let open = |options: &ReadOptions| match AccessLogs::open(options) {
        Ok(_) => panic!("no error"),
        Err(error) => error.to_string(),
    };
    let missing = folder.path().join("missing");
    assert!(
        open(&options(&missing)).starts_with(&format!("cannot read {}: No such file", missing.display()))
    );
    assert!(open(&options(folder.path())).contains("Is a directory"));
    let prose = write(&folder, "prose", b"It was a dark and stormy night.\n");
    let expected = "its first line is `It was a dark and stormy night.`; name the format with --format, or let the server log as `slidegate replay --formats` shows";
    assert!(open(&options(&prose)).ends_with(expected), "{}", open(&options(&prose)));
    let json = write(&folder, "json", b"{\"path\": \"/\"}\n");
    assert!(open(&options(&json)).ends_with("; name the field with --attribute time=FIELD"));
    assert_eq!(open(&ReadOptions::default()), "no log to read: name a file, or - for standard input");
    let inputs = vec![LogInput::Stdin, LogInput::Stdin];
    let twice = ReadOptions { inputs, ..ReadOptions::default() };
    assert_eq!(open(&twice), "standard input can be read only once");
    assert!(matches!(AccessLogs::open(&options(&prose)), Err(ReadError::UnknownFormat { .. })));
    let as_named = ReadOptions { format: Some(AccessLogFormat::Envoy), ..options(&prose) };
    let (found, report) = read(&as_named);
    assert_eq!((found.len(), report.unreadable()), (0, 1));
}

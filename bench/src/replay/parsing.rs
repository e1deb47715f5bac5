//! Parsing, beside a loop over the line ends of the same bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Scale, cpu, read};
use crate::middle::median;
use crate::report::{Must, Report, grouped};

/// Bytes that are read at a time, as the parser does.
const BLOCK_BYTES: usize = 1 << 17;

/// Measures in turns.
///
/// # Panics
/// If a file cannot be read.
pub fn run(report: &mut Report, log: &Path, scale: Scale) {
    let gzip = compress(log, "gzip").expect("gzip");
    let lines = scale.lines as u64;
    let (mut split_ns, mut plain_ns, mut gzip_ns) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..scale.rounds + 1 {
        let turns = [
            per_line(lines, || split(log).expect("a log")),
            per_line(lines, || read(log)),
            per_line(lines, || read(&gzip)),
        ];
        // The first round fills the caches.
        if round > 0 {
            split_ns.push(turns[0]);
            plain_ns.push(turns[1]);
            gzip_ns.push(turns[2]);
        }
    }
    let ratios = split_ns.iter().zip(&plain_ns).map(|(split, plain)| split / plain);
    let speed = median(ratios.collect());
    report.say(&format!("\nCPU time per line of {} lines, all threads, in ns", grouped(lines)));
    report.row("lines split by memchr", &[format!("{:.1}", median(split_ns))]);
    report.row("read: method, path, ip", &[format!("{:.1}", median(plain_ns))]);
    report.row("read, of gzip", &[format!("{:.1}", median(gzip_ns))]);
    report.bar("parsing: speed beside a memchr loop that only splits lines", speed, Must::AtLeast(0.3));
}

/// CPU time per line in nanoseconds.
fn per_line(lines: u64, turn: impl FnOnce() -> u64) -> f64 {
    let before = cpu();
    assert_eq!(turn(), lines, "all lines");
    let took: Duration = cpu() - before;
    took.as_nanos() as f64 / lines as f64
}

/// Splits a file into lines. Returns their number.
fn split(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 2 * BLOCK_BYTES];
    let (mut lines, mut filled, mut bytes) = (0, 0, 0);
    loop {
        let read = file.read(&mut buffer[filled..filled + BLOCK_BYTES])?;
        if read == 0 {
            assert!(bytes > 0);
            return Ok(lines);
        }
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..filled + read]) {
            // Somebody uses the line.
            bytes += std::hint::black_box(&buffer[from..end]).len();
            lines += 1;
            from = end + 1;
        }
        buffer.copy_within(from..filled + read, 0);
        filled = filled + read - from;
    }
}

/// Compresses a file with a program, beside it.
fn compress(path: &Path, program: &str) -> io::Result<std::path::PathBuf> {
    let compressed = path.with_extension("gz");
    let output = Command::new(program).args(["-c", "-6"]).arg(path).stdin(Stdio::null()).output()?;
    File::create(&compressed)?.write_all(&output.stdout)?;
    Ok(compressed)
}

//! A log of nginx in the combined format, the same on every run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::workload::{Arrivals, Random, Spread};

const CLIENTS: u64 = 30_000;

/// Lines per second.
const PACE: usize = 500;

const AGENTS: [&str; 5] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
    "curl/8.14.1",
    "okhttp/4.12.0",
];

const TARGETS: [&str; 6] = [
    "GET /api/products/{}?fields=name,price&page=2",
    "GET /static/app.{}.js",
    "GET /search?q=shoes+{}&sort=price",
    "POST /login",
    "GET /api/users/{}/orders",
    "GET /",
];

/// Writes a log of so many lines.
pub fn write(path: &Path, lines: usize) -> io::Result<()> {
    let mut log = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let clients = Arrivals::random(CLIENTS, Spread::Zipf, lines);
    let mut random = Random::seeded(19);
    for (number, client) in clients.all().iter().enumerate() {
        let id: u64 = client["user:".len()..].parse().expect("a number");
        let second = number / PACE;
        let (hour, minute, second) = (9 + second / 3600 % 14, second / 60 % 60, second % 60);
        let day = 1 + number / PACE / (14 * 3600);
        let item = random.below(1_000_000).to_string();
        let target = TARGETS[random.below(TARGETS.len() as u64) as usize].replace("{}", &item);
        let status = [200, 200, 200, 200, 200, 304, 404, 401][random.below(8) as usize];
        let agent = AGENTS[(id % AGENTS.len() as u64) as usize];
        writeln!(
            log,
            "{}.{}.{}.{} - - [{day:02}/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \"{target} HTTP/1.1\" \
             {status} {} \"https://shop.example/\" \"{agent}\"",
            10 + id % 190,
            id / 190 % 256,
            id / 7 % 256,
            1 + id % 254,
            random.below(50_000),
        )?;
    }
    log.flush()
}

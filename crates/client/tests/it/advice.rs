//! Properties of advice, for headers that no vector has.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use slidegate_client::{Advice, Exchange, RetrySettings, advice};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

const NAMES: [&str; 4] = ["retry-after", "ratelimit", "ratelimit-reset", "x-ratelimit-reset"];
const PIECES: [&str; 30] = [
    "0",
    "5",
    "59",
    "61",
    "1795014030",
    "99999999999999999999",
    "-1",
    "1.5",
    "Wed",
    "Wednesday",
    "Wed, 18 Nov 2026 15:00:30 GMT",
    "Wednesday, 18-Nov-26 15:00:20 GMT",
    "Wed Nov 18 15:00:10 2026",
    " GMT",
    "\"burst\"",
    "day",
    ";r=0",
    ";r=1",
    ";t=30",
    ";t=7",
    ";q=10",
    "(",
    ")",
    "\"",
    "\\",
    ",",
    ", ",
    " ",
    "\t",
    ";",
];

/// Line of a field: a name and pieces of a value.
#[derive(Clone, Debug)]
struct FieldLine {
    name: &'static str,
    value: Vec<u8>,
}

fn lines(rng: &Rng) -> Vec<FieldLine> {
    let line = |_| {
        let pieces = (0..rng.below(6)).map(|_| rng.pick(&PIECES).as_bytes().to_vec());
        let mut value = pieces.collect::<Vec<_>>().concat();
        if rng.one_in(8) {
            value.push(rng.between(0x80, 0xff) as u8);
        }
        FieldLine { name: rng.pick(&NAMES), value }
    };
    (0..rng.between(1, 5)).map(line).collect()
}

fn advice_after<'a>(lines: impl IntoIterator<Item = (&'a str, &'a [u8])>, attempt: u32) -> Advice {
    let pair = |(name, value): (&'a str, &'a [u8])| {
        let name: HeaderName = name.parse().expect("a name");
        (name, HeaderValue::from_bytes(value).expect("a value"))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.into_iter().map(pair) {
        headers.append(name, value);
    }
    let exchange = Exchange {
        method: &Method::GET,
        is_replayable: true,
        status: StatusCode::TOO_MANY_REQUESTS,
        headers: &headers,
        attempt,
        now_ms: 1_795_014_000_000,
    };
    advice(&exchange, &RetrySettings { max_attempts: u32::MAX, ..RetrySettings::default() })
}

fn pairs(lines: &[FieldLine]) -> impl Iterator<Item = (&str, &[u8])> {
    lines.iter().map(|line| (line.name, &line.value[..]))
}

#[test]
fn a_wait_is_within_its_bounds() {
    prove(
        |rng| ((rng.magnitude(100) as u32, rng.next()), lines(rng)),
        |(attempt, random), lines| {
            let Advice::Wait(backoff) = advice_after(pairs(lines), *attempt) else { return Ok(()) };
            let wait_ms = backoff.duration(*random).as_millis() as u64;
            ensure!(backoff.delay_ms <= 60_000, "{backoff:?}");
            ensure!((1_000..=60_000).contains(&backoff.jitter_ms), "{backoff:?}");
            ensure!(wait_ms >= backoff.delay_ms, "{wait_ms} ms of {backoff:?}");
            ensure!(wait_ms <= backoff.delay_ms + backoff.jitter_ms, "{wait_ms} ms of {backoff:?}");
            ensure!(backoff.duration(0).as_millis() as u64 == backoff.delay_ms, "{backoff:?}");
            let most_ms = backoff.duration(u64::MAX).as_millis() as u64;
            ensure!(most_ms == backoff.delay_ms + backoff.jitter_ms, "{most_ms} ms of {backoff:?}");
            Ok(())
        },
    );
}

/// As intermediaries and other HTTP clients combine them.
#[test]
fn combined_lines_are_the_same_as_separate_ones() {
    prove(
        |rng| ((), lines(rng)),
        |(), lines| {
            let combined = NAMES.map(|name| {
                let values = lines.iter().filter(|line| line.name == name).map(|line| line.value.clone());
                (name, values.collect::<Vec<_>>().join(&b", "[..]))
            });
            let combined = combined.iter().filter(|(name, _)| lines.iter().any(|line| line.name == *name));
            let combined = combined.map(|(name, value)| (*name, &value[..]));
            let (one, other) = (advice_after(pairs(lines), 0), advice_after(combined, 0));
            ensure!(one == other, "{one:?}, combined {other:?}");
            Ok(())
        },
    );
}

//! A flood of distinct keys against a bound that holds a tenth of them.
//!
//! `SLIDEGATE_FLOOD` sets how many keys come. The test runs in a process of its own, whose
//! memory it measures.

use std::fs;
use std::time::{Duration, Instant};

use slidegate::{Limit, Limiter, ManualClock, Memory};
use slidegate_testkit::cases::number;
use slidegate_testkit::process;

const DEFAULT_FLOOD: u64 = 2_000_000;
/// What a key with one small state takes of the bound, the empty places of the table and the
/// reserve included.
const BYTES_PER_KEY: u64 = 58;
/// What the store needs besides: a table that grows exists twice for a moment (128 KiB), names of
/// limits and spaces (48 KiB), and a lock and books for every shard (256 and a few bytes for each
/// 320 KiB).
const SLACK: u64 = 1 << 20;
const CLIENTS: u64 = 1_000;

type Manual = Limiter<Memory, ManualClock>;

#[test]
fn a_flood_frees_nobody_and_blocks_nobody() {
    process::alone(module_path!(), "a_flood_frees_nobody_and_blocks_nobody", flood);
}

fn flood() {
    let flood = number("SLIDEGATE_FLOOD").unwrap_or(DEFAULT_FLOOD);
    let max_memory = flood / 10 * BYTES_PER_KEY;
    let clock = ManualClock::new(1_745_000_000_000);
    let limit = Limit::per_hour(10).counter().expect("a counter");
    let resident_before = resident_bytes();
    let builder = Limiter::builder([limit]).max_memory(max_memory as usize).clock(clock.clone());
    let limiter = builder.build().expect("a limiter");
    for client in 0..CLIENTS {
        (0..10).for_each(|_| assert!(limiter.check(("limited", client)).is_allowed()));
        assert!(!limiter.check(("limited", client)).is_allowed());
    }
    let (mut most, mut slowest, mut newcomers) = (0, Duration::ZERO, 0_u64);
    for n in 0..flood {
        let start = Instant::now();
        let _ = limiter.check(("flood", n));
        slowest = slowest.max(start.elapsed());
        if n % 100 == 0 {
            clock.advance_ms(u64::from(n % 10_000 == 0));
            newcomers += u64::from(serve_newcomer(&limiter, n));
        }
        if n % (flood / 100) == 0 {
            let bytes = limiter.store().stats().bytes as u64;
            assert!(bytes <= max_memory, "{bytes} bytes of {max_memory} after {n} keys");
            most = most.max(bytes);
            assert_still_limited(&limiter);
        }
    }
    assert_still_limited(&limiter);
    assert_eq!(newcomers, flood.div_ceil(100), "every newcomer is served");
    let resident = resident_bytes().saturating_sub(resident_before);
    let stats = limiter.store().stats();
    println!(
        "{flood} keys: at most {most} of {max_memory} bytes, resident {resident}; {stats:?}; slowest {slowest:?}"
    );
    assert!(resident <= max_memory + SLACK, "{resident} bytes resident, {max_memory} allowed");
    assert!(stats.keys as u64 >= flood / 11, "the bound holds about a tenth: {stats:?}");
    assert!(stats.forgotten_keys > 0 && stats.refused_for_room == 0, "{stats:?}");
}

/// Whether a client that was never seen gets what it asks for, three times.
fn serve_newcomer(limiter: &Manual, n: u64) -> bool {
    (0..3).all(|_| limiter.check(("newcomer", n)).is_allowed())
}

fn assert_still_limited(limiter: &Manual) {
    for client in 0..CLIENTS {
        let verdict = limiter.check(("limited", client));
        assert!(!verdict.is_allowed(), "client {client} is free: {verdict:?}");
    }
}

/// Resident memory of the process without pages of files, such as its program, or 0 where the
/// system does not say.
fn resident_bytes() -> u64 {
    let pages = |text: String| {
        let mut columns = text.split(' ').skip(1).map_while(|column| column.parse::<u64>().ok());
        let (resident, of_files) = (columns.next()?, columns.next()?);
        Some(resident - of_files)
    };
    fs::read_to_string("/proc/self/statm").ok().and_then(pages).unwrap_or(0) * 4_096
}

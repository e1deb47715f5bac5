//! Snapshots: everything comes back, a damaged file does not, and a failed save loses nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use slidegate::store::memory::SnapshotError;
use slidegate::store::{Charge, ChargeRequest, MAX_NOTE_BYTES, MAX_NOTES, Note, PostOutcome};
use slidegate::{Clock, Key, Limit, Limiter, ManualClock, Memory, Permit, PermitError, SettleOutcome, Space};
use slidegate_testkit::cases::{Rng, prove};

use crate::cases::{cost, limit, wait_ms};

type Manual = Limiter<Memory, ManualClock>;

const SECRET: [u8; 32] = [9; 32];
const NOW_MS: u64 = 1_745_000_000_000;

fn loaded(limits: &[Limit], path: &Path, clock: &ManualClock) -> Result<Manual, SnapshotError> {
    let builder = Limiter::builder(limits.iter().copied()).max_memory(1 << 20).permit_secret(SECRET);
    Ok(builder.load(path)?.clock(clock.clone()).build().expect("a limiter"))
}

fn limiter(limits: &[Limit], clock: &ManualClock) -> Manual {
    let builder = Limiter::builder(limits.iter().copied()).max_memory(1 << 20).permit_secret(SECRET);
    builder.clock(clock.clone()).build().expect("a limiter")
}

/// Time passes, a key asks, and perhaps gives back what it got.
#[derive(Clone, Copy, Debug)]
struct Step {
    after_ms: u64,
    key: u64,
    cost: u64,
    refund: bool,
}

fn generate(rng: &Rng) -> (Vec<Limit>, Vec<Step>) {
    let mut limits: Vec<Limit> = Vec::new();
    for _ in 0..rng.between(1, 4) {
        let one = limit(rng);
        if limits.iter().all(|other| other.id() != one.id()) {
            limits.push(one);
        }
    }
    let mut now_ms = NOW_MS;
    let steps = (0..rng.between(1, 40)).map(|_| {
        let of = rng.pick(&limits);
        let after_ms = wait_ms(rng, &of, now_ms);
        now_ms += after_ms;
        Step { after_ms, key: rng.below(4), cost: cost(rng, &of), refund: rng.one_in(3) }
    });
    (limits.clone(), steps.collect())
}

/// A limiter that was saved and loaded halfway answers what one answers that was not.
#[test]
fn everything_comes_back() {
    // Every save waits for the disk: in memory, where the system has such a place, that is no wait.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let path = folder.path().join("snapshot");
    prove(generate, |limits, steps| {
        let clock = ManualClock::new(NOW_MS);
        let original = limiter(limits, &clock);
        let (before, after) = steps.split_at(steps.len() / 2);
        let mut permits = Vec::new();
        for step in before {
            clock.advance_ms(step.after_ms);
            if let Ok(reserved) = original.reserve(step.key, step.cost) {
                let refunded = step.refund && reserved.permit.is_some();
                permits.extend(reserved.permit.map(|permit| (permit, refunded)));
                if let Some((permit, true)) = permits.last() {
                    original.refund(permit).expect("a permit of ours");
                }
            } else {
                let _ = original.check_n(step.key, step.cost);
            }
        }
        original.save(&path).map_err(|error| error.to_string())?;
        let copy = loaded(limits, &path, &clock).map_err(|error| error.to_string())?;
        settle_in_both(&original, &copy, &permits)?;
        for step in after {
            clock.advance_ms(step.after_ms);
            let [one, two] = [&original, &copy].map(|limiter| limiter.check_n(step.key, step.cost));
            if one != two {
                return Err(format!("{step:?}\n  expected {one:?}\n  answered {two:?}"));
            }
        }
        Ok(())
    });
}

/// A debt that was last looked at under another quota comes back as what it was, whatever burst
/// that quota had.
#[test]
fn a_debt_comes_back_under_the_quota_it_was_written_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("snapshot");
    let meter = |quota, burst| Limit::per_day(quota).gcra(burst).expect("a meter");
    let (slow, fast, clock) = (meter(1, 2), meter(10_000_000, 10_000_000), ManualClock::new(NOW_MS));
    let original = limiter(&[slow], &clock);
    assert!(original.check_n("key", 2).is_allowed());
    clock.advance_ms(1_000);
    let (key, space) = (Key::from("key"), Space::named(""));
    let charges = [Charge { space, key: &key, limits: &[fast], cost: 0 }];
    let looked =
        original.store().decide_now(&ChargeRequest { now_ms: clock.now_ms(), holder: 0, charges: &charges });
    assert_eq!(looked.decisions[0].remaining, 10_000_000);
    original.save(&path).expect("a snapshot");
    let copy = loaded(&[slow], &path, &clock).expect("a snapshot that can be read");
    assert_eq!(copy.check_n("key", 1), original.check_n("key", 1));
    assert!(!copy.check_n("key", 1).is_allowed());
}

fn settle_in_both(one: &Manual, two: &Manual, permits: &[(Permit, bool)]) -> Result<(), String> {
    for (permit, refunded) in permits {
        let [one, two] = [one, two].map(|limiter| limiter.settle(permit, 1).expect("a permit of ours"));
        // Whether an entry that is gone counts as settled or as expired depends on whether its
        // state was dropped.
        if (one == SettleOutcome::AlreadySpent) != (two == SettleOutcome::AlreadySpent) {
            return Err(format!("a permit, refunded: {refunded}, is {one:?} and then {two:?}"));
        }
    }
    Ok(())
}

fn note(id: &str, text: &str) -> Note {
    Note { id: id.to_owned(), text: text.to_owned(), expires_at_ms: NOW_MS + 1 }
}

/// Texts of every length around a word, and as many and as long ones as there may be.
#[test]
fn notes_are_restored() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let path = folder.path().join("snapshot");
    let store = Memory::new(1 << 20);
    for count in [0, 1, 25, MAX_NOTES] {
        for n in store.notes_now().notes.len()..count {
            let text = if n < 25 { "ä".repeat(n) } else { "x".repeat(MAX_NOTE_BYTES) };
            assert_eq!(
                store.post_now(&note(&format!("{n:0>width$}", width = 1 + n % 120), &text), NOW_MS),
                PostOutcome::Done
            );
        }
        assert!(!store.withdraw_now("none of them"));
        store.save(&path, NOW_MS + 1).expect("a snapshot");
        let loaded = Memory::load(&path, 1 << 20).expect("the snapshot");
        assert_eq!(loaded.notes_now(), store.notes_now(), "{count} notes");
    }
}

/// A file of the first version, as it was written then: limits of four kinds, a permit that was
/// used, no notes.
#[test]
fn a_file_of_version_1_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshot/version_1.snapshot");
    let limits = [
        Limit::per_minute(5),
        Limit::per_hour(9).counter().expect("a counter"),
        Limit::per_day(20).fixed().expect("a fixed window"),
        Limit::in_flight(4, Duration::from_secs(600)).expect("in flight"),
    ];
    let limiter = loaded(&limits, &path, &ManualClock::new(NOW_MS + 42)).expect("the snapshot");
    for (key, remaining) in [("alice", [1, 5, 16, 0]), ("bob", [4, 8, 19, 3]), ("carol", [5, 9, 20, 4])] {
        let verdict = limiter.peek(key);
        let found: Vec<u64> = verdict.decisions.iter().map(|decision| decision.remaining).collect();
        assert_eq!(found, remaining, "{key}");
    }
    let permit: Permit = PERMIT_OF_ALICE.parse().expect("a permit");
    assert_eq!(limiter.refund(&permit), Err(PermitError::Malformed), "a permit of then names no generation");
    assert_eq!(limiter.store().notes_now(), slidegate::store::Notes::default());
}

/// The permit that the file says was used.
const PERMIT_OF_ALICE: &str = "AcL1J-ynYsjBAeOwxEKY_BwUmvv0yJlvuSQABQAAAAAAAABhbGljZQQAAAAAAAAAAGDqAAAAAAAAAOoaSpYBAAABAAAAAAAAAAEAAAAAAAAAgO42AAAAAAAA6hpKlgEAAAEAAAAAAAAAAgAAAAAAAAAAXCYFAAAAAADqGkqWAQAAAQAAAAAAAAAEAAAAAAAAAMAnCQAAAAAAAOoaSpYBAAABAAAAAAAAAEO1KK1FbO_OMIpUgtWLVO0";

fn saved(folder: &Path) -> (Vec<Limit>, Vec<u8>) {
    let limits = vec![Limit::per_minute(5), Limit::per_hour(9).counter().expect("a counter")];
    let limiter = limiter(&limits, &ManualClock::new(NOW_MS));
    let permit = limiter.reserve("alice", 1).expect("permits are given").permit.expect("admitted");
    limiter.refund(&permit).expect("a permit of ours");
    (0..6).for_each(|_| drop(limiter.check("alice")));
    let _ = limiter.check("bob");
    assert_eq!(
        limiter.store().post_now(&note("a note", "of seven and two words"), NOW_MS),
        PostOutcome::Done
    );
    limiter.save(folder.join("snapshot")).expect("a snapshot");
    (limits, fs::read(folder.join("snapshot")).expect("the snapshot"))
}

#[test]
fn only_the_owner_can_read_it() {
    let folder = tempfile::tempdir().expect("a folder");
    saved(folder.path());
    let mode = fs::metadata(folder.path().join("snapshot")).expect("the snapshot").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Not even if a file of that name, or one left from a save that was cut off, could be read by
    // all.
    for name in ["snapshot", "snapshot.new"] {
        let path = folder.path().join(name);
        fs::write(&path, "left").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
        saved(folder.path());
        let mode = fs::metadata(folder.path().join("snapshot")).expect("the snapshot").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name} was there");
    }
}

#[test]
fn a_changed_byte_or_a_lost_end_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let (limits, bytes) = saved(folder.path());
    let path = folder.path().join("damaged");
    let damaged = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("a file");
        match loaded(&limits, &path, &ManualClock::new(NOW_MS)) {
            Err(SnapshotError::Damaged(_)) => bytes.len() >= 8 && bytes[..8] == saved_magic(&bytes[..8]),
            Err(SnapshotError::Foreign(_)) => true,
            Err(_) | Ok(_) => false,
        }
    };
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << bit;
            assert!(damaged(&changed), "bit {bit} of byte {place} of {}", bytes.len());
        }
        assert!(damaged(&bytes[..place]), "only {place} bytes of {}", bytes.len());
    }
    assert!(damaged(&[bytes.as_slice(), &[0]].concat()) && damaged(&[bytes.as_slice(), &bytes].concat()));
    assert!(loaded(&limits, &folder.path().join("snapshot"), &ManualClock::new(NOW_MS)).is_ok());
}

/// The first eight bytes of every snapshot of these versions.
fn saved_magic(first: &[u8]) -> Vec<u8> {
    let versions = [b"SLDGATE\x01", b"SLDGATE\x02", b"SLDGATE\x03"];
    let [one, two, three] = versions.map(|magic| magic.iter().rev().copied().collect::<Vec<u8>>());
    if first == one {
        one
    } else if first == two {
        two
    } else {
        three
    }
}

/// Also where the digest is right: no list is longer than the file, and no room is made for one
/// before it was read.
#[test]
fn a_length_beyond_the_file_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let (limits, bytes) = saved(folder.path());
    let path = folder.path().join("longer");
    let subject = |limits: u64| vec![1, 11, 12, 21, 22, 0, limits];
    let log = [subject(1), limits[0].to_words().to_vec(), vec![NOW_MS]].concat();
    for count in [1, 2, 1 << 32, 1 << 60, u64::MAX] {
        for words in [
            subject(count),
            [log.clone(), vec![count]].concat(),
            [subject(0), vec![count]].concat(),
            vec![0, 1, count],
            vec![0, 1, 1, NOW_MS, count],
        ] {
            let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let content = [&bytes[..48], &words].concat();
            fs::write(&path, [content.as_slice(), &Sha256::digest(&content)].concat()).expect("a file");
            let error = loaded(&limits, &path, &ManualClock::new(NOW_MS)).expect_err("it ends too early");
            assert!(matches!(error, SnapshotError::Damaged(_)), "{error}: {words:?}");
        }
    }
}

#[test]
fn another_version_and_another_file_are_foreign() {
    let folder = tempfile::tempdir().expect("a folder");
    let (limits, mut bytes) = saved(folder.path());
    let path = folder.path().join("foreign");
    bytes[0] = 4;
    for content in [bytes.as_slice(), b"", b"SLDGATE", b"#!/bin/sh\n"] {
        fs::write(&path, content).expect("a file");
        let error = loaded(&limits, &path, &ManualClock::new(NOW_MS)).expect_err("not a snapshot");
        assert!(matches!(error, SnapshotError::Foreign(_)), "{error}");
    }
    let error =
        loaded(&limits, &folder.path().join("missing"), &ManualClock::new(NOW_MS)).expect_err("no file");
    assert!(matches!(error, SnapshotError::Io { .. }), "{error}");
}

#[test]
fn a_save_that_fails_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (limits, bytes) = saved(folder.path());
    let limiter = limiter(&limits, &ManualClock::new(NOW_MS));
    // A folder stands where the new file would be written first: the same for every user, root
    // included.
    let (path, blocked) = (folder.path().join("snapshot"), folder.path().join("snapshot.new"));
    fs::create_dir(&blocked).expect("a folder");
    let error = limiter.save(&path).expect_err("nowhere to write");
    assert!(matches!(error, SnapshotError::Io { .. }), "{error}");
    assert_eq!(fs::read(&path).expect("the old snapshot"), bytes);
    assert!(limiter.save(folder.path().join("missing/snapshot")).is_err());
    // A folder at the path itself.
    fs::remove_dir(&blocked).expect("an empty folder");
    fs::create_dir(folder.path().join("folder")).expect("a folder");
    assert!(limiter.save(folder.path().join("folder")).is_err());
    assert!(!folder.path().join("folder.new").exists(), "nothing is left of the attempt");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
}

/// Into a smaller bound: it is kept, what is limited stays so as far as there is room, the rest is
/// counted.
#[test]
fn a_smaller_bound_holds_when_loading() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("snapshot");
    for limits in [vec![Limit::per_hour(100)], vec![Limit::per_hour(100), Limit::per_day(900)]] {
        let clock = ManualClock::new(NOW_MS);
        let builder = Limiter::builder(limits.iter().copied()).max_memory(16 << 20).clock(clock.clone());
        let large = builder.build().expect("a limiter");
        let keys = 10_000_u64;
        for round in 0..5 {
            clock.set_ms(NOW_MS + round);
            (0..keys).for_each(|key| assert!(large.check(key).is_allowed()));
        }
        large.save(&path).expect("a snapshot");
        let small = loaded(&limits, &path, &clock).expect("the snapshot");
        let stats = small.store().stats();
        assert!(stats.bytes <= 1 << 20, "{stats:?}");
        assert_eq!(stats.keys as u64 + stats.forgotten_keys, keys, "{stats:?}");
        let units = 5 * limits.len() as u64;
        assert_eq!((stats.forgotten_units, stats.refused_for_room), (units * stats.forgotten_keys, 0));
        assert!(stats.keys > 300, "{stats:?}");
    }
}

//! Open permits, compared with a list of all permits ever granted.

use slidegate_core::{Grant, MAX_OPEN_PERMITS, MAX_PERMIT_BYTES, OpenPermits, PermitState};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

#[derive(Clone, Copy, Debug)]
enum Step {
    Grant {
        lasts_ms: u64,
    },
    GrantMany {
        count: u64,
        lasts_ms: u64,
    },
    Slots {
        lasts_ms: u64,
    },
    Close {
        of: u64,
    },
    CloseMany {
        from: u64,
        count: u64,
    },
    Forward {
        ms: u64,
    },
    Forget,
    /// Written to a file and read back, and everything since then is lost.
    Crash,
    /// What a crash will go back to.
    Save,
}

fn generate(rng: &Rng) -> ((), Vec<Step>) {
    let steps = (0..rng.between(1, 80)).map(|_| match rng.below(20) {
        0..=4 => Step::Grant { lasts_ms: rng.magnitude(1_000) },
        5 => Step::GrantMany { count: rng.between(1, 300), lasts_ms: rng.magnitude(1_000) },
        6 => Step::Slots { lasts_ms: rng.magnitude(1_000) },
        7..=11 => Step::Close { of: rng.next() },
        12 => Step::CloseMany { from: rng.next(), count: rng.between(1, 300) },
        13..=15 => Step::Forward { ms: rng.magnitude(1_000) },
        16 if rng.one_in(2) => Step::Forget,
        17 if rng.one_in(2) => Step::Crash,
        _ => Step::Save,
    });
    ((), steps.collect())
}

/// A permit as somebody would remember it who remembers everything.
#[derive(Clone, Copy, Debug)]
struct Permit {
    grant: Grant,
    until_ms: u64,
    state: PermitState,
}

#[derive(Clone, Default)]
struct Naive {
    permits: Vec<Permit>,
}

#[test]
fn open_permits_agree_with_a_list_of_all_permits() {
    prove(generate, |(), steps| {
        let (mut permits, mut naive) = (OpenPermits::default(), Naive::default());
        let (mut saved, mut saved_naive) = (permits.to_words(), naive.clone());
        let (mut now_ms, mut id) = (1_000, 0);
        for step in steps {
            let mut grant = |permits: &mut OpenPermits, naive: &mut Naive, lasts_ms: u64| {
                id += 1;
                let until_ms = now_ms + lasts_ms;
                let grant = permits.grant(id, until_ms);
                naive.permits.push(Permit { grant, until_ms, state: PermitState::Open });
            };
            match *step {
                Step::Grant { lasts_ms } => grant(&mut permits, &mut naive, lasts_ms),
                Step::GrantMany { count, lasts_ms } => {
                    (0..count).for_each(|_| grant(&mut permits, &mut naive, lasts_ms));
                }
                Step::Slots { lasts_ms } => {
                    id += 1;
                    let (until_ms, grant) = (now_ms + lasts_ms, permits.grant_slots(id, now_ms + lasts_ms));
                    naive.permits.push(Permit { grant, until_ms, state: PermitState::Open });
                }
                Step::Close { of } => close(&mut permits, &mut naive, of, 1, now_ms),
                Step::CloseMany { from, count } => close(&mut permits, &mut naive, from, count, now_ms),
                Step::Forward { ms } => now_ms += ms,
                Step::Forget => {
                    permits = OpenPermits::default();
                    naive.permits.iter_mut().for_each(|permit| permit.state = PermitState::Void);
                }
                Step::Save => (saved, saved_naive) = (permits.to_words(), naive.clone()),
                Step::Crash => {
                    permits = OpenPermits::from_words(&saved).ok_or("valid words are not read")?;
                    for (index, permit) in naive.permits.iter_mut().enumerate() {
                        // What was given since, and what was spent since, is lost.
                        let saved =
                            saved_naive.permits.get(index).map_or(PermitState::Void, |saved| saved.state);
                        permit.state = saved;
                        // In-flight slots are found by their holders, which are stored elsewhere.
                        if permit.grant.number.is_none() && saved == PermitState::Void {
                            permit.until_ms = 0;
                        }
                    }
                }
            }
            permits.prune(now_ms);
            // What is over need not be known any more.
            for Permit { grant, state, until_ms } in naive.permits.iter().filter(|p| p.until_ms > now_ms) {
                let found = permits.state(*grant);
                ensure!(found == *state, "{grant:?} until {until_ms}: {found:?}, not {state:?}");
            }
            let is_open = |permit: &&Permit| {
                permit.grant.number.is_some() && permit.state == PermitState::Open && permit.until_ms > now_ms
            };
            let open = naive.permits.iter().filter(is_open).count() as u64;
            ensure!(permits.open() >= open, "{} open, not {open}", permits.open());
            ensure!(
                permits.heap_bytes() <= 2_048 + MAX_PERMIT_BYTES * permits.open() as usize,
                "{} bytes for {} permits",
                permits.heap_bytes(),
                permits.open()
            );
        }
        Ok(())
    });
}

fn close(permits: &mut OpenPermits, naive: &mut Naive, from: u64, count: u64, now_ms: u64) {
    let Some(first) = (from as usize).checked_rem(naive.permits.len()) else { return };
    for permit in naive.permits[first..].iter_mut().take(count as usize) {
        let (Some(number), PermitState::Open) = (permit.grant.number, permits.state(permit.grant)) else {
            continue;
        };
        permits.close(number);
        if permit.until_ms > now_ms {
            permit.state = PermitState::Closed;
        }
    }
}

/// A million open permits take a bit and a half each, spent ones nothing, and the last of them is
/// as quick as the first.
#[test]
fn a_million_open_permits_take_little_and_spent_ones_nothing() {
    let mut permits = OpenPermits::default();
    let grants: Vec<Grant> = (0..MAX_OPEN_PERMITS).map(|id| permits.grant(id + 1, u64::MAX)).collect();
    assert!(permits.is_full());
    assert!(permits.heap_bytes() < 250_000, "{} bytes", permits.heap_bytes());
    // All but every 256th: the worst there is.
    for grant in grants.iter().filter(|grant| grant.number.is_some_and(|number| number % 256 != 7)) {
        permits.close(grant.number.expect("a number"));
    }
    assert_eq!(permits.open(), MAX_OPEN_PERMITS / 256);
    assert!(permits.heap_bytes() <= 1_024 + MAX_PERMIT_BYTES * permits.open() as usize);
    for grant in &grants {
        let open = grant.number.is_some_and(|number| number % 256 == 7);
        assert_eq!(permits.state(*grant), if open { PermitState::Open } else { PermitState::Closed });
        permits.close(grant.number.expect("a number"));
    }
    assert_eq!(permits.open(), 0);
    assert!(permits.heap_bytes() < 1_024, "{} bytes", permits.heap_bytes());
    permits.prune(u64::MAX);
    assert!(permits.is_empty() && permits.heap_bytes() == 0);
}

/// One permit that lasts long does not keep those behind it from expiring.
#[test]
fn what_is_over_makes_room_behind_what_is_not() {
    let mut permits = OpenPermits::default();
    let long = permits.grant(1, 86_400_000);
    while !permits.is_full() {
        permits.grant(1, 60_000);
    }
    permits.prune(59_999);
    assert!(permits.is_full());
    permits.prune(60_000);
    // A chunk lasts as long as the longest of its permits.
    assert!(permits.open() <= 256, "{} are open", permits.open());
    assert_eq!(permits.state(long), PermitState::Open);
    let next = permits.grant(1, 120_000);
    assert_eq!(permits.state(next), PermitState::Open);
}

#[test]
fn invalid_words_are_refused() {
    let mut permits = OpenPermits::default();
    (0..700).for_each(|id| {
        permits.grant(id + 1, 5_000);
    });
    let words = permits.to_words();
    assert!(OpenPermits::from_words(&words).is_some());
    assert!(OpenPermits::from_words(&[]).is_some_and(|permits| permits.is_empty()));
    for cut in 1..words.len() {
        let is_whole = cut >= 5 && (cut - 5).is_multiple_of(6);
        assert_eq!(OpenPermits::from_words(&words[..cut]).is_some(), is_whole, "{cut} words");
    }
    for (place, word) in [(1, 0), (1, u64::MAX), (1, 65), (4, 0), (11, 0)] {
        let mut changed = words.clone();
        changed[place] = word;
        let broken = place == 4 || OpenPermits::from_words(&changed).is_none();
        assert!(broken, "{word} at {place}");
    }
}

//! Where a rule refuses: a share of its subjects, always the same ones.

use slidegate::Request;
use slidegate::policy::file::{Conditions, Mode, Percent, RuleEntry, Test};
use slidegate::policy::{Choice, HitMode, Policy};

use crate::policies::{condition, file_of, limits, spot};

const SUBJECTS: u32 = 100_000;

fn policy(mode: Mode) -> Policy {
    let rule = RuleEntry {
        name: spot("rule"),
        key: vec![spot("user")],
        limits: limits(&["5/min"]),
        mode,
        ..RuleEntry::default()
    };
    Policy::compile(file_of(rule)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn is_enforced(policy: &Policy, request: &Request<'_>) -> bool {
    match policy.choose(request) {
        Ok(Choice::Hits(hits)) => hits[0].mode == HitMode::Enforce,
        other => panic!("{other:?}"),
    }
}

/// Which of the subjects a share has.
fn share(hundredths: u32) -> Vec<bool> {
    let policy = policy(Mode::Share(Percent(hundredths)));
    (0..SUBJECTS).map(|n| is_enforced(&policy, &Request::new().with("user", format!("user-{n}")))).collect()
}

fn count(share: &[bool]) -> usize {
    share.iter().filter(|is_in| **is_in).count()
}

/// Whoever is in a share stays in when it grows.
#[test]
fn a_share_grows() {
    let shares = [0, 1, 50, 100, 1_000, 2_500, 5_000, 9_999, 10_000].map(share);
    for (smaller, larger) in shares.iter().zip(&shares[1..]) {
        assert!(smaller.iter().zip(larger).all(|(before, after)| before <= after));
    }
    assert_eq!((count(&shares[0]), count(&shares[8])), (0, SUBJECTS as usize));
}

/// The hash has no secret, so that this number is the same everywhere and always; it was counted
/// with another implementation of SHA-256. A standard deviation is 137.
#[test]
fn a_quarter_is_a_quarter_on_every_node() {
    assert_eq!(count(&share(2_500)), 25_047);
}

#[test]
fn the_other_modes() {
    let alice = Request::new().with("user", "alice").with("org", "acme");
    let bob = Request::new().with("user", "bob");
    let of_acme = Conditions(vec![condition("org", Test::Is(vec![spot("acme")]))]);
    for (mode, of_alice, of_bob) in
        [(Mode::Enforce, true, true), (Mode::Observe, false, false), (Mode::For(vec![of_acme]), true, false)]
    {
        let policy = policy(mode);
        assert_eq!((is_enforced(&policy, &alice), is_enforced(&policy, &bob)), (of_alice, of_bob));
    }
}

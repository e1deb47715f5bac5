//! Permits: refunds and settlements, once each, of what was recorded, and of nothing else.

use std::time::Duration;

use slidegate::SettleOutcome::{AlreadySpent, Expired, Settled, Void};
use slidegate::store::{Admission, Charge, ChargeRecord, ChargeRequest, ForgetRequest, Settlement};
use slidegate::{
    Key, Limit, Limiter, MAX_OPEN_PERMITS, ManualClock, Memory, Permit, PermitError, RefundScope,
    Reservation, ReserveRequest, Space,
};
use slidegate_core::Receipt;

type Manual = Limiter<Memory, ManualClock>;

const SECRET: [u8; 32] = [7; 32];

fn limiter(limits: impl IntoIterator<Item = Limit>) -> (Manual, ManualClock) {
    let clock = ManualClock::new(1_000_000);
    let builder = Limiter::builder(limits).permit_secret(SECRET).clock(clock.clone());
    (builder.build().expect("a limiter"), clock)
}

fn permit(limiter: &Manual, cost: u64) -> Permit {
    let Reservation { permit, verdict } = limiter.reserve("key", cost).expect("permits are given");
    permit.unwrap_or_else(|| panic!("admitted: {verdict:?}"))
}

fn remaining(limiter: &Manual) -> u64 {
    limiter.peek("key").remaining().expect("there are limits")
}

fn each_kind() -> [Limit; 4] {
    let log = Limit::per_second(10);
    let in_flight = Limit::in_flight(10, Duration::from_secs(1));
    [log, log.counter().expect("a counter"), log.fixed().expect("fixed"), in_flight.expect("in flight")]
}

fn day(quota: u64) -> Limit {
    let day = Limit::new(quota, Duration::from_secs(86_400));
    day.and_then(Limit::counter).expect("a counter")
}

#[test]
fn a_refund_restores_and_a_second_one_changes_nothing() {
    for limit in each_kind() {
        let (limiter, clock) = limiter([limit]);
        let before = limiter.check_n("key", 2);
        let permit = permit(&limiter, 5);
        assert_eq!(remaining(&limiter), 3);
        clock.advance_ms(10);
        assert_eq!(limiter.refund(&permit), Ok(Settled), "{limit}");
        assert_eq!(remaining(&limiter), before.remaining().unwrap(), "{limit}");
        for cost in [0, 1, 9] {
            assert_eq!(limiter.settle(&permit, cost), Ok(AlreadySpent), "{limit}");
        }
        assert_eq!(remaining(&limiter), 8, "{limit}");
    }
}

#[test]
fn settling_up_is_debt_and_settling_down_gives_back() {
    for limit in &each_kind()[..3] {
        let limit = *limit;
        let (limiter, _) = limiter([limit]);
        let (up, down) = (permit(&limiter, 3), permit(&limiter, 5));
        assert_eq!(limiter.settle(&up, 12), Ok(Settled));
        assert_eq!(remaining(&limiter), 0, "{limit}");
        assert_eq!(limiter.settle(&down, 1), Ok(Settled));
        assert_eq!(remaining(&limiter), 0, "12 and 1 of 10: {limit}");
        assert!(!limiter.check("key").is_allowed());
        assert_eq!(limiter.settle(&up, 0), Ok(AlreadySpent));
    }
}

#[test]
fn a_permit_ends_when_its_entry_has_left_the_window() {
    for (limit, life_ms) in each_kind().into_iter().zip([1_000, 2_000, 1_000, 1_000]) {
        let (limiter, clock) = limiter([limit]);
        let (early, late) = (permit(&limiter, 1), permit(&limiter, 1));
        clock.advance_ms(life_ms - 1);
        assert_eq!(limiter.refund(&early), Ok(Settled), "{limit}");
        clock.advance_ms(1);
        assert_eq!(limiter.refund(&late), Ok(Expired), "{limit}");
        assert_eq!(limiter.refund(&late), Ok(Expired), "{limit}");
    }
}

#[test]
fn a_refund_takes_back_its_own_entry() {
    let (limiter, clock) = limiter([Limit::per_second(2)]);
    let first = permit(&limiter, 1);
    clock.advance_ms(600);
    let _ = limiter.check("key");
    clock.advance_ms(100);
    assert_eq!(limiter.refund(&first), Ok(Settled));
    let _ = limiter.check("key");
    let refused = limiter.check("key");
    assert_eq!(refused.retry_after_ms(), Some(900), "the entry of the second request is the oldest now");
}

/// As many settlements as come, on one key and within one window: each is counted, and what is
/// spent takes no space.
#[test]
fn settlements_are_never_refused() {
    const TIMES: u64 = 1_000_000;
    let day = day(1 << 40);
    let (limiter, _) = limiter([day]);
    limiter.refund(&permit(&limiter, 1)).expect("a refund");
    let bytes = limiter.store().stats().bytes;
    for _ in 0..TIMES {
        let permit = permit(&limiter, 1);
        assert_eq!(limiter.settle(&permit, 1_500), Ok(Settled));
    }
    assert_eq!(remaining(&limiter), (1 << 40) - TIMES * 1_500);
    assert!(limiter.store().stats().bytes <= bytes + 256, "{} bytes", limiter.store().stats().bytes);
}

/// A settlement says what a request has cost; its place in flight ends with it, whatever that is.
#[test]
fn a_settlement_releases_the_place() {
    let places = Limit::in_flight(5, Duration::from_secs(30)).expect("in flight");
    let (limiter, _) = limiter([places]);
    let permit = permit(&limiter, 3);
    assert_eq!(limiter.settle(&permit, 2), Ok(Settled));
    assert_eq!(remaining(&limiter), 5);
    assert_eq!(limiter.settle(&permit, 2), Ok(AlreadySpent));
}

/// A release is found by its holder: it needs no memory, and is never refused.
#[test]
fn a_slot_is_released_however_often_it_was_charged() {
    let places = Limit::in_flight(5, Duration::from_secs(30)).expect("in flight");
    for limits in [vec![places], vec![places, day(1 << 40)]] {
        let (limiter, _) = limiter(limits);
        let mut bytes = 0;
        for time in 0..100_000 {
            let permit = permit(&limiter, 1);
            assert_eq!(limiter.refund(&permit), Ok(Settled), "{time}");
            assert_eq!(limiter.refund(&permit), Ok(AlreadySpent), "{time}");
            if time == 0 {
                bytes = limiter.store().stats().bytes;
            }
        }
        assert_eq!(remaining(&limiter), 5);
        assert!(limiter.store().stats().bytes <= bytes + 256, "{} bytes", limiter.store().stats().bytes);
    }
}

#[test]
fn beyond_the_most_open_permits_a_reservation_is_refused_by_name() {
    let day = day(1 << 40);
    let (limiter, _) = limiter([day]);
    let first = permit(&limiter, 1);
    for _ in 1..MAX_OPEN_PERMITS {
        let _ = limiter.reserve("key", 1).expect("a permit");
    }
    let stats = limiter.store().stats();
    assert!(stats.bytes < 2 << 20, "{stats:?}");
    assert_eq!(limiter.reserve("key", 1), Err(PermitError::TooManyOpen));
    assert_eq!(remaining(&limiter), (1 << 40) - MAX_OPEN_PERMITS, "nothing was charged");
    assert!(limiter.check("key").is_allowed(), "only permits are refused");
    assert!(limiter.reserve("other", 1).is_ok(), "and only of that key");
    assert_eq!(limiter.refund(&first), Ok(Settled));
    assert!(limiter.reserve("key", 1).is_ok());
}

fn forget(limiter: &Manual) {
    let limits: Vec<_> = limiter.limits().iter().map(Limit::id).collect();
    let subject = ForgetRequest { space: Space::named(""), key: &"key".into(), limits: &limits };
    limiter.store().forget_now(&subject);
}

/// Whatever is charged afterwards, a permit from before a reset gives nothing of it back.
#[test]
fn a_permit_from_before_a_reset_is_void() {
    for limit in each_kind() {
        let (limiter, _) = limiter([limit]);
        let (open, spent) = (permit(&limiter, 5), permit(&limiter, 1));
        assert_eq!(limiter.refund(&spent), Ok(Settled), "{limit}");
        forget(&limiter);
        for permit in [&open, &spent] {
            assert_eq!(limiter.refund(permit), Ok(Void), "{limit}");
        }
        let since = permit(&limiter, 10);
        for permit in [&open, &spent] {
            assert_eq!(limiter.refund(permit), Ok(Void), "{limit}");
            assert_eq!(limiter.settle(permit, 3), Ok(Void), "{limit}");
        }
        assert_eq!(remaining(&limiter), 0, "{limit}: nothing was given back");
        assert_eq!(limiter.refund(&since), Ok(Settled), "{limit}");
    }
}

/// What was charged after the last snapshot is lost with a crash, and its permits give nothing
/// back, whatever came since.
#[test]
fn a_permit_that_a_crash_has_lost_is_void() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("snapshot");
    let limit = Limit::per_second(100);
    let (limiter, clock) = limiter([limit]);
    let before = permit(&limiter, 1);
    limiter.save(&path).expect("a snapshot");
    let lost: Vec<Permit> = (0..80).map(|_| permit(&limiter, 1)).collect();
    drop(limiter);
    let builder = Limiter::builder([limit]).permit_secret(SECRET).clock(clock);
    let limiter = builder.load(&path).expect("the snapshot").build().expect("a limiter");
    let since: Vec<Permit> = (0..90).map(|_| permit(&limiter, 1)).collect();
    for permit in &lost {
        assert_eq!(limiter.refund(permit), Ok(Void));
    }
    assert_eq!(remaining(&limiter), 9);
    for permit in since.iter().chain([&before]) {
        assert_eq!(limiter.refund(permit), Ok(Settled));
    }
    assert_eq!(remaining(&limiter), 100);
}

/// `hold` outlasts the other window: a place that was released is not one whose hold is over.
#[test]
fn a_released_place_is_spent_until_its_hold_is_over() {
    let hold = Limit::in_flight(3, Duration::from_secs(60)).expect("in flight");
    let (limiter, clock) = limiter([Limit::per_second(10), hold]);
    let permit = permit(&limiter, 1);
    assert_eq!(limiter.refund(&permit), Ok(Settled));
    clock.advance_ms(5_000);
    assert_eq!(limiter.refund(&permit), Ok(AlreadySpent));
    clock.advance_ms(54_999);
    assert_eq!(limiter.refund(&permit), Ok(AlreadySpent));
    clock.advance_ms(1);
    assert_eq!(limiter.refund(&permit), Ok(Expired));
}

#[test]
fn no_bit_and_no_byte_of_a_permit_can_be_changed() {
    let (limiter, _) = limiter([Limit::per_second(10), "600/min".parse().expect("a limit")]);
    let text = permit(&limiter, 1).to_string();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let refused = |text: &str| {
        let forged = match text.parse::<Permit>() {
            Ok(permit) => limiter.refund(&permit).err(),
            Err(error) => Some(error),
        };
        assert!(matches!(forged, Some(PermitError::Forged | PermitError::Malformed)), "{text} is accepted");
    };
    // A character is six bits: all that it can be instead is more than every single bit flipped.
    for place in 0..text.len() {
        for letter in alphabet.iter().filter(|letter| **letter != text.as_bytes()[place]) {
            let mut changed = text.clone().into_bytes();
            changed[place] = *letter;
            refused(&String::from_utf8(changed).expect("letters"));
        }
        refused(&text[..place]);
        refused(&text[place + 1..]);
    }
    for letter in alphabet {
        refused(&format!("{text}{}", char::from(*letter)));
    }
    for other in ["", "A", "AA==", "permit", "%", &text.repeat(2), &format!("{text}\n")] {
        refused(other);
    }
    assert_eq!(limiter.refund(&text.parse().expect("a permit")), Ok(Settled), "the text form is the permit");
    assert_eq!(remaining(&limiter), 10);
}

#[test]
fn a_secret_tells_whose_permits_are_good() {
    let (ours, _) = limiter([Limit::per_second(10)]);
    let permit = permit(&ours, 4);
    let stranger = Limiter::builder([Limit::per_second(10)]).clock(ManualClock::new(1_000_000)).build();
    assert_eq!(stranger.expect("a limiter").refund(&permit), Err(PermitError::Forged));
    // Another node knows the permit, but has nothing recorded under it.
    let (other_node, _) = limiter([Limit::per_second(10)]);
    assert_eq!(other_node.refund(&permit), Ok(Void));
    assert_eq!(remaining(&ours), 6);
}

#[test]
fn a_permit_is_good_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("snapshot");
    let (limiter, clock) = limiter([Limit::per_second(10)]);
    let (spent, fresh) = (permit(&limiter, 2), permit(&limiter, 3));
    assert_eq!(limiter.refund(&spent), Ok(Settled));
    limiter.save(&path).expect("a snapshot");
    drop(limiter);
    let builder = Limiter::builder([Limit::per_second(10)]).permit_secret(SECRET).clock(clock);
    let limiter = builder.load(&path).expect("the snapshot").build().expect("a limiter");
    assert_eq!(remaining(&limiter), 7);
    assert_eq!(limiter.refund(&spent), Ok(AlreadySpent));
    assert_eq!(limiter.refund(&fresh), Ok(Settled));
    assert_eq!(remaining(&limiter), 10);
}

#[test]
fn a_meter_gives_no_permits() {
    let meter = Limit::per_second(10).gcra(5).expect("a meter");
    let (limiter, _) = limiter([Limit::per_second(10), meter]);
    assert_eq!(limiter.reserve("key", 1), Err(PermitError::NotRefundable));
    assert_eq!(remaining(&limiter), 5, "and charges nothing");
}

#[test]
fn only_an_admission_gets_a_permit() {
    let (limiter, _) = limiter([Limit::per_second(2)]);
    assert_eq!(limiter.reserve("key", 3).expect("an answer").permit, None);
    assert_eq!(limiter.reserve("key", 0).expect("an answer").permit, None);
    permit(&limiter, 2);
    assert_eq!(limiter.reserve("key", 1).expect("an answer").permit, None);
}

#[test]
fn a_place_in_flight_is_released_or_ends_with_its_hold() {
    let limit = Limit::in_flight(2, Duration::from_secs(30)).expect("a limit");
    let (limiter, clock) = limiter([limit]);
    let (first, second) = (permit(&limiter, 1), permit(&limiter, 1));
    let refused = limiter.check("key");
    assert_eq!(refused.retry_after_ms(), Some(30_000));
    assert_eq!(limiter.refund(&first), Ok(Settled));
    assert!(limiter.check("key").is_allowed(), "a released place is free");
    assert_eq!(limiter.refund(&first), Ok(AlreadySpent));
    assert!(!limiter.check("key").is_allowed(), "a second release frees nobody else's place");
    clock.advance_ms(29_999);
    assert!(!limiter.check("key").is_allowed());
    clock.advance_ms(1);
    assert!(limiter.check("key").is_allowed(), "who crashed frees its place at the end of its hold");
    assert_eq!(limiter.refund(&second), Ok(Expired));
}

#[test]
fn several_limits_are_refunded_together() {
    let minute: Limit = "15/min".parse().expect("a limit");
    let limits = [Limit::per_second(10), minute.counter().expect("a counter"), minute];
    let (limiter, clock) = limiter(limits);
    let (first, second) = (permit(&limiter, 4), permit(&limiter, 5));
    assert_eq!(limiter.refund(&first), Ok(Settled));
    let left =
        |limiter: &Manual| limiter.peek("key").decisions.iter().map(|d| d.remaining).collect::<Vec<_>>();
    assert_eq!(left(&limiter), [5, 10, 10]);
    clock.advance_ms(1_000);
    assert_eq!(left(&limiter), [10, 10, 10]);
    assert_eq!(limiter.settle(&second, 2), Ok(Settled), "gone in one limit, there in the others");
    assert_eq!(left(&limiter), [10, 13, 13]);
    assert_eq!(limiter.settle(&second, 2), Ok(AlreadySpent));
}

/// Charges of one request that met on a subject, each with limits of its own, are all given back.
#[test]
fn charges_that_met_on_a_subject_are_refunded_together() {
    let limits = [Limit::per_second(10), Limit::per_minute(10)];
    let (store, space, key) = (Memory::new(0), Space::named(""), Key::from("key"));
    let charge = |limits, cost| [Charge { space, key: &key, limits, cost }];
    let ask = |charges: &[Charge<'_>]| store.decide_now(&ChargeRequest { now_ms: 5, holder: 0, charges });
    let charges = [charge(&limits[..1], 3)[0], charge(&limits[1..], 3)[0]];
    let call = ChargeRequest { now_ms: 5, holder: 1, charges: &charges };
    let returns = [RefundScope::Everything; 2];
    let Admission { verdict, grants: granted } =
        store.reserve_now(&ReserveRequest { charge: call, refunds: &returns });
    let subjects = limits.iter().zip(&*verdict.decisions).enumerate().map(|(index, (limit, decision))| {
        let receipt = Receipt { stamp_ms: decision.stamp_ms, cost: 3, holder: 1 };
        let grant = granted.of(index).expect("a permit");
        ChargeRecord { space, key: key.clone(), grant, receipts: vec![(limit.id(), receipt)] }
    });
    let settlement = Settlement { now_ms: 5, id: 1, cost: 0, slots: 0, subjects: subjects.collect() };
    assert_eq!(store.settle_now(&settlement), [Settled; 2]);
    assert_eq!(ask(&charge(&limits, 0)).decisions.iter().map(|d| d.remaining).collect::<Vec<_>>(), [10, 10]);
    assert_eq!(store.settle_now(&settlement), [AlreadySpent; 2]);
}

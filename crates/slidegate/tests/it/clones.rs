//! Limiters and what they share: clones, the asynchronous form, and keys that are reset.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use slidegate::{Key, Limit, Limiter, ManualClock, Memory, PermitError, SettleOutcome};

fn limiter(limit: Limit) -> Limiter<Memory, ManualClock> {
    Limiter::builder([limit]).clock(ManualClock::new(1_000_000)).build().expect("a limiter")
}

#[test]
fn clones_share_one_state() {
    let limiter = limiter(Limit::per_minute(2));
    let clone = limiter.clone();
    assert_eq!(limiter.check("alice").remaining(), Some(1));
    assert_eq!(clone.check("alice").remaining(), Some(0));
    assert!(limiter.check("alice").is_denied());
    assert_eq!(size_of_val(&limiter), size_of::<usize>(), "a clone is a reference");
}

#[tokio::test]
async fn both_forms_share_one_state() {
    let limiter = limiter(Limit::per_minute(3));
    let any_store = limiter.to_async();
    assert_eq!(limiter.check("alice").remaining(), Some(2));
    let Ok(verdict) = any_store.check("alice").await;
    assert_eq!(verdict.remaining(), Some(1));
    let reserved = any_store.reserve("alice", 1).await.expect("permits are issued");
    let permit = reserved.permit.expect("admitted");
    assert_eq!(limiter.refund(&permit), Ok(SettleOutcome::Settled));
    let Ok(verdict) = any_store.peek("alice").await;
    assert_eq!((verdict.remaining(), limiter.peek("alice").remaining()), (Some(1), Some(1)));
    let Ok(()) = any_store.reset("alice").await;
    assert_eq!(limiter.peek("alice").remaining(), Some(3));
}

#[test]
fn a_reset_key_has_its_whole_quota_and_no_permits() {
    let limiter = limiter(Limit::per_minute(2));
    let permit = limiter.reserve("alice", 2).expect("permits are issued").permit.expect("admitted");
    assert!(limiter.check("bob").is_allowed());
    limiter.reset("alice");
    assert_eq!(limiter.peek("alice").remaining(), Some(2));
    assert_eq!(limiter.peek("bob").remaining(), Some(1), "the others keep their state");
    assert_eq!(limiter.refund(&permit), Ok(SettleOutcome::Void));
    let stranger = Limiter::new([Limit::per_minute(2)]).expect("a limiter");
    assert_eq!(stranger.refund(&permit), Err(PermitError::Forged));
}

#[test]
fn verdicts_as_text_and_as_durations() {
    let limiter = limiter(Limit::per_minute(2));
    let verdict = limiter.check("alice");
    assert_eq!((verdict.to_string().as_str(), verdict.retry_after()), ("allowed, 1 remaining", None));
    let verdict = limiter.check_n("alice", 2);
    assert!(verdict.is_denied() && !verdict.is_allowed());
    assert_eq!(verdict.retry_after(), Some(Duration::from_secs(60)));
    assert_eq!(verdict.to_string(), "denied, retry after 60000 ms");
    let verdict = limiter.check_n("alice", 3);
    assert_eq!(verdict.retry_after(), None);
    assert_eq!(verdict.to_string(), "denied, cost exceeds the limit");
}

#[test]
fn addresses_and_arrays_are_keys() {
    let limiter = limiter(Limit::per_minute(9));
    let address = Ipv4Addr::new(203, 0, 113, 7);
    assert_eq!(limiter.check(address).remaining(), Some(8));
    assert_eq!(limiter.check(IpAddr::from(address)).remaining(), Some(7));
    assert_eq!(limiter.check("203.0.113.7").remaining(), Some(6), "an address is its text");
    assert_eq!(limiter.check((IpAddr::from(address), "login")).remaining(), Some(8));
    let token = [7_u8; 16];
    assert_eq!(limiter.check(Key::from(&token)).remaining(), Some(8));
    assert_eq!(limiter.check(&token[..]).remaining(), Some(7), "an array is its bytes");
    assert_eq!(limiter.check(token).remaining(), Some(6));
    assert_eq!(limiter.check(([7_u8; 16], 1)).remaining(), Some(8));
}

//! Different keys never share state. With a quota of 1, a key that shared another's state would be
//! refused.

use std::collections::HashSet;

use slidegate::store::{Charge, ChargeRequest};
use slidegate::{Key, Limit, Limiter, ManualClock, Memory, Space};
use slidegate_testkit::cases::Rng;

fn limiter() -> Limiter<Memory, ManualClock> {
    let builder = Limiter::builder([Limit::per_day(1).fixed().expect("a fixed window")]);
    builder.max_memory(256 << 20).clock(ManualClock::new(0)).build().expect("a limiter")
}

/// Admits every key once, then refuses every key: none is another's.
fn all_different(keys: &[Key<'_>]) {
    let limiter = limiter();
    for key in keys {
        assert!(limiter.check(key.clone()).is_allowed(), "{key:?} shares the state of a key before it");
    }
    for key in keys {
        assert!(!limiter.check(key.clone()).is_allowed(), "{key:?} lost its state");
    }
    assert_eq!(limiter.store().stats().keys, keys.len());
}

fn all_same(keys: &[Key<'_>]) {
    let limiter = limiter();
    assert!(limiter.check(keys[0].clone()).is_allowed());
    for key in keys {
        assert!(!limiter.check(key.clone()).is_allowed(), "{key:?} is not {:?}", keys[0]);
    }
}

/// A part as it is encoded within a key of several parts.
fn encoded(part: &[u8]) -> Vec<u8> {
    let mut bytes = (part.len() as u64).to_le_bytes().to_vec();
    bytes.extend(part);
    bytes
}

#[test]
fn parts_do_not_run_into_each_other() {
    let embedded = [encoded(b"a"), encoded(b"bc")].concat();
    all_different(&[
        ("a", "bc").into(),
        ("ab", "c").into(),
        ("abc",).into(),
        "abc".into(),
        ("", "abc").into(),
        ("abc", "").into(),
        ("a", "b", "c").into(),
        ("a", "", "bc").into(),
        ("a", "bc", "").into(),
        ("", "a", "bc").into(),
        ("a", "b", "c", "").into(),
        // Parts and bytes that look like the encoding of others.
        embedded.as_slice().into(),
        (embedded.as_slice(),).into(),
        (&embedded[..9], &embedded[9..]).into(),
        encoded(&embedded).into(),
        (encoded(b"").as_slice(), "abc").into(),
    ]);
}

#[test]
fn nothing_is_a_key_of_its_own() {
    all_different(&[
        "".into(),
        ("",).into(),
        ("", "").into(),
        ("", "", "").into(),
        ("", "", "", "").into(),
        Key::from_parts([""; 5]),
        Key::from_parts([""; 0]),
        "\0".into(),
        vec![0; 8].into(),
        vec![0; 16].into(),
        (vec![0; 8].as_slice(),).into(),
    ]);
}

#[test]
fn the_same_key_in_other_words() {
    all_same(&[42_u8.into(), 42_i128.into(), 42_usize.into(), "42".into(), b"42".as_slice().into()]);
    all_same(&[(-7_i8).into(), (-7_i64).into(), "-7".into(), String::from("-7").into()]);
    all_same(&[u128::MAX.into(), u128::MAX.to_string().into(), (&u128::MAX.to_string()).into()]);
    all_same(&[("a", 42_u64).into(), ("a", "42").into(), Key::from_parts(["a", "42"])]);
    all_same(&[("a",).into(), Key::from_parts([&String::from("a")]), (b"a".as_slice(),).into()]);
    all_same(&[("a", "b").into(), Key::from(("a", "b")).into_owned()]);
    all_different(&[42_u8.into(), (42_u8,).into(), "042".into(), "+42".into(), 4_u8.into(), 2_u8.into()]);
}

/// Every length up to 200, and at every length keys that differ in one place only, or not at all
/// but in length.
#[test]
fn every_length_and_every_place() {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for length in 0..=200 {
        let bytes = vec![b'a'; length];
        keys.extend((0..length).map(|place| {
            let mut changed = bytes.clone();
            changed[place] = b'b';
            changed
        }));
        keys.push(vec![0; length]);
        keys.push(bytes);
    }
    keys.sort();
    keys.dedup();
    let forms = keys.iter().flat_map(|key| [key.as_slice().into(), (key.as_slice(),).into()]);
    all_different(&forms.collect::<Vec<_>>());
}

/// A single bit tells keys apart, whatever their length.
#[test]
fn every_bit_counts() {
    let rng = Rng::new(1);
    for length in [1, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65, 111, 112, 113, 200] {
        let bytes: Vec<u8> = (0..length).map(|_| rng.next() as u8).collect();
        let flipped = |bit: usize| {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            Key::from(changed)
        };
        let keys = (0..8 * length).map(flipped).chain([bytes.as_slice().into()]);
        all_different(&keys.collect::<Vec<_>>());
    }
}

#[test]
fn spaces_are_apart() {
    let store = Memory::new(64 << 20);
    let limit = Limit::per_day(1);
    let key = Key::from("alice");
    let names: Vec<String> = (0..1_000).map(|n| format!("rule {n}")).collect();
    let check = |name: &str| {
        let charge = Charge { space: Space::named(name), key: &key, limits: &[limit], cost: 1 };
        store.decide_now(&ChargeRequest { now_ms: 0, holder: 0, charges: &[charge] }).is_allowed()
    };
    assert!(names.iter().all(|name| check(name)), "a space shares the state of one before it");
    assert!(!names.iter().any(|name| check(name)), "a space lost its state");
}

/// A million keys of the shapes that people use, and of random bytes of all lengths.
#[test]
fn a_million_keys() {
    const KEYS: u64 = 1_000_000;
    let limiter = limiter();
    let rng = Rng::new(2);
    let mut distinct: HashSet<Key<'static>> = HashSet::new();
    for n in 0..KEYS {
        let address = format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255);
        let key: Key<'_> = match n % 6 {
            0 => n.into(),
            1 => format!("user-{n}@example.com").into(),
            2 => ("acme", n).into(),
            3 => (address.as_str(), "GET", n >> 24).into(),
            4 => n.to_be_bytes().to_vec().into(),
            _ => (0..rng.between(9, 40)).map(|_| rng.next() as u8).collect::<Vec<_>>().into(),
        };
        let key = key.into_owned();
        assert_eq!(limiter.check(key.clone()).is_allowed(), distinct.insert(key.clone()), "{key:?}");
    }
    assert_eq!(limiter.store().stats().keys, distinct.len());
    assert!(distinct.len() as u64 > KEYS - 10, "only {} of the keys are different", distinct.len());
}

//! Held against certificates of rcgen, whose dates are those of another crate.

use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::{Validity, days};

const DAY_MS: u64 = 86_400_000;

fn certificate(key: &KeyPair, from: (i32, u8, u8), until: (i32, u8, u8)) -> Vec<u8> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.not_before = date_time_ymd(from.0, from.1, from.2);
    params.not_after = date_time_ymd(until.0, until.1, until.2);
    params.self_signed(key).expect("a certificate").der().to_vec()
}

/// 1950 to 2049 has one form, all else another.
#[test]
fn dates_are_read() {
    let key = KeyPair::generate().expect("a key");
    let rows = [
        ((1970, 1, 1), (1970, 1, 2), 0, 1),
        ((1999, 12, 31), (2000, 2, 29), 10_956, 11_016),
        ((2000, 3, 1), (2024, 2, 29), 11_017, 19_782),
        ((2024, 3, 1), (2049, 12, 31), 19_783, 29_219),
        ((2050, 1, 1), (2100, 3, 1), 29_220, 47_541),
        ((2026, 7, 4), (9999, 12, 31), 20_638, 2_932_896),
        ((1950, 1, 1), (1969, 12, 31), 0, 0),
    ];
    for (from, until, from_days, until_days) in rows {
        let expected = Validity { not_before_ms: from_days * DAY_MS, not_after_ms: until_days * DAY_MS };
        assert_eq!(Validity::of(&certificate(&key, from, until)), Some(expected), "{from:?} {until:?}");
    }
}

/// Every day of four centuries, and the times of a day, by what rcgen writes.
#[test]
fn days_follow_each_other() {
    let mut expected = days(1900, 1, 1);
    for year in 1900..2300_i64 {
        let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let months = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in (1..).zip(months) {
            for day in 1..=length {
                assert_eq!(days(year, month, day), expected, "{year}-{month}-{day}");
                expected += 1;
            }
        }
    }
    assert_eq!(days(1970, 1, 1), 0);
}

#[test]
fn a_certificate_every_hundred_days() {
    let key = KeyPair::generate().expect("a key");
    let start = date_time_ymd(1970, 1, 1);
    for step in 0..400_u32 {
        let mut params = CertificateParams::default();
        let since = std::time::Duration::from_secs(u64::from(step) * (100 * 86_400 + 12_345));
        params.not_after = start + since;
        let der = params.self_signed(&key).expect("a certificate").der().to_vec();
        let read = Validity::of(&der).map(|validity| validity.not_after_ms);
        assert_eq!(read, Some(since.as_millis() as u64), "{since:?}");
    }
}

/// However it is cut or changed, there is an answer and no panic.
#[test]
fn what_is_no_certificate_has_no_dates() {
    let key = KeyPair::generate().expect("a key");
    let whole = certificate(&key, (2020, 1, 1), (2030, 1, 1));
    assert!(Validity::of(&whole).is_some());
    for cut in 0..whole.len() {
        assert_eq!(Validity::of(&whole[..cut]), None, "{cut}");
    }
    for index in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[index] ^= 1 << bit;
            let _an_answer = Validity::of(&changed);
        }
    }
    for nonsense in
        [&[][..], &[0x30], &[0x30, 0x80], &[0x30, 0xFF, 1], &[0x30, 0x84, 255, 255, 255, 255], b"text"]
    {
        assert_eq!(Validity::of(nonsense), None, "{nonsense:?}");
    }
}

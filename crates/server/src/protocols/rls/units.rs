//! Envoy's units of time. A month has 30 days there, and a year 365.

use super::proto::Unit;

const DAY_MS: u64 = 86_400_000;
const UNITS: [(Unit, u64); 7] = [
    (Unit::Second, 1_000),
    (Unit::Minute, 60_000),
    (Unit::Hour, 3_600_000),
    (Unit::Day, DAY_MS),
    (Unit::Week, 7 * DAY_MS),
    (Unit::Month, 30 * DAY_MS),
    (Unit::Year, 365 * DAY_MS),
];

/// Length of a unit; `None` if it is unknown.
pub(crate) fn window_ms(unit: i32) -> Option<u64> {
    let unit = Unit::try_from(unit).ok()?;
    UNITS.iter().find(|(candidate, _)| *candidate == unit).map(|(_, ms)| *ms)
}

/// Unit of exactly this length.
pub(crate) fn unit(window_ms: u64) -> Unit {
    UNITS.iter().find(|(_, ms)| *ms == window_ms).map_or(Unit::Unknown, |(unit, _)| *unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_found_by_its_length() {
        for number in 0..=7 {
            let found = window_ms(number).map(|ms| unit(ms) as i32);
            assert_eq!(found, (number != 0).then_some(number));
        }
        assert_eq!((window_ms(-1), window_ms(8)), (None, None));
        assert_eq!(
            (unit(999), unit(30_000), unit(28 * DAY_MS)),
            (Unit::Unknown, Unit::Unknown, Unit::Unknown)
        );
        assert_eq!(window_ms(Unit::Year as i32), Some(31_536_000_000));
    }
}

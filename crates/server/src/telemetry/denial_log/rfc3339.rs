//! RFC 3339 times.

/// RFC 3339 in UTC, to the millisecond: `2026-11-16T16:45:00.250Z`.
pub(super) fn rfc3339(unix_ms: u64) -> String {
    const DAY_MS: u64 = 86_400_000;
    let (year, month, day) = date(unix_ms / DAY_MS);
    let ms = unix_ms % DAY_MS;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1_000)
}

/// Date of a day since 1970: year, month and day.
fn date(days: u64) -> (u64, u64, u64) {
    // Years that begin in March end with their leap day, and 400 years have a fixed number of days.
    const FOUR_CENTURIES: u64 = 146_097;
    const TO_MARCH_OF_YEAR_0: u64 = 719_468;
    let days = days + TO_MARCH_OF_YEAR_0;
    let day = days % FOUR_CENTURIES;
    let year = (day - day / 1_460 + day / 36_524 - day / (FOUR_CENTURIES - 1)) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // From March on, every five months have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = days / FOUR_CENTURIES * 400 + year + u64::from(month <= 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_in_calendars() {
        let rows = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_745_000_145_250, "2025-04-18T18:15:45.250Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (unix_ms, expected) in rows {
            assert_eq!(rfc3339(unix_ms), expected, "{unix_ms}");
        }
    }

    /// Day by day through 800 years, as one counts on a calendar.
    #[test]
    fn every_day_follows_the_day_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..292_194 {
            assert_eq!(date(days), (year, month, day), "day {days}");
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + u64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (month, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }
}

//! Limits as people write them: `5/min`, `100/30s`, `1000/h`, `10000/day`.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::limit::error::LimitError;
use crate::limit::{Limit, LimitKind};

const UNITS: [(&str, u64); 19] = [
    ("ms", 1),
    ("s", 1_000),
    ("sec", 1_000),
    ("second", 1_000),
    ("seconds", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("minute", 60_000),
    ("minutes", 60_000),
    ("h", 3_600_000),
    ("hour", 3_600_000),
    ("hours", 3_600_000),
    ("d", 86_400_000),
    ("day", 86_400_000),
    ("days", 86_400_000),
    ("w", 604_800_000),
    ("wk", 604_800_000),
    ("week", 604_800_000),
    ("weeks", 604_800_000),
];

/// Units of a window.
pub fn window_units() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|(name, _)| *name)
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let (quota, window) = text.split_once('/').ok_or(LimitError::Syntax)?;
        Limit::new(parse_count(quota.trim())?, parse_window(window.trim())?)
    }
}

impl TryFrom<&str> for Limit {
    type Error = LimitError;

    fn try_from(text: &str) -> Result<Self, LimitError> {
        text.parse()
    }
}

/// Parses the window of a limit: `30s`, `min`, `2h`. The count is 1 by default.
pub fn parse_window(text: &str) -> Result<Duration, LimitError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at(digits);
    let count =
        if count.is_empty() { 1 } else { parse_count(count).map_err(|_| LimitError::WindowTooLong)? };
    let unit = unit.trim_start();
    let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(LimitError::Unit)?;
    let ms = count.checked_mul(*unit_ms).ok_or(LimitError::WindowTooLong)?;
    Ok(Duration::from_millis(ms))
}

/// Parses a quota: digits, with optional `_` between them, as in `1_000_000`.
pub fn parse_count(text: &str) -> Result<u64, LimitError> {
    let mut value: Option<u64> = None;
    for byte in text.bytes() {
        value = match (byte, value) {
            (b'0'..=b'9', _) => Some(
                value
                    .unwrap_or(0)
                    .checked_mul(10)
                    .and_then(|tens| tens.checked_add(u64::from(byte - b'0')))
                    .ok_or(LimitError::QuotaTooLarge { quota: u64::MAX })?,
            ),
            (b'_', Some(_)) => value,
            _ => return Err(LimitError::Syntax),
        };
    }
    value.filter(|_| !text.ends_with('_')).ok_or(LimitError::Syntax)
}

/// Text form: `5/min`, `600/min counter`, `20 in flight for 30s`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (quota, window) = (self.quota(), Window(self.window_ms()));
        match self.kind() {
            LimitKind::Log { .. } => write!(f, "{quota}/{window}"),
            LimitKind::Counter => write!(f, "{quota}/{window} counter"),
            LimitKind::Fixed => write!(f, "{quota}/{window} fixed"),
            LimitKind::Gcra { burst } => write!(f, "{quota}/{window} gcra burst {burst}"),
            LimitKind::InFlight => write!(f, "{quota} in flight for {window}"),
        }
    }
}

struct Window(u64);

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DISPLAY_UNITS: [(&str, u64); 5] =
            [("day", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
        let (unit, unit_ms) =
            DISPLAY_UNITS.into_iter().find(|(_, ms)| self.0.is_multiple_of(*ms)).unwrap_or(("ms", 1));
        match self.0 / unit_ms {
            1 => f.write_str(unit),
            count => write!(f, "{count}{unit}"),
        }
    }
}

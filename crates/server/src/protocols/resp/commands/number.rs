//! Whole numbers in arguments.

use super::command_error::CommandError;

/// Number from 0 to 2^64 − 1: digits only.
#[inline]
pub(super) fn unsigned(argument: &[u8]) -> Result<u64, CommandError> {
    digits(argument).ok_or(CommandError::NOT_A_NUMBER)
}

/// Number that may be negative: digits, perhaps after a minus.
pub(super) fn signed(argument: &[u8]) -> Result<i64, CommandError> {
    let text = std::str::from_utf8(argument).ok().filter(|text| !text.starts_with('+'));
    text.and_then(|text| text.parse().ok()).ok_or(CommandError::NOT_A_NUMBER)
}

#[inline]
pub(super) fn digits(argument: &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for byte in argument {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    if argument.is_empty() { None } else { Some(number) }
}

/// Number for a client: integers of RESP have 63 bits.
#[inline]
pub(super) fn saturate(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_number() {
        let rows = [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("99999999999999999999", None),
            ("", None),
            ("+1", None),
            ("-1", None),
            (" 1", None),
            ("1.0", None),
            ("\u{661}", None),
        ];
        for (text, number) in rows {
            assert_eq!(unsigned(text.as_bytes()).ok(), number, "{text:?}");
        }
        for (text, number) in [("-5", Some(-5)), ("+5", None), ("5", Some(5)), ("x", None)] {
            assert_eq!(signed(text.as_bytes()).ok(), number, "{text:?}");
        }
    }
}

//! Integer reply: `:42` and the line end.
//!
//! Replies are mostly numbers, so these are written without a loop over digits: all digits at once
//! into a machine word, with leading zeros shifted out.

/// Maximum length of the line of a number: a kind, a sign, 19 digits, and the line end.
pub(super) const MAX_LINE_BYTES: usize = 24;
/// CRLF, first byte lowest.
const LINE_END: u64 = u16::from_le_bytes(*b"\r\n") as u64;

/// Writes a line at the beginning of `text`, and returns its length. Bytes after it may change too.
#[inline(always)]
pub(super) fn write(number: i64, text: &mut [u8; MAX_LINE_BYTES]) -> usize {
    match u32::try_from(number) {
        Ok(number @ 0..=9) => {
            text[..4].copy_from_slice(&[b':', b'0' + number as u8, b'\r', b'\n']);
            4
        }
        Ok(number @ 10..=9_999) => write_short(number, text),
        Ok(number @ 10_000..=99_999_999) => write_long(number, text),
        _ => write_any(number, text),
    }
}

/// Writes two to four digits.
#[inline]
fn write_short(number: u32, text: &mut [u8; MAX_LINE_BYTES]) -> usize {
    let digits = digits(u64::from(number)) >> 32;
    let zeros = u32::from(number < 100) + u32::from(number < 1_000);
    let length = 4 - zeros;
    let line = u64::from(b':') | digits >> (8 * zeros) << 8 | LINE_END << (8 * (length + 1));
    text[..8].copy_from_slice(&line.to_le_bytes());
    length as usize + 3
}

/// Writes up to eight digits.
fn write_long(number: u32, text: &mut [u8; MAX_LINE_BYTES]) -> usize {
    let digits = digits(u64::from(number));
    let zeros = (digits & !ZEROS).trailing_zeros() / 8;
    let length = 8 - zeros as usize;
    text[0] = b':';
    text[1..9].copy_from_slice(&(digits >> (8 * zeros)).to_le_bytes());
    text[1 + length..3 + length].copy_from_slice(b"\r\n");
    length + 3
}

fn write_any(number: i64, text: &mut [u8; MAX_LINE_BYTES]) -> usize {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    let end = 1 + digits.len();
    text[0] = b':';
    text[1..end].copy_from_slice(digits);
    text[end..end + 2].copy_from_slice(b"\r\n");
    end + 2
}

/// Eight times the digit 0.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// All eight digits of a number, the first one in the lowest byte. The number is split into halves
/// until every byte has a digit, all parts by one multiplication.
#[inline]
fn digits(number: u64) -> u64 {
    // Two parts of four digits, then four of two, then eight of one. The factors are slightly above
    // 1/100 and 1/10, and exact for parts of this size.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = (fours * 10_486) >> 20 & 0x7F_0000_007F;
    let twos = hundreds + ((fours - 100 * hundreds) << 16);
    let tens = (twos * 103) >> 10 & 0x000F_000F_000F_000F;
    (tens + ((twos - 10 * tens) << 8)) | ZEROS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_others_write_them() {
        let powers = (0..19).map(|power| 10_i64.pow(power));
        let edges = powers.flat_map(|power| [power - 1, power, power + 1, -power]);
        // Every four digits, in either half and in both.
        let halves = (0..10_000).flat_map(|half| [half, half * 10_000, half * 10_001]);
        let spread = (0..100_000_000).step_by(997);
        let ends = [99_999_999, i64::from(u32::MAX), i64::MIN, i64::MAX];
        for number in edges.chain(halves).chain(spread).chain(ends) {
            let mut text = [b'?'; MAX_LINE_BYTES];
            let length = write(number, &mut text);
            assert_eq!(String::from_utf8_lossy(&text[..length]), format!(":{number}\r\n"));
        }
    }
}

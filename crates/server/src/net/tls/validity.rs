//! Validity of a certificate, read from its DER.
//!
//! Only two times are needed, and they are near the beginning, so a parser of X.509 with its ten
//! dependencies would be expensive. rustls validates the certificate.

/// Times between which a certificate is valid. Those before 1970 are 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Validity {
    pub(super) not_before_ms: u64,
    pub(super) not_after_ms: u64,
}

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// Tag of the version, which certificates of version 1 do not have.
const VERSION: u8 = 0xA0;

impl Validity {
    /// Validity of a certificate; `None` if it is not one of RFC 5280.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let mut signed = Der(certificate).sequence()?.sequence()?;
        if signed.0.first() == Some(&VERSION) {
            signed.next()?;
        }
        let (_serial_number, _algorithm, _issuer) = (signed.next()?, signed.next()?, signed.next()?);
        let mut validity = signed.sequence()?;
        Some(Self { not_before_ms: validity.time_ms()?, not_after_ms: validity.time_ms()? })
    }
}

/// Rest of the DER.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value: its tag and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk()?;
        let mut bytes = usize::from(first);
        if first >= 0x80 {
            let digits;
            (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            if digits.len() > 4 {
                return None;
            }
            bytes = digits.iter().fold(0, |bytes, &digit| (bytes << 8) | usize::from(digit));
        }
        let (content, rest) = rest.split_at_checked(bytes)?;
        self.0 = rest;
        Some((tag, content))
    }

    fn sequence(&mut self) -> Option<Self> {
        self.next().filter(|(tag, _)| *tag == SEQUENCE).map(|(_, content)| Self(content))
    }

    fn time_ms(&mut self) -> Option<u64> {
        let (tag, text) = self.next()?;
        let (year, rest) = match tag {
            // Two digits are a year from 1950 to 2049.
            UTC_TIME => match number(text, 2)? {
                (year @ 50.., rest) => (1900 + year, rest),
                (year, rest) => (2000 + year, rest),
            },
            GENERALIZED_TIME => number(text, 4)?,
            _ => return None,
        };
        let (month, rest) = number(rest, 2)?;
        let (day, rest) = number(rest, 2)?;
        let (hour, rest) = number(rest, 2)?;
        let (minute, rest) = number(rest, 2)?;
        let (second, rest) = number(rest, 2)?;
        let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
        if rest != b"Z" || !is_date || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
        Some(u64::try_from(seconds).unwrap_or(0) * 1_000)
    }
}

/// Number of this many decimal digits, and the rest.
fn number(text: &[u8], digits: usize) -> Option<(i64, &[u8])> {
    let (digits, rest) = text.split_at_checked(digits)?;
    let value = digits
        .iter()
        .try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0')));
    Some((value?, rest))
}

/// Days since 1970-01-01. Years begin in March here, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    const TO_1970: i64 = 719_468;
    let (year, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let in_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // From March on months have 31, 30, 31, 30, 31 days, repeatedly.
    in_years + (months * 153 + 2) / 5 + day - 1 - TO_1970
}

#[cfg(test)]
mod tests;

//! IP addresses in a canonical form, so that one client is one subject.
//!
//! An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) is the IPv4 address. IPv6 addresses with a
//! common prefix are one client: a customer gets a whole /64 or more, and could otherwise use a new
//! address for every request. An address of NAT64 or 6to4 counts as the embedded IPv4 address: all
//! NAT64 clients share a prefix, and a 6to4 client has 2^16 of them. Networks do not match embedded
//! addresses, because a relay may let anybody have one.

use std::borrow::Cow;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::diagnostics::InvalidValue;

/// Number of bits before the IPv4 address in a mapped one.
const MAPPED_BITS: u8 = 96;

/// Length up to which a text is checked in one step: that of all dotted texts.
const SHORT_BYTES: usize = 16;
/// Length of the longest text of an address, 39, in whole steps.
const LONG_BYTES: usize = 48;

/// Canonical address and its text, without an allocation.
#[derive(Clone, Debug)]
pub struct RequestAddress {
    address: IpAddr,
    text: TextBytes,
    len: usize,
}

/// Text and zeros behind it. Aligned, so that it is checked in words: it has to be UTF-8.
#[derive(Clone, Debug)]
#[repr(align(8))]
struct TextBytes([u8; LONG_BYTES]);

impl RequestAddress {
    /// Text of an address. An IPv4-mapped one becomes the IPv4 address.
    #[inline]
    pub fn new(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let mut text = Self { address, text: TextBytes([0; LONG_BYTES]), len: 0 };
        match address {
            IpAddr::V4(address) => text.write_dotted(address),
            IpAddr::V6(address) => text.write_colons(address),
        }
        text
    }

    /// The address.
    #[inline]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Its text.
    #[inline]
    pub fn as_str(&self) -> &str {
        let whole = if self.len < SHORT_BYTES { &self.text.0[..SHORT_BYTES] } else { &self.text.0[..] };
        str::from_utf8(whole).unwrap_or_default().get(..self.len).unwrap_or_default()
    }

    #[inline]
    fn write_dotted(&mut self, address: Ipv4Addr) {
        let mut at = 0;
        for octet in address.octets() {
            let (digits, len) = OCTETS[usize::from(octet)];
            self.text.0[at..at + 4].copy_from_slice(&digits);
            at += len;
        }
        // Without the last dot.
        self.len = at - 1;
    }

    #[cold]
    fn write_colons(&mut self, address: Ipv6Addr) {
        let mut rest = &mut self.text.0[..];
        let _ = write!(rest, "{address}");
        self.len = LONG_BYTES - rest.len();
    }
}

/// Each octet in decimal with a dot behind it, and the length of that.
static OCTETS: [([u8; 4], usize); 256] = {
    let (mut all, mut octet) = ([([b'.'; 4], 0); 256], 0);
    while octet < 256 {
        let digits = [b'0' + (octet / 100) as u8, b'0' + (octet / 10 % 10) as u8, b'0' + (octet % 10) as u8];
        let zeros = if octet < 10 {
            2
        } else if octet < 100 {
            1
        } else {
            0
        };
        let mut at = zeros;
        while at < 3 {
            all[octet].0[at - zeros] = digits[at];
            at += 1;
        }
        all[octet].1 = 4 - zeros;
        octet += 1;
    }
    all
};

/// Canonical address of a text.
#[inline]
pub(super) fn parse(text: &str) -> Option<IpAddr> {
    match dotted(text.as_bytes()) {
        Some(address) => Some(IpAddr::V4(address)),
        None => parse_any(text),
    }
}

fn parse_any(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// Dotted decimal form, which most addresses have. This parser takes a third of the time of the
/// general one.
#[inline]
fn dotted(text: &[u8]) -> Option<Ipv4Addr> {
    let (first, text) = octet(text)?;
    let (second, text) = octet(text.strip_prefix(b".")?)?;
    let (third, text) = octet(text.strip_prefix(b".")?)?;
    let (fourth, text) = octet(text.strip_prefix(b".")?)?;
    text.is_empty().then(|| Ipv4Addr::new(first, second, third, fourth))
}

/// Number up to 255 without leading zeros, and the rest of the text.
#[inline]
fn octet(text: &[u8]) -> Option<(u8, &[u8])> {
    match *text {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ref rest @ ..] => {
            let number = u32::from(a - b'0') * 100 + u32::from(b - b'0') * 10 + u32::from(c - b'0');
            Some((u8::try_from(number).ok()?, rest))
        }
        [a @ b'1'..=b'9', b @ b'0'..=b'9', ref rest @ ..] => Some(((a - b'0') * 10 + (b - b'0'), rest)),
        [a @ b'0'..=b'9', ref rest @ ..] => Some((a - b'0', rest)),
        _ => None,
    }
}

/// Whether the text of an IPv4 address is in dotted decimal form. In a mapped address no dot comes
/// so early.
#[inline]
fn is_dotted(text: &[u8]) -> bool {
    matches!(text, [_, b'.', ..] | [_, _, b'.', ..] | [_, _, _, b'.', ..])
}

/// IPv4 address that is embedded in an address of NAT64 (64:ff9b::/96, RFC 6052) or 6to4
/// (2002::/16, RFC 3056).
pub fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}

/// Value of an address in a key.
#[inline]
pub(super) fn subject(text: &str, address: IpAddr, ipv6_prefix: u8) -> Cow<'_, [u8]> {
    match address {
        IpAddr::V4(_) if is_dotted(text.as_bytes()) => Cow::Borrowed(text.as_bytes()),
        IpAddr::V4(address) => Cow::Owned(address.to_string().into_bytes()),
        IpAddr::V6(address) => {
            if let Some(inside) = embedded_ipv4(address) {
                return Cow::Owned(inside.to_string().into_bytes());
            }
            let net = Ipv6Net::new(address, ipv6_prefix).unwrap_or_else(|_| address.into());
            Cow::Owned(net.trunc().to_string().into_bytes())
        }
    }
}

/// Canonical network of an address or a CIDR block.
pub(super) fn network(text: &str) -> Result<IpNet, InvalidValue> {
    let alone = text.parse().map(|address: IpAddr| IpNet::from(address.to_canonical()));
    let net: IpNet = alone.or_else(|_| text.parse()).map_err(|_| {
        let help =
            "write an address, as in `192.0.2.1` or `2001:db8::1`, or a CIDR block, as in `10.0.0.0/8`";
        InvalidValue::new(format!("invalid address or network `{text}`"), help)
    })?;
    Ok(match net.addr().to_canonical() {
        IpAddr::V4(address) if net.prefix_len() >= MAPPED_BITS => {
            Ipv4Net::new(address, net.prefix_len() - MAPPED_BITS).map_or(net, IpNet::V4)
        }
        _ => net,
    }
    .trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_standard_library() {
        let octets = (0..=255_u8).flat_map(|octet| {
            [[octet, 0, 9, 10], [99, octet, 100, 255], [255, 255, octet, 255], [1, 2, 3, octet]]
        });
        for octets in octets {
            assert_eq!(RequestAddress::new(octets.into()).as_str(), Ipv4Addr::from(octets).to_string());
        }
        let longest = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
        for (address, text) in
            [("::ffff:192.0.2.1", "192.0.2.1"), ("2001:DB8::1", "2001:db8::1"), (longest, longest)]
        {
            let address: IpAddr = address.parse().expect("an address");
            let written = RequestAddress::new(address);
            assert_eq!((written.as_str(), written.address()), (text, address.to_canonical()));
        }
    }

    #[test]
    fn clients_by_address() {
        let table = [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::ffff:c000:201", "192.0.2.1"),
            ("::FFFF:C000:0201", "192.0.2.1"),
            ("0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::/64"),
            ("2001:DB8::1", "2001:db8::/64"),
            ("2001:db8:0::1", "2001:db8::/64"),
            ("2001:0db8:0000:0000:ffff:ffff:ffff:ffff", "2001:db8::/64"),
            ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
            ("::1", "::/64"),
            // No mapped addresses: another prefix, or an old form that nothing uses any more.
            ("::192.0.2.1", "::/64"),
            ("::fffe:192.0.2.1", "::/64"),
            // Whoever is behind a translator or a relay has an address of IPv4, too.
            ("64:ff9b::192.0.2.1", "192.0.2.1"),
            ("64:FF9B::C000:201", "192.0.2.1"),
            ("64:ff9b::1:192.0.2.1", "64:ff9b::/64"),
            ("64:ff9b:1::192.0.2.1", "64:ff9b:1::/64"),
            ("2002:c000:201::1", "192.0.2.1"),
            ("2002:c000:201:ffff:1:2:3:4", "192.0.2.1"),
            ("2003:c000:201::1", "2003:c000:201::/64"),
        ];
        for (text, expected) in table {
            let address = parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(String::from_utf8_lossy(&subject(text, address, 64)), expected, "{text}");
        }
    }

    /// Held against the standard library's own reading.
    #[test]
    fn dotted_addresses() {
        let parts = [
            "", "0", "00", "01", "9", "10", "99", "100", "249", "255", "256", "260", "1000", "a", "-1", " 1",
        ];
        for first in parts {
            for last in parts {
                let texts = [
                    format!("{first}.0.255.{last}"),
                    format!("1.{first}.{last}.4"),
                    format!("{first}.{last}"),
                    format!("{first}.1.2.3.{last}"),
                    format!("{first}..2.{last}"),
                    format!("1.2.3.{last}."),
                ];
                for text in texts {
                    assert_eq!(dotted(text.as_bytes()), text.parse().ok(), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn prefixes_of_any_length() {
        let address = "2001:db8:1234:5678:9abc:def0:1234:5678";
        let table = [
            (1, "::/1"),
            (32, "2001:db8::/32"),
            (48, "2001:db8:1234::/48"),
            (56, "2001:db8:1234:5600::/56"),
            (60, "2001:db8:1234:5670::/60"),
            (127, "2001:db8:1234:5678:9abc:def0:1234:5678/127"),
            (128, "2001:db8:1234:5678:9abc:def0:1234:5678/128"),
        ];
        for (prefix, expected) in table {
            let parsed = parse(address).expect("an address");
            assert_eq!(String::from_utf8_lossy(&subject(address, parsed, prefix)), expected);
            let mapped = parse("::ffff:192.0.2.1").expect("an address");
            assert_eq!(&*subject("::ffff:192.0.2.1", mapped, prefix), b"192.0.2.1", "whatever the prefix");
            let relayed = parse("2002:c000:201::1").expect("an address");
            assert_eq!(&*subject("2002:c000:201::1", relayed, prefix), b"192.0.2.1", "whatever the prefix");
        }
    }

    #[test]
    fn networks_hold_folded_addresses() {
        let table = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.9.9.9/8", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "11.1.2.3", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::/32", "2001:DB8:1::1", true),
            ("2001:db8::1", "2001:db8:0:0::1", true),
            ("2001:db8::1", "2001:db8::2", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "::ffff:192.0.2.1", false),
            // Anybody can have one that contains an address of a network: it lets nobody in.
            ("10.0.0.0/8", "64:ff9b::10.1.2.3", false),
            ("10.0.0.0/8", "2002:a01:203::1", false),
            ("2002::/16", "2002:a01:203::1", true),
        ];
        for (net, address, expected) in table {
            let parsed = parse(address).expect("an address");
            let net_parsed = network(net).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(net_parsed.contains(&parsed), expected, "{address} in {net}");
        }
        for wrong in
            ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "::/129", "localhost", "010.0.0.1", "1.2.3.4 "]
        {
            assert!(network(wrong).is_err(), "{wrong}");
        }
    }
}

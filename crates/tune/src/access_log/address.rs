//! Address of the client, by the server's own rule.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;
use slidegate::http::client_address;

/// Address of the client, from the peer and `X-Forwarded-For`.
#[derive(Clone, Debug)]
pub(super) struct ClientAddress {
    trusted_proxies: Arc<[IpNet]>,
    headers: HeaderMap,
    last: AddressText,
}

/// Addresses that were read last, and the client's: consecutive lines often share them.
#[derive(Clone, Default, Debug)]
struct AddressText {
    peer: Vec<u8>,
    forwarded_for: Vec<u8>,
    client: String,
}

impl ClientAddress {
    pub(super) fn new(trusted_proxies: &[IpNet]) -> Self {
        let trusted_proxies = trusted_proxies.into();
        Self { trusted_proxies, headers: HeaderMap::new(), last: AddressText::default() }
    }

    /// Appends the address of a line's client; nothing if it has none.
    #[inline]
    pub(super) fn append(&mut self, peer: &[u8], forwarded_for: &[u8], text: &mut Vec<u8>) {
        if self.trusted_proxies.is_empty() && is_plain_ipv4(peer) {
            text.extend_from_slice(peer);
            return;
        }
        if peer != self.last.peer || forwarded_for != self.last.forwarded_for {
            let client = self.client(peer, forwarded_for);
            self.last.client = client.map(|client| client.to_string()).unwrap_or_default();
            self.last.peer = peer.to_vec();
            self.last.forwarded_for = forwarded_for.to_vec();
        }
        text.extend_from_slice(self.last.client.as_bytes());
    }

    /// Without a peer, as Envoy's log has none, the last hop is the peer: Envoy wrote it.
    fn client(&mut self, peer: &[u8], forwarded_for: &[u8]) -> Option<IpAddr> {
        let (peer, hops) = match peer {
            b"" | b"-" => match memchr::memrchr(b',', forwarded_for) {
                Some(comma) => (&forwarded_for[comma + 1..], &forwarded_for[..comma]),
                None => (forwarded_for, &b""[..]),
            },
            peer => (peer, forwarded_for),
        };
        let peer = parse(peer.trim_ascii())?;
        self.headers.clear();
        if !hops.is_empty() && hops != b"-" {
            self.headers.insert("x-forwarded-for", HeaderValue::from_bytes(hops).ok()?);
        }
        client_address(peer, &self.headers, &self.trusted_proxies)
    }
}

/// Address without a port, or with one as some servers log it: `192.0.2.1:443`, `[2001:db8::1]:443`.
fn parse(peer: &[u8]) -> Option<IpAddr> {
    let peer = str::from_utf8(peer).ok()?;
    if let Ok(address) = peer.parse() {
        return Some(address);
    }
    let host = match peer.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?.0,
        None => peer.rsplit_once(':')?.0,
    };
    host.parse().ok()
}

/// Whether a peer is an IPv4 address in its only spelling: four numbers up to 255 without leading zeros.
#[inline]
fn is_plain_ipv4(peer: &[u8]) -> bool {
    let mut rest = peer;
    for number in 0..4 {
        if number > 0 {
            let Some(behind) = rest.strip_prefix(b".") else { return false };
            rest = behind;
        }
        let digits = match rest {
            [b'1', b'0'..=b'9', b'0'..=b'9', ..]
            | [b'2', b'0'..=b'4', b'0'..=b'9', ..]
            | [b'2', b'5', b'0'..=b'5', ..] => 3,
            [b'1'..=b'9', b'0'..=b'9', ..] => 2,
            [b'0'..=b'9', ..] => 1,
            _ => return false,
        };
        rest = &rest[digits..];
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_addresses_are_those_with_one_spelling() {
        let rows = [
            "0.0.0.0",
            "255.255.255.255",
            "1.2.3",
            "1.2.3.4.5",
            "256.1.1.1",
            "01.2.3.4",
            "1.2.3.",
            ".1.2.3.4",
            "1..2.3",
            "1.2.3.400",
            "1.2.3.4444",
            "",
            "::1",
            "1.2.3.4 ",
            "10.20.30.40",
            "00.1.1.1",
        ];
        for peer in rows {
            assert_eq!(is_plain_ipv4(peer.as_bytes()), peer.parse::<std::net::Ipv4Addr>().is_ok(), "{peer}");
        }
    }

    #[test]
    fn clients() {
        let trusted: [IpNet; 1] = ["10.0.0.0/8".parse().expect("a network")];
        let rows: [(&[IpNet], &str, &str, &str); 15] = [
            (&[], "192.0.2.1", "198.51.100.7", "192.0.2.1"),
            (&[], "192.0.2.1:2817", "", "192.0.2.1"),
            (&[], "2001:DB8:0::1", "", "2001:db8::1"),
            (&[], "[2001:db8::1]:443", "", "2001:db8::1"),
            (&[], "::ffff:192.0.2.1", "", "192.0.2.1"),
            (&[], "client.example", "", ""),
            (&[], "-", "", ""),
            (&[], "", "198.51.100.7, 192.0.2.1", "192.0.2.1"),
            (&[], "", "-", ""),
            (&trusted, "192.0.2.1", "198.51.100.7", "192.0.2.1"),
            (&trusted, "10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
            (&trusted, "10.0.0.1", "-", "10.0.0.1"),
            (&trusted, "10.0.0.1", "unknown", ""),
            (&trusted, "", "198.51.100.7,10.0.0.2", "198.51.100.7"),
            (&trusted, "-", "203.0.113.9, 192.0.2.1", "192.0.2.1"),
        ];
        for (trusted, peer, forwarded_for, expected) in rows {
            let mut address = ClientAddress::new(trusted);
            for _ in 0..2 {
                let mut text = Vec::new();
                address.append(peer.as_bytes(), forwarded_for.as_bytes(), &mut text);
                assert_eq!(text, expected.as_bytes(), "{peer} {forwarded_for}");
            }
        }
    }
}

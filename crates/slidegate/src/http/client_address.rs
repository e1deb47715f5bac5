//! Client address: the peer's, or the one that trusted proxies report.

use std::net::{IpAddr, SocketAddr};

use ::http::HeaderMap;
use ::http::header::HeaderName;
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Address of the client: the peer, or the rightmost hop of `X-Forwarded-For` that is not a trusted
/// proxy. A hop further left was written by that one, and may be forged. `None` if a trusted proxy
/// reports something that is not an address: the proxy's own address would be wrong, as rules may
/// trust it.
#[inline]
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Option<IpAddr> {
    let client = peer.to_canonical();
    if is_trusted(client, trusted) { hop_before(client, headers, trusted) } else { Some(client) }
}

/// Address that a trusted proxy reports.
#[inline(never)]
fn hop_before(mut client: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Option<IpAddr> {
    let lines = headers.get_all(X_FORWARDED_FOR).into_iter().rev();
    let mut hops = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    while is_trusted(client, trusted) {
        match hops.by_ref().map(<[u8]>::trim_ascii).find(|hop| !hop.is_empty()) {
            Some(hop) => client = parse(hop)?,
            None => break,
        }
    }
    Some(client)
}

fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|net| net.contains(&address))
}

/// Address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`,
/// `[2001:db8::1]:80`.
fn parse(hop: &[u8]) -> Option<IpAddr> {
    let hop = str::from_utf8(hop).ok()?;
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => hop.parse().ok().or_else(|| hop.parse().ok().map(|with_port: SocketAddr| with_port.ip())),
    };
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests;

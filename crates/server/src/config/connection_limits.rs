//! Limits of connections: how many, how large and how slow.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::Ipv6Net;
use slidegate::policy::embedded_ipv4;
use slidegate::policy::file::{self, DurationMs, Span, Spanned};

use super::error::ConfigError;
use super::value::value;

/// Limits of connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) max: usize,
    /// Whether `max` stands in the file.
    pub(crate) is_max_written: bool,
    pub(crate) max_per_address: usize,
    pub(crate) max_requests: u32,
    pub(crate) max_head_bytes: usize,
    pub(crate) max_body_bytes: usize,
    pub(crate) head: Duration,
    pub(crate) body: Duration,
    pub(crate) write: Duration,
    pub(crate) idle: Duration,
    pub(crate) ipv6_prefix: u8,
}

impl ConnectionLimits {
    pub(crate) fn new(connections: &file::Connections, ipv6_prefix: u8) -> Result<Self, ConfigError> {
        let file::Connections { max, max_per_address, max_requests, max_head, max_body, .. } = connections;
        let duration = |spot: &Spanned<DurationMs>| {
            value(spot, "server.connections").map(|duration| Duration::from_millis(duration.0))
        };
        Ok(Self {
            max: *value(max, "server.connections.max")? as usize,
            is_max_written: max.at != Span::default(),
            max_per_address: *value(max_per_address, "server.connections.max_per_address")? as usize,
            max_requests: *max_requests,
            max_head_bytes: value(max_head, "server.connections.max_head")?.0 as usize,
            max_body_bytes: value(max_body, "server.connections.max_body")?.0 as usize,
            head: duration(&connections.head_timeout)?,
            body: duration(&connections.body_timeout)?,
            write: duration(&connections.write_timeout)?,
            idle: duration(&connections.idle_timeout)?,
            ipv6_prefix,
        })
    }

    /// How often it is looked at who has not moved. What begins is seen at the next look, and what is over at the one after its
    /// time, so two looks are the most by which an end is late: an eighth of the time.
    pub(crate) fn sweep_interval(&self) -> Duration {
        let shortest = self.head.min(self.body).min(self.write).min(self.idle);
        (shortest / 16).clamp(Duration::from_millis(5), Duration::from_millis(500))
    }

    /// Group of an address: the address itself, or its IPv6 prefix.
    pub(crate) fn group(&self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V6(address) => match embedded_ipv4(address) {
                Some(inside) => IpAddr::V4(inside),
                None => {
                    IpAddr::V6(Ipv6Net::new(address, self.ipv6_prefix).map_or(address, |net| net.network()))
                }
            },
            v4 => v4,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn usual() -> ConnectionLimits {
        ConnectionLimits::new(&file::Connections::default(), 64).expect("the usual settings are complete")
    }

    #[test]
    fn a_look_is_a_sixteenth_of_the_shortest_time() {
        for (head_ms, interval_ms) in [(10_000, 500), (1_600, 100), (80, 5), (1, 5)] {
            let bounds = ConnectionLimits { head: Duration::from_millis(head_ms), ..usual() };
            assert_eq!(bounds.sweep_interval(), Duration::from_millis(interval_ms), "{head_ms} ms");
        }
    }

    #[test]
    fn who_counts_as_one() {
        let rows = [
            ("203.0.113.7", 64, "203.0.113.7"),
            ("::ffff:203.0.113.7", 64, "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"),
            ("2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::"),
            ("2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6"),
            ("2001:db8:1:2:3:4:5:6", 1, "::"),
            ("64:ff9b::203.0.113.7", 64, "203.0.113.7"),
            ("2002:cb00:7107:1:2:3:4:5", 64, "203.0.113.7"),
        ];
        for (address, ipv6_prefix, group) in rows {
            let bounds = ConnectionLimits { ipv6_prefix, ..usual() };
            let parsed: IpAddr = address.parse().expect("an address");
            assert_eq!(bounds.group(parsed).to_string(), group, "{address}/{ipv6_prefix}");
        }
    }
}

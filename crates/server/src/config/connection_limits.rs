//! Limits of connections: how many, how large and how slow.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::Ipv6Net;
use slidegate::policy::embedded_ipv4;
use slidegate::policy::format::schema::{Value, whole};
use slidegate::policy::format::{Checked, Fields, InvalidValue, Schemas, Size, ValueCheck};

slidegate::policy::section! {
    /// Bounds of connections, for each listener. A connection that exceeds a timeout is closed at
    /// the latest an eighth of the timeout (or 20 ms) after it. If many expire at once, 8 are
    /// closed per millisecond and core.
    pub struct ConnectionLimits: "connections" as "Connections" {
        /// Maximum number of open connections of each listener; lower if the system allows fewer
        /// open files. Beyond it the longest idle connection is closed; if none has been idle for a
        /// second, the new one is refused (503). A connection may take about `max_head` and twice
        /// `max_body` of memory; an idle one takes 20 KiB or less.
        max: Checked<ConnectionCount> = 16_384;
        /// Maximum number of connections from one address (a gateway has only one). IPv6 addresses
        /// with the same `ipv6_prefix` bits are one address.
        max_per_address: Checked<ConnectionCount> = 4_096;
        /// Timeout of a request head, from its first byte; on a new connection from its start,
        /// including the TLS handshake (408).
        head as "head_timeout": Checked<PhaseTimeout> = "10s";
        /// Timeout of the request body (408).
        body as "body_timeout": Checked<PhaseTimeout> = "10s";
        /// Timeout of writing a response.
        write as "write_timeout": Checked<PhaseTimeout> = "10s";
        /// Timeout of an idle connection.
        idle as "idle_timeout": Checked<PhaseTimeout> = "75s";
        /// Maximum number of requests of a connection. 0: no maximum.
        max_requests: u32 = 0;
        /// Maximum size of a request head, at least 8KiB (431).
        max_head_bytes as "max_head": Checked<RequestSize<MIN_HEAD>> = "64KiB";
        /// Maximum size of a request body (413).
        max_body_bytes as "max_body": Checked<RequestSize<1>> = "64KiB";
    }
    plus {
        /// Whether the file has `max`.
        has_max: bool = false;
        /// IPv6 prefix length of an address.
        ipv6_prefix: u8 = 64;
    }
    then note_max;
}

fn note_max(limits: &mut ConnectionLimits, fields: &Fields<'_>) {
    limits.has_max = fields.find("max").is_some();
}

/// Maximum number of connections, more than a process can have.
const MAX_CONNECTIONS: u32 = 1_000_000;
/// Minimum size of a request head, enough for any regular client.
const MIN_HEAD: usize = 8 << 10;
/// Maximum size of a request.
const MAX_BYTES: usize = 16 << 20;

/// Number of connections.
struct ConnectionCount;

impl ValueCheck for ConnectionCount {
    type Base = u32;
    type Value = usize;

    fn check(number: u32) -> Result<usize, InvalidValue> {
        if (1..=MAX_CONNECTIONS).contains(&number) {
            return Ok(number as usize);
        }
        let help =
            format!("use 1 to {MAX_CONNECTIONS}; the defaults are 16384 in total and 4096 per address");
        Err(InvalidValue::new(format!("invalid number of connections {number}"), help))
    }

    fn schema(_: &mut Schemas) -> Value {
        whole(1, u64::from(MAX_CONNECTIONS))
    }
}

/// Timeout of a phase of a connection.
struct PhaseTimeout;

impl ValueCheck for PhaseTimeout {
    type Base = Duration;
    type Value = Duration;

    fn check(timeout: Duration) -> Result<Duration, InvalidValue> {
        let zero = || InvalidValue::new("the timeout must not be 0", "write at least 1ms; 10s is common");
        if timeout.is_zero() { Err(zero()) } else { Ok(timeout) }
    }
}

/// Size of a request, or of a part of it.
struct RequestSize<const LEAST: usize>;

impl<const LEAST: usize> ValueCheck for RequestSize<LEAST> {
    type Base = Size;
    type Value = usize;

    fn check(bytes: usize) -> Result<usize, InvalidValue> {
        if (LEAST..=MAX_BYTES).contains(&bytes) {
            return Ok(bytes);
        }
        let unit = if LEAST == 1 { "byte" } else { "bytes" };
        let help = format!("use {LEAST} {unit} to 16MiB; 64KiB is common");
        Err(InvalidValue::new(format!("invalid request size {bytes}"), help))
    }
}

impl ConnectionLimits {
    /// Interval of the sweep for connections that exceed a timeout. A sweep sees the start of a
    /// phase, and the first one after its timeout ends it, so that the end is at most two intervals
    /// late: an eighth of the timeout.
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
        ConnectionLimits::default()
    }

    #[test]
    fn a_sweep_interval_is_a_sixteenth_of_the_shortest_timeout() {
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

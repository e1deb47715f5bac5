//! Capacity of a listener: connections that fit into the file descriptors that the system allows.

use tracing::Level;

use crate::config::listener::Listener;
use crate::config::{ConnectionLimits, ServerSettings};

/// Maximum number of surplus connections, and of those that are leaving.
const MAX_SURPLUS: u64 = 256;
/// Descriptors for everything but connections: snapshots, policy and certificates, Redis,
/// telemetry, the log.
const RESERVED: u64 = 256;
/// Minimum number of connections of the admin listener, where there is not enough for all.
const OPERATORS: u64 = 1_024;

/// Number of connections of one listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Capacity {
    /// Regular connections.
    pub(crate) max: usize,
    /// Surplus connections; as many again may be leaving.
    pub(crate) surplus: usize,
}

impl Capacity {
    /// Capacity in the settings, without a limit of descriptors.
    pub(crate) fn configured(bounds: &ConnectionLimits) -> Self {
        Self { max: bounds.max, surplus: MAX_SURPLUS as usize }
    }

    /// Capacity within a number of descriptors, at most the one that is wanted.
    fn within(files: u64, wanted: usize) -> Self {
        let rest = files.saturating_sub(wanted as u64) / 2;
        let surplus = rest.max(files / 8).clamp(1, MAX_SURPLUS);
        let max = usize::try_from(files.saturating_sub(2 * surplus)).unwrap_or(usize::MAX);
        Self { max: max.clamp(1, wanted), surplus: surplus as usize }
    }
}

/// File descriptors of the process, divided among its listeners.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpenFiles {
    allowed: u64,
    /// Listeners of the data plane.
    listeners: u64,
    has_admin: bool,
}

impl OpenFiles {
    pub(crate) fn new(allowed: u64, server: &ServerSettings) -> Self {
        let listeners = 1 + u64::from(server.grpc.is_some()) + u64::from(server.resp.is_some());
        Self { allowed, listeners, has_admin: server.admin.is_some() }
    }

    /// Capacity of a listener under these settings. No listener can take descriptors of another, or
    /// reserved ones.
    pub(crate) fn capacity(self, bounds: &ConnectionLimits, listener: Listener) -> Capacity {
        let wanted = bounds.max as u64 + 2 * MAX_SURPLUS;
        let free = self.allowed - RESERVED.min(self.allowed / 4);
        let operators = if self.has_admin { (OPERATORS + 2 * MAX_SURPLUS).min(self.allowed / 8) } else { 0 };
        let of_each = wanted.min(free.saturating_sub(operators.min(wanted)) / self.listeners);
        let files = match listener {
            Listener::Admin => free - of_each * self.listeners,
            Listener::Http | Listener::Grpc | Listener::Resp => of_each,
        };
        Capacity::within(files, bounds.max)
    }

    /// Logs that fewer connections fit than the settings allow: a warning if the file has the
    /// number. The default is an upper bound, so that fewer are normal: then it is a debug message.
    pub(crate) fn warn(self, bounds: &ConnectionLimits) {
        let Some((level, text)) = self.shortage(bounds) else { return };
        match level {
            Level::WARN => tracing::warn!("{text}"),
            _ => tracing::debug!("{text}"),
        }
    }

    /// Message about a listener with fewer connections than the settings allow, and its level.
    fn shortage(self, bounds: &ConnectionLimits) -> Option<(Level, String)> {
        let max = self.capacity(bounds, Listener::Http).max;
        let of_admin = self.capacity(bounds, Listener::Admin).max;
        let (wanted, allowed, listeners) = (bounds.max, self.allowed, self.listeners);
        if max == wanted && (of_admin == wanted || !self.has_admin) {
            return None;
        }
        let admin =
            if self.has_admin { format!(", and {of_admin} on the admin listener") } else { String::new() };
        let text = format!(
            "server.connections.max is {wanted}, and the system allows {allowed} open files: {max} connections fit on each \
             of {listeners} listeners{admin}. Raise the one (ulimit -n, LimitNOFILE=), or lower the other"
        );
        Some((if bounds.has_max { Level::WARN } else { Level::DEBUG }, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::connection_limits::tests::usual;

    /// All descriptors that listeners may have open at the same time.
    fn most(files: OpenFiles, bounds: &ConnectionLimits) -> u64 {
        let total = |listener| {
            let Capacity { max, surplus } = files.capacity(bounds, listener);
            (max + 2 * surplus) as u64
        };
        files.listeners * total(Listener::Http) + if files.has_admin { total(Listener::Admin) } else { 0 }
    }

    #[test]
    fn connections_never_take_what_is_reserved() {
        let bounds = ConnectionLimits { max: 1_000_000, ..usual() };
        for allowed in [64, 100, 256, 1_000, 1_024, 4_096, 20_000, 65_536, 1 << 20, u64::MAX >> 1] {
            for (listeners, has_admin) in [(1, false), (1, true), (3, true)] {
                let files = OpenFiles { allowed, listeners, has_admin };
                let reserved = RESERVED.min(allowed / 4);
                assert!(most(files, &bounds) + reserved <= allowed, "{files:?}: {}", most(files, &bounds));
                assert!(files.capacity(&bounds, Listener::Http).max >= 8, "{files:?}");
            }
        }
    }

    #[test]
    fn nobody_gets_more_than_is_configured() {
        let files = OpenFiles { allowed: 1 << 20, listeners: 3, has_admin: true };
        for max in [1, 7, 16_384] {
            let bounds = ConnectionLimits { max, ..usual() };
            assert_eq!(files.capacity(&bounds, Listener::Resp), Capacity::configured(&bounds));
        }
    }

    /// The unit of systemd has enough for the usual settings on four listeners.
    #[test]
    fn the_unit_covers_four_listeners() {
        let unit = include_str!("../../../../../packaging/slidegate.service");
        let allowed = unit.lines().find_map(|line| line.strip_prefix("LimitNOFILE=")?.parse().ok());
        let files = OpenFiles { allowed: allowed.expect("a number"), listeners: 3, has_admin: true };
        for listener in Listener::ALL {
            assert_eq!(files.capacity(&usual(), listener), Capacity::configured(&usual()), "{listener:?}");
        }
    }

    #[test]
    fn a_number_in_the_file_that_does_not_fit_is_a_warning() {
        let files = OpenFiles { allowed: 1_024, listeners: 1, has_admin: true };
        let written = |text: &str| {
            let config = Config::parse("test.yaml", text).unwrap_or_else(|errors| panic!("{errors}"));
            files.shortage(&config.settings.server.connections).map(|(level, _)| level)
        };
        let head = "version: 1\nrules: [{ name: a, key: [ip], limits: [5/min] }]\n";
        for (server, level) in [
            ("server: { connections: { max: 16384 } }", Some(Level::WARN)),
            ("server: { connections: { max: 16383 } }", Some(Level::WARN)),
            ("server: { connections: { idle_timeout: 1m } }", Some(Level::DEBUG)),
            ("", Some(Level::DEBUG)),
            ("server: { connections: { max: 64 } }", None),
        ] {
            assert_eq!(written(&format!("{head}{server}\n")), level, "{server}");
        }
    }
}

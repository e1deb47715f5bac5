//! Table of commands.

/// Verb of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Check,
    Limit,
    Refund,
    Settle,
    Throttle,
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Command,
    Info,
    Select,
    Reset,
    Quit,
}

/// Specification of a command.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) verb: Verb,
    pub(super) name: &'static str,
    /// Number of arguments, its name included; negative: a minimum.
    pub(super) arity: i64,
    pub(super) flags: &'static [&'static str],
    /// Position of its key, if it has one.
    pub(super) key: i64,
    pub(super) group: &'static str,
    pub(super) summary: &'static str,
}

const DECIDES: &[&str] = &["write", "fast"];
const LOCAL: &[&str] = &["loading", "stale", "fast"];
const NO_AUTH: &[&str] = &["loading", "stale", "fast", "no_auth"];

/// All commands, each at the index of its verb.
pub(super) static SPECS: [Spec; 15] = {
    use Verb::*;
    const fn decides(verb: Verb, name: &'static str, arity: i64, summary: &'static str) -> Spec {
        Spec { flags: DECIDES, group: "slidegate", ..spec(verb, name, arity, summary) }
    }
    const fn spec(verb: Verb, name: &'static str, arity: i64, summary: &'static str) -> Spec {
        Spec { verb, name, arity, flags: LOCAL, key: 0, group: "connection", summary }
    }
    [
        decides(Check, "sg.check", -4, "Decides a request by the rules of the policy."),
        Spec { key: 1, ..decides(Limit, "sg.limit", -4, "Decides by an ad hoc limit.") },
        decides(Refund, "sg.refund", 2, "Refunds a permit."),
        decides(Settle, "sg.settle", 3, "Settles a permit at its actual cost."),
        Spec { key: 1, ..decides(Throttle, "cl.throttle", -1, "Decides by an ad hoc meter, as redis-cell.") },
        spec(Ping, "ping", -1, "Returns PONG, or its argument."),
        spec(Echo, "echo", 2, "Returns its argument."),
        Spec { flags: NO_AUTH, ..spec(Hello, "hello", -1, "Negotiates the protocol.") },
        Spec { flags: NO_AUTH, ..spec(Auth, "auth", -2, "Authenticates with the token.") },
        spec(Client, "client", -2, "Reads and sets names of the connection."),
        Spec { group: "server", ..spec(Command, "command", -1, "Lists the commands.") },
        Spec { group: "server", ..spec(Info, "info", -1, "Describes the server.") },
        spec(Select, "select", 2, "Selects database 0, the only one."),
        Spec { flags: NO_AUTH, ..spec(Reset, "reset", 1, "Resets the connection.") },
        Spec { flags: NO_AUTH, ..spec(Quit, "quit", -1, "Closes the connection.") },
    ]
};

impl Spec {
    /// Command of a name in any case. The most frequent ones, in capitals, are found first.
    #[inline]
    pub(super) fn find(name: &[u8]) -> Option<&'static Self> {
        match name {
            b"SG.CHECK" => return Some(&SPECS[Verb::Check as usize]),
            b"CL.THROTTLE" => return Some(&SPECS[Verb::Throttle as usize]),
            b"SG.LIMIT" => return Some(&SPECS[Verb::Limit as usize]),
            _ => {}
        }
        SPECS.iter().find(|spec| spec.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether a number of arguments, its name included, is valid.
    #[inline]
    pub(super) fn takes(&self, arguments: usize) -> bool {
        let arguments = arguments as i64;
        if self.arity < 0 { arguments >= -self.arity } else { arguments == self.arity }
    }

    /// Whether a client may use it before it has authenticated.
    #[inline]
    pub(super) fn needs_no_auth(&self) -> bool {
        matches!(self.verb, Verb::Hello | Verb::Auth | Verb::Reset | Verb::Quit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name() {
        for (index, spec) in SPECS.iter().enumerate() {
            assert_eq!(spec.verb as usize, index, "{}", spec.name);
            for name in [spec.name.to_owned(), spec.name.to_uppercase()] {
                assert_eq!(Spec::find(name.as_bytes()).map(|found| found.verb), Some(spec.verb), "{name}");
            }
            assert_eq!(spec.flags.contains(&"no_auth"), spec.needs_no_auth(), "{}", spec.name);
        }
        for name in ["", "GET", "SG.CHECKS", "CL.THROTTLED"] {
            assert!(Spec::find(name.as_bytes()).is_none(), "{name}");
        }
    }
}

//! Table of commands.

/// A command.
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

const ASKS: &[&str] = &["write", "fast"];
const SAYS: &[&str] = &["loading", "stale", "fast"];
const FOR_ANYBODY: &[&str] = &["loading", "stale", "fast", "no_auth"];

/// All of them, each at the place of its verb.
pub(super) static SPECS: [Spec; 15] = {
    use Verb::*;
    const fn spec(verb: Verb, name: &'static str, arity: i64) -> Spec {
        Spec { verb, name, arity, flags: SAYS, key: 0, group: "connection", summary: "" }
    }
    [
        Spec {
            flags: ASKS,
            group: "slidegate",
            summary: "Decides a request by the rules of the policy.",
            ..spec(Check, "sg.check", -4)
        },
        Spec {
            flags: ASKS,
            key: 1,
            group: "slidegate",
            summary: "Decides by a limit that comes along.",
            ..spec(Limit, "sg.limit", -4)
        },
        Spec {
            flags: ASKS,
            group: "slidegate",
            summary: "Gives back what a permit stands for.",
            ..spec(Refund, "sg.refund", 2)
        },
        Spec {
            flags: ASKS,
            group: "slidegate",
            summary: "Replaces what was charged by what it really cost.",
            ..spec(Settle, "sg.settle", 3)
        },
        Spec {
            flags: ASKS,
            key: 1,
            group: "slidegate",
            summary: "Decides by a meter that comes along, as redis-cell does.",
            ..spec(Throttle, "cl.throttle", -1)
        },
        Spec { summary: "Answers PONG, or what it is given.", ..spec(Ping, "ping", -1) },
        Spec { summary: "Answers what it is given.", ..spec(Echo, "echo", 2) },
        Spec { flags: FOR_ANYBODY, summary: "Chooses the protocol.", ..spec(Hello, "hello", -1) },
        Spec { flags: FOR_ANYBODY, summary: "Brings the token.", ..spec(Auth, "auth", -2) },
        Spec { summary: "Tells and sets names of the connection.", ..spec(Client, "client", -2) },
        Spec { group: "server", summary: "Lists the commands.", ..spec(Command, "command", -1) },
        Spec { group: "server", summary: "Tells about the server.", ..spec(Info, "info", -1) },
        Spec { summary: "Chooses database 0, the only one.", ..spec(Select, "select", 2) },
        Spec { flags: FOR_ANYBODY, summary: "Begins anew.", ..spec(Reset, "reset", 1) },
        Spec { flags: FOR_ANYBODY, summary: "Ends the connection.", ..spec(Quit, "quit", -1) },
    ]
};

impl Spec {
    /// The command of this name, however it is written. As most clients write what most of them ask, it is found at once.
    #[inline]
    pub(super) fn find(name: &[u8]) -> Option<&'static Self> {
        match name {
            b"SG.CHECK" => return Some(&SPECS[Verb::Check as usize]),
            b"CL.THROTTLE" => return Some(&SPECS[Verb::Throttle as usize]),
            b"SG.LIMIT" => return Some(&SPECS[Verb::Limit as usize]),
            _ => {}
        }
        let mut upper = [0; 11];
        let upper = upper.get_mut(..name.len())?;
        upper.copy_from_slice(name);
        upper.make_ascii_uppercase();
        let verb = match &*upper {
            b"SG.CHECK" => Verb::Check,
            b"CL.THROTTLE" => Verb::Throttle,
            b"SG.LIMIT" => Verb::Limit,
            b"SG.REFUND" => Verb::Refund,
            b"SG.SETTLE" => Verb::Settle,
            b"PING" => Verb::Ping,
            b"ECHO" => Verb::Echo,
            b"HELLO" => Verb::Hello,
            b"AUTH" => Verb::Auth,
            b"CLIENT" => Verb::Client,
            b"COMMAND" => Verb::Command,
            b"INFO" => Verb::Info,
            b"SELECT" => Verb::Select,
            b"RESET" => Verb::Reset,
            b"QUIT" => Verb::Quit,
            _ => return None,
        };
        Some(&SPECS[verb as usize])
    }

    /// Whether it takes so many arguments, its name included.
    #[inline]
    pub(super) fn takes(&self, arguments: usize) -> bool {
        let arguments = arguments as i64;
        if self.arity < 0 { arguments >= -self.arity } else { arguments == self.arity }
    }

    /// Whether one may use it who has not said who he is.
    #[inline]
    pub(super) fn is_for_anybody(&self) -> bool {
        matches!(self.verb, Verb::Hello | Verb::Auth | Verb::Reset | Verb::Quit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name() {
        for (place, spec) in SPECS.iter().enumerate() {
            assert_eq!(spec.verb as usize, place, "{}", spec.name);
            for name in [spec.name.to_owned(), spec.name.to_uppercase()] {
                assert_eq!(Spec::find(name.as_bytes()).map(|found| found.verb), Some(spec.verb), "{name}");
            }
            assert_eq!(spec.flags.contains(&"no_auth"), spec.is_for_anybody(), "{}", spec.name);
        }
        for name in ["", "GET", "SG.CHECKS", "CL.THROTTLED"] {
            assert!(Spec::find(name.as_bytes()).is_none(), "{name}");
        }
    }
}

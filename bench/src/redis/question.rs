//! Question to a contender: its command and the reading of its reply.

use super::resp::{Reply, pack};
use super::server::Server;

/// Packs the command that decides about these subjects.
type Command = Box<dyn Fn(&[u64]) -> Vec<u8>>;

/// Question to a contender.
pub struct Question {
    /// Name in the tables.
    pub name: &'static str,
    /// Decisions per command.
    pub per_command: usize,
    /// Packs the command that decides about these subjects.
    pub command: Command,
    /// Number of admissions in a reply.
    pub admitted: Box<dyn Fn(Reply<'_>) -> usize>,
}

impl Question {
    /// A command that decides nothing and is answered at once.
    pub fn ping() -> Self {
        Self::of_anything("PING", |_| pack(&["PING"]))
    }

    /// A command that counts and decides nothing.
    pub fn incr() -> Self {
        Self::of_anything("INCR", |id| pack(&["INCR", &format!("incr:{}", subject(id))]))
    }

    fn of_anything(name: &'static str, command: impl Fn(u64) -> Vec<u8> + 'static) -> Self {
        let command = Box::new(move |ids: &[u64]| command(ids[0]));
        Self { name, per_command: 1, command, admitted: Box::new(|_| 1) }
    }

    /// A script that takes its parameters in ARGV and answers with whether the request may pass,
    /// and what remains.
    pub fn script(
        server: &Server,
        name: &'static str,
        script: &str,
        parameters: impl Fn(u64) -> Parameters + 'static,
    ) -> Self {
        let sha = server.connect().ask(&["SCRIPT", "LOAD", script]);
        let command = move |ids: &[u64]| {
            let Parameters { keys, arguments } = parameters(ids[0]);
            let mut command = vec!["EVALSHA".to_owned(), sha.clone(), keys.len().to_string()];
            command.extend(keys.into_iter().chain(arguments));
            pack(&command)
        };
        let admitted = |reply: Reply<'_>| usize::from(reply == Reply::Number(1));
        Self { name, per_command: 1, command: Box::new(command), admitted: Box::new(admitted) }
    }
}

/// Parameters of a script.
pub struct Parameters {
    /// KEYS.
    pub keys: Vec<String>,
    /// ARGV.
    pub arguments: Vec<String>,
}

/// The name of a subject. It is the same for all contenders; each puts something short of its own
/// before it.
pub fn subject(id: u64) -> String {
    format!("user:{id:08}")
}

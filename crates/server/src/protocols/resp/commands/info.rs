//! `INFO`: facts about the server, in the form that clients expect when they connect.

use slidegate::Clock;

use super::{Command, CommandContext};

/// Version of Redis whose protocol is compatible; some clients check it before they use newer
/// features.
const REDIS_VERSION: &str = "7.0.0";

pub(super) fn info<C: Clock>(context: &CommandContext<'_, C>, command: Command<'_, '_>, out: &mut Vec<u8>) {
    let connections = context.decider.network().stats();
    let version = env!("CARGO_PKG_VERSION");
    let sections = [
        (
            "server",
            format!("redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nslidegate_version:{version}"),
        ),
        ("clients", format!("connected_clients:{}", connections.open)),
        ("persistence", "loading:0".to_owned()),
        ("stats", format!("total_connections_received:{}", connections.accepted)),
        ("replication", "role:master\r\nconnected_slaves:0".to_owned()),
    ];
    let is_selected = |name: &str| {
        let mut words = command.from(1).peekable();
        let is_this = |word: &[u8]| {
            let all = ["all", "default", "everything", name];
            all.iter().any(|one| word.eq_ignore_ascii_case(one.as_bytes()))
        };
        words.peek().is_none() || words.any(is_this)
    };
    let mut text = String::new();
    for (name, lines) in sections.iter().filter(|(name, _)| is_selected(name)) {
        let mut title = (*name).to_owned();
        title[..1].make_ascii_uppercase();
        let gap = if text.is_empty() { "" } else { "\r\n" };
        text.extend([gap, "# ", &title, "\r\n", lines, "\r\n"]);
    }
    context.replies(out).verbatim(&text);
}

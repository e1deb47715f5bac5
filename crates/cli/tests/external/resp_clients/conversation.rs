//! One conversation, row by row.

use serde_json::{Value, json};

use crate::resp_clients::client::Client;
use crate::resp_clients::everybody;
use crate::resp_clients::session::Reply;

const DAY_MS: i64 = 86_400_000;

/// What has to come back.
enum Due {
    /// This, by word and number.
    Exactly(Value),
    /// These numbers; where there is a bound, a time of at least 1 and at most that.
    Numbers([Number; 5]),
    Error(&'static str),
}

#[derive(Clone, Copy)]
enum Number {
    Is(i64),
    /// Time goes on while they session.
    UpTo(i64),
}

use Number::{Is, UpTo};

fn numbers(all: [i64; 5]) -> Due {
    Due::Numbers(all.map(Is))
}

fn rows() -> Vec<(&'static str, Due)> {
    let login = "SG.CHECK 1 method POST path /login ip 203.0.113.7";
    vec![
        ("ECHO hello", Due::Exactly(json!("hello"))),
        ("CLIENT SETNAME gatekeeper", Due::Exactly(json!("OK"))),
        ("CLIENT GETNAME", Due::Exactly(json!("gatekeeper"))),
        // By the rules.
        (login, numbers([1, 2, 1, 0, DAY_MS])),
        (login, numbers([1, 2, 0, 0, DAY_MS])),
        (login, Due::Numbers([Is(0), Is(2), Is(0), UpTo(DAY_MS), UpTo(DAY_MS)])),
        ("sg.check 1 method POST path /login ip 203.0.113.8", numbers([1, 2, 1, 0, DAY_MS])),
        (
            "SG.CHECK 0 method POST path /login ip 203.0.113.7",
            Due::Numbers([Is(1), Is(2), Is(0), Is(0), UpTo(DAY_MS)]),
        ),
        (
            "SG.CHECK 3 method POST path /login ip 203.0.113.7",
            Due::Numbers([Is(0), Is(2), Is(0), Is(-1), UpTo(DAY_MS)]),
        ),
        ("SG.CHECK 1 path /free", numbers([1, -1, -1, 0, 0])),
        ("SG.CHECK 1 path /shut user mallory", numbers([0, -1, -1, -1, 0])),
        // By limits that come along.
        ("SG.LIMIT alice 2 60000", numbers([1, 2, 1, 0, 60_000])),
        ("SG.LIMIT alice 2 60000 2", Due::Numbers([Is(0), Is(2), Is(1), UpTo(60_000), UpTo(60_000)])),
        ("SG.LIMIT alice 2 60000 3 LOG", Due::Numbers([Is(0), Is(2), Is(1), Is(-1), UpTo(60_000)])),
        ("SG.LIMIT bob 5 60000 2 COUNTER", Due::Numbers([Is(1), Is(5), Is(3), Is(0), UpTo(120_000)])),
        ("SG.LIMIT bob 5 60000 FIXED", Due::Numbers([Is(1), Is(5), Is(4), Is(0), UpTo(60_000)])),
        // As redis-cell would.
        ("CL.THROTTLE user123 15 30 60", numbers([0, 16, 15, -1, 2])),
        ("CL.THROTTLE user124 0 1 3600", numbers([0, 1, 0, -1, 3_600])),
        ("CL.THROTTLE user124 0 1 3600", Due::Numbers([Is(1), Is(1), Is(0), UpTo(3_600), UpTo(3_600)])),
        ("CL.THROTTLE user125 4 1 1 6", numbers([1, 5, 5, -1, 0])),
        // What makes no sense.
        ("GET a", Due::Error("ERR unknown command 'GET', with args beginning with: 'a' ")),
        ("SG.CHECK", Due::Error("ERR wrong number of arguments for 'sg.check' command")),
        ("SG.CHECK 1 ip", Due::Error("ERR wrong number of arguments for 'sg.check' command")),
        ("SG.CHECK one ip 203.0.113.7", Due::Error("ERR value is not an integer or out of range")),
        ("SG.CHECK 1 ip 203.0.113.7 path", Due::Error("ERR syntax error")),
        (
            "SG.LIMIT a 0 1000",
            Due::Error("ERR quota must be at least 1; to deny everything, use a deny list"),
        ),
        (
            "SG.REFUND nonsense",
            Due::Error("ERR this is not a permit; pass the text on exactly as it was given"),
        ),
        (
            "CL.THROTTLE a 1 1",
            Due::Error(
                "Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]",
            ),
        ),
        ("CL.THROTTLE a x 1 1", Due::Error("Cell error: Couldn't parse as integer: x")),
        ("CL.THROTTLE a 1 0 1", Due::Error("Cell error: Zero rates are not supported")),
        ("SELECT 1", Due::Error("ERR DB index is out of range")),
        // And it goes on.
        ("ECHO goodbye", Due::Exactly(json!("goodbye"))),
    ]
}

#[test]
fn every_client_hears_the_same() {
    everybody(|client, session| {
        for (command, due) in rows() {
            let reply = session.ask(command);
            assert!(is_due(client, &reply, &due), "{client:?}: {command}: {reply:?}");
        }
    });
}

fn is_due(client: Client, reply: &Reply, due: &Due) -> bool {
    match (reply, due) {
        (Reply::Value(found), Due::Exactly(value)) => found == value,
        (Reply::Value(Value::Array(found)), Due::Numbers(numbers)) => {
            let fits = |(found, number): (&Value, &Number)| match *number {
                Is(number) => found.as_i64() == Some(number),
                UpTo(most) => found.as_i64().is_some_and(|found| (1..=most).contains(&found)),
            };
            found.len() == numbers.len() && found.iter().zip(numbers).all(fits)
        }
        (Reply::Refused(found), Due::Error(text)) => *found == client.tells(text),
        _ => false,
    }
}

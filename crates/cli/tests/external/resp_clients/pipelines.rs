//! Many commands at once.

use std::io::Write;
use std::process::Stdio;

use crate::resp_clients::session::Reply;
use crate::resp_clients::tools::redis_cli;
use crate::resp_clients::{Service, everybody};

/// Replies come in the order of the commands, and an error is one of them.
#[test]
fn replies_come_in_order() {
    everybody(|client, session| {
        let mut commands = vec!["SG.LIMIT crowd 60 3600000"; 100];
        commands[50] = "SG.LIMIT crowd none 3600000";
        let replies = session.ask_all(&commands);
        assert_eq!(replies.len(), 100, "{client:?}");
        let mut admitted = 0;
        for (index, reply) in replies.iter().enumerate() {
            match reply {
                Reply::Refused(error) => {
                    assert_eq!(
                        (index, &**error),
                        (50, &*client.tells("ERR value is not an integer or out of range"))
                    );
                }
                Reply::Value(numbers) => {
                    let remaining = 59 - i64::from(admitted);
                    let expected = if remaining >= 0 { (1, remaining) } else { (0, 0) };
                    assert_eq!(
                        (numbers[0].as_i64(), numbers[2].as_i64()),
                        (Some(expected.0), Some(expected.1)),
                        "{client:?} {index}"
                    );
                    admitted += numbers[0].as_i64().map_or(0, |allowed| allowed as u32);
                }
            }
        }
        assert_eq!(admitted, 60, "{client:?}");
    });
}

/// `redis-cli --pipe` sends all that it has while it reads what comes back, and counts.
#[test]
fn a_hundred_thousand_commands_through_redis_cli() {
    const COMMANDS: usize = 100_000;
    let service = Service::start();
    let mut child = redis_cli(service.at)
        .arg("--pipe")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("redis-cli");
    let mut stdin = child.stdin.take().expect("it is piped");
    let command = b"*4\r\n$8\r\nSG.LIMIT\r\n$5\r\ncrowd\r\n$5\r\n70000\r\n$7\r\n3600000\r\n";
    stdin.write_all(&command.repeat(COMMANDS)).expect("redis-cli reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains(&format!("errors: 0, replies: {COMMANDS}")), "{output:?}");
    let look = redis_cli(service.at)
        .args(["SG.LIMIT", "crowd", "70000", "3600000", "0"])
        .output()
        .expect("redis-cli");
    let looked = String::from_utf8_lossy(&look.stdout);
    assert_eq!(looked.lines().nth(2), Some("0"), "{looked}");
}

//! `SG.CHECK`: the rules of a policy, and the numbers of the request.

use crate::resp::client::Reply;
use crate::resp::service::{BOTH, Kind, Service};

const POLICY: &str = "
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [2/min, 3/h] }
  - { name: costly, match: { path: /costly }, key: [user], limits: [{ quota: 10, window: 10s, algorithm: counter }] }
  - { name: closed, match: { path: /closed }, key: [user], limits: [5/min], deny: [{ user: mallory }] }
";

#[tokio::test]
async fn replies_have_the_numbers() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        // When, what, and allowed, quota, remaining, wait and reset.
        let rows = [
            (0, "SG.CHECK 1 path /login ip 192.0.2.1", [1, 2, 1, 0, 3_600_000]),
            (0, "SG.CHECK 0 path /login ip 192.0.2.1", [1, 2, 1, 0, 3_600_000]),
            (0, "sg.check 1 ip 192.0.2.1 path /login", [1, 2, 0, 0, 3_600_000]),
            (0, "SG.CHECK 1 path /login ip 192.0.2.1", [0, 2, 0, 60_000, 3_600_000]),
            (0, "SG.CHECK 1 path /login ip 192.0.2.2", [1, 2, 1, 0, 3_600_000]),
            (60_000, "SG.CHECK 1 path /login ip 192.0.2.1", [1, 3, 0, 0, 3_600_000]),
            (0, "SG.CHECK 1 path /login ip 192.0.2.1", [0, 3, 0, 3_540_000, 3_600_000]),
            (0, "SG.CHECK 3 path /login ip 192.0.2.3", [0, 2, 2, -1, 0]),
            (0, "SG.CHECK 4 path /costly user alice", [1, 10, 6, 0, 17_000]),
            (0, "SG.CHECK 18446744073709551615 path /costly user alice", [0, 10, 6, -1, 17_000]),
            (0, "SG.CHECK 1 path /nowhere user alice", [1, -1, -1, 0, 0]),
            (0, "SG.CHECK 1 path /closed user mallory", [0, -1, -1, -1, 0]),
            (0, "SG.CHECK 1 path /closed user alice", [1, 5, 4, 0, 60_000]),
        ];
        for (after_ms, command, numbers) in rows {
            service.advance_ms(after_ms);
            assert_eq!(client.say(command).await.integers(), numbers, "{kind:?}: {command}");
        }
    }
}

/// The numbers of a request, not those of one of its limits: the least remaining with its quota,
/// the longest wait and reset.
#[tokio::test]
async fn the_numbers_are_those_of_the_request() {
    let policy = "
rules:
  - { name: two, match: { path: /two }, key: [user], limits: [5/min, 12/10min] }
  - { name: never, match: { path: /never }, key: [user], limits: [3/min, 12/10min] }
  - { name: tie, match: { path: /tie }, key: [user], limits: [{ quota: 9, window: 1min, algorithm: counter }, 9/10min] }
  - { name: jobs, match: { path: /jobs }, key: [user], limits: [{ in_flight: 2, hold: 30s }, 20/min] }
  - { name: slots, match: { path: /slots }, key: [user], limits: [{ in_flight: 1, hold: 30s }] }
  - { name: watch, match: { path: /two }, key: [user], mode: observe, limits: [1/day] }
";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let rows = [
            ("SG.CHECK 5 path /two user alice", [1, 5, 0, 0, 600_000]),
            ("SG.CHECK 8 path /two user alice", [0, 5, 0, -1, 600_000]),
            ("SG.CHECK 5 path /two user alice", [0, 5, 0, 60_000, 600_000]),
            ("SG.CHECK 4 path /never user alice", [0, 3, 3, -1, 0]),
            ("SG.CHECK 9 path /tie user alice", [1, 9, 0, 0, 600_000]),
            // A slot in flight is one whatever the cost.
            ("SG.CHECK 9 path /jobs user alice", [1, 20, 11, 0, 60_000]),
            ("SG.CHECK 9 path /jobs user alice", [1, 2, 0, 0, 60_000]),
            ("SG.CHECK 1 path /jobs user alice", [0, 2, 0, -1, 60_000]),
            ("SG.CHECK 9 path /slots user alice", [1, 1, 0, 0, 30_000]),
            ("SG.CHECK 0 path /slots user bob", [1, -1, -1, 0, 0]),
        ];
        for (command, numbers) in rows {
            assert_eq!(client.say(command).await.integers(), numbers, "{kind:?}: {command}");
        }
    }
}

/// A cached denial has only the wait.
#[tokio::test]
async fn a_cached_denial_has_only_the_wait() {
    let service = Service::repeating(Kind::Redis, POLICY).await;
    let mut client = service.client().await;
    for command in ["SG.CHECK 5 path /closed user alice", "SG.LIMIT alice 5 60000 5"] {
        assert_eq!(client.say(command).await.integers(), [1, 5, 0, 0, 60_000], "{command}");
        assert_eq!(client.say(command).await.integers(), [0, 5, 0, 60_000, 60_000], "{command}");
        let [allowed, quota, remaining, wait_ms, reset_ms] = client.say(command).await.integers()[..] else {
            panic!("five numbers")
        };
        assert_eq!((allowed, quota, remaining, reset_ms), (0, 5, -1, -1), "{command}");
        assert!((1..=60_000).contains(&wait_ms), "{command}: {wait_ms}");
    }
}

#[tokio::test]
async fn errors_name_their_cause_and_charge_nothing() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    let many: Vec<String> = (0..65).map(|n| format!("a{n} v")).collect();
    let rows = [
        ("SG.CHECK", "ERR wrong number of arguments for 'sg.check' command".to_owned()),
        ("SG.CHECK 1 path", "ERR wrong number of arguments for 'sg.check' command".to_owned()),
        ("SG.CHECK x path /login", "ERR value is not an integer or out of range".to_owned()),
        ("SG.CHECK -1 path /login", "ERR value is not an integer or out of range".to_owned()),
        ("SG.CHECK +1 path /login", "ERR value is not an integer or out of range".to_owned()),
        ("SG.CHECK 1 path /login ip", "ERR syntax error".to_owned()),
        ("SG.CHECK 1 path /login path /x", "ERR the attribute 'path' is given twice".to_owned()),
        (
            &format!("SG.CHECK 1 {}", many.join(" ")),
            "ERR too many attributes: 65, the maximum is 64".to_owned(),
        ),
        (
            &format!("SG.CHECK 1 {} v", "n".repeat(129)),
            "ERR attribute name too long: 129 bytes, the maximum is 128".to_owned(),
        ),
        (
            "SG.CHECK 1 path /login ip nowhere",
            "ERR invalid IP address `nowhere` in the attribute `ip`".to_owned(),
        ),
    ];
    for (command, error) in rows {
        assert_eq!(client.say(command).await.error(), error, "{command}");
    }
    client.write(b"*4\r\n$8\r\nSG.CHECK\r\n$1\r\n1\r\n$4\r\nuser\r\n$1\r\n\xff\r\n").await;
    assert_eq!(client.reply().await.error(), "ERR the value of the attribute 'user' is not UTF-8");
    client.write(b"*4\r\n$8\r\nSG.CHECK\r\n$1\r\n1\r\n$1\r\n\xff\r\n$1\r\na\r\n").await;
    assert_eq!(client.reply().await.error(), "ERR the name of an attribute is not UTF-8");
    assert_eq!(client.say("SG.CHECK 1 path /login ip 192.0.2.1").await.integers(), [1, 2, 1, 0, 3_600_000]);
}

/// The other doors count for the same subjects.
#[tokio::test]
async fn a_permit_is_issued_where_a_rule_allows_it() {
    for kind in BOTH {
        let policy = "rules:
  - { name: api, match: { path: /a }, key: [user], limits: [3/min], refundable: true }
  - { name: plain, match: { path: /b }, key: [user], limits: [3/min] }
";
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let Reply::Array(replies) = client.say("SG.CHECK 1 path /a user alice PERMIT").await else {
            panic!("not an array");
        };
        assert_eq!(replies.len(), 6);
        assert!(replies[5].text().len() > 20, "{replies:?}");
        for (protocol, nothing) in [("2", "$-1\r\n"), ("3", "_\r\n")] {
            client.ask(&["HELLO", protocol]).await;
            let Reply::Array(replies) = client.say("SG.CHECK 1 path /b user alice permit").await else {
                panic!("not an array");
            };
            assert_eq!(replies[5], Reply::Nothing, "{nothing:?}");
        }
    }
}

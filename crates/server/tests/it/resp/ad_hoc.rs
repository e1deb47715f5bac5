//! `SG.LIMIT` and `CL.THROTTLE`: limits that come along.

use crate::resp::service::{BOTH, Kind, Service};

const NO_RULES: &str = "rules: []";

#[tokio::test]
async fn a_limit_comes_along() {
    for kind in BOTH {
        let service = Service::start(kind, NO_RULES).await;
        let mut client = service.client().await;
        let rows = [
            (0, "SG.LIMIT alice 3 1000", [1, 3, 2, 0, 1_000]),
            (0, "SG.LIMIT alice 3 1000 2", [1, 3, 0, 0, 1_000]),
            (400, "SG.LIMIT alice 3 1000", [0, 3, 0, 600, 600]),
            (0, "SG.LIMIT alice 3 1000 0", [1, 3, 0, 0, 600]),
            (0, "SG.LIMIT alice 3 1000 4", [0, 3, 0, -1, 600]),
            (0, "SG.LIMIT alice 3 1000 log", [0, 3, 0, 600, 600]),
            (0, "SG.LIMIT bob 3 1000 2 LOG", [1, 3, 1, 0, 1_000]),
            (0, "SG.LIMIT alice 3 1000 COUNTER", [1, 3, 2, 0, 1_600]),
            (0, "SG.LIMIT alice 3 1000 1 FIXED", [1, 3, 2, 0, 600]),
        ];
        for (after_ms, command, numbers) in rows {
            service.advance_ms(after_ms);
            assert_eq!(client.say(command).await.integers(), numbers, "{kind:?}: {command}");
        }
    }
}

#[tokio::test]
async fn an_invalid_limit_is_an_error() {
    let service = Service::start(Kind::Memory, NO_RULES).await;
    let mut client = service.client().await;
    let number = "ERR value is not an integer or out of range";
    let rows = [
        ("SG.LIMIT a 1", "ERR wrong number of arguments for 'sg.limit' command"),
        ("SG.LIMIT a x 1", number),
        ("SG.LIMIT a 1 1.5", number),
        ("SG.LIMIT a 1 1 x", number),
        ("SG.LIMIT a 1 1 LOG 1", "ERR syntax error"),
        ("SG.LIMIT a 1 1 1 GCRA", "ERR syntax error"),
        ("SG.LIMIT a 1 1 1 LOG 1", "ERR syntax error"),
        ("SG.LIMIT  1 1", "ERR a key has 1 to 4096 bytes"),
        ("SG.LIMIT a 0 1", "ERR "),
        ("SG.LIMIT a 1 0", "ERR "),
        ("SG.LIMIT a 9007199254740992 1", "ERR "),
        ("SG.LIMIT a 1 99999999999999", "ERR "),
    ];
    for (command, error) in rows {
        let reply = client.say(command).await;
        assert!(reply.error().starts_with(error), "{command}: {reply:?}");
    }
    assert_eq!(client.ask(&["SG.LIMIT", &"k".repeat(4_096), "1", "1000"]).await.integers()[0], 1);
    let long = client.ask(&["SG.LIMIT", &"k".repeat(4_097), "1", "1000"]).await;
    assert_eq!(long.error(), "ERR a key has 1 to 4096 bytes");
}

/// As redis-cell words it.
#[tokio::test]
async fn an_impossible_throttle_is_an_error() {
    let service = Service::start(Kind::Memory, NO_RULES).await;
    let mut client = service.client().await;
    let usage = "Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";
    let zero = "Cell error: Zero rates are not supported";
    let rows = [
        ("CL.THROTTLE", usage),
        ("CL.THROTTLE a 1 2", usage),
        ("cl.throttle a 1 2 3 4 5", usage),
        ("CL.THROTTLE a x y z", "Cell error: Couldn't parse as integer: x"),
        ("CL.THROTTLE a 1 y z", "Cell error: Couldn't parse as integer: y"),
        ("CL.THROTTLE a 1 2 z", "Cell error: Couldn't parse as integer: z"),
        ("CL.THROTTLE a 1 2 3 q", "Cell error: Couldn't parse as integer: q"),
        ("CL.THROTTLE a 1 2 ", "Cell error: Couldn't parse as integer: "),
        (
            "CL.THROTTLE a 1 2 3 9223372036854775808",
            "Cell error: Couldn't parse as integer: 9223372036854775808",
        ),
        ("CL.THROTTLE a 1 0 60", zero),
        ("CL.THROTTLE a 1 1 0", zero),
        ("CL.THROTTLE a 1 2000000000 1", zero),
        ("CL.THROTTLE a 1 -1 60", "Cell error: count, period and quantity must not be negative"),
        ("CL.THROTTLE a 1 1 60 -1", "Cell error: count, period and quantity must not be negative"),
        ("CL.THROTTLE a 9223372036854775807 1 60", "ERR "),
        ("CL.THROTTLE a 1 1 9223372036854775807", "ERR "),
    ];
    for (command, error) in rows {
        let reply = client.say(command).await;
        assert!(reply.error().starts_with(error), "{command}: {reply:?}");
    }
    // Nothing fits where there is no burst at all, and that is no error there.
    assert_eq!(client.say("CL.THROTTLE a -1 1 60").await.integers(), [1, 0, 0, -1, 0]);
    assert_eq!(client.say("CL.THROTTLE a -1 1 60 0").await.integers(), [0, 0, 0, -1, 0]);
    assert_eq!(client.say("CL.THROTTLE a -2 1 60 0").await.integers(), [1, -1, 0, -1, 0]);
}

#[tokio::test]
async fn seconds_are_rounded_up() {
    for kind in BOTH {
        let service = Service::start(kind, NO_RULES).await;
        let mut client = service.client().await;
        let rows = [
            (0, "CL.THROTTLE user123 15 30 60", [0, 16, 15, -1, 2]),
            (0, "CL.THROTTLE user123 15 30 60 15", [0, 16, 0, -1, 32]),
            (1, "CL.THROTTLE user123 15 30 60", [1, 16, 0, 2, 32]),
            (998, "CL.THROTTLE user123 15 30 60", [1, 16, 0, 2, 32]),
            (1, "CL.THROTTLE user123 15 30 60", [1, 16, 0, 1, 31]),
            (1_000, "CL.THROTTLE user123 15 30 60", [0, 16, 0, -1, 32]),
            (0, "CL.THROTTLE user123 15 30 60 17", [1, 16, 0, -1, 32]),
            (0, "CL.THROTTLE user123 15 30 60 0", [0, 16, 0, -1, 32]),
            // Many a second.
            (0, "CL.THROTTLE fast 0 1000 1", [0, 1, 0, -1, 1]),
            (0, "CL.THROTTLE fast 0 1000 1", [1, 1, 0, 1, 1]),
            (1, "CL.THROTTLE fast 0 1000 1", [0, 1, 0, -1, 1]),
        ];
        for (after_ms, command, numbers) in rows {
            service.advance_ms(after_ms);
            assert_eq!(client.say(command).await.integers(), numbers, "{kind:?}: {command}");
        }
    }
}

/// The window is part of what a limit is; a burst and a rate may change.
#[tokio::test]
async fn another_period_is_another_meter() {
    for kind in BOTH {
        let service = Service::start(kind, NO_RULES).await;
        let mut client = service.client().await;
        let rows = [
            ("CL.THROTTLE alice 0 1 60", [0, 1, 0, -1, 60]),
            ("CL.THROTTLE alice 0 1 60", [1, 1, 0, 60, 60]),
            ("CL.THROTTLE alice 0 1 120", [0, 1, 0, -1, 120]),
            ("CL.THROTTLE alice 1 1 60", [0, 2, 0, -1, 120]),
        ];
        for (command, numbers) in rows {
            assert_eq!(client.say(command).await.integers(), numbers, "{kind:?}: {command}");
        }
    }
}

/// One key is three subjects.
#[tokio::test]
async fn each_command_has_keys_of_its_own() {
    let policy = "rules: [{ name: api, key: [user], limits: [1/min] }]";
    let service = Service::start(Kind::Memory, policy).await;
    let mut client = service.client().await;
    for command in ["SG.CHECK 1 user alice", "SG.LIMIT alice 1 60000"] {
        for allowed in [1, 0] {
            assert_eq!(client.say(command).await.integers()[0], allowed, "{command}");
        }
    }
    for limited in [0, 1] {
        assert_eq!(client.say("CL.THROTTLE alice 0 1 60").await.integers()[0], limited);
    }
}

#[tokio::test]
async fn limits_come_along_only_where_that_is_allowed() {
    for policy in ["server: { ad_hoc_limits: false }", "server: { resp: \"0.0.0.0:0\" }"] {
        let service = Service::start(Kind::Memory, &format!("{policy}\n{NO_RULES}")).await;
        let mut client = service.client().await;
        for command in ["SG.LIMIT a 1 1000", "CL.THROTTLE a 1 1 60"] {
            assert!(
                client.say(command).await.error().starts_with("NOPERM limits in commands are off"),
                "{command}"
            );
        }
    }
}

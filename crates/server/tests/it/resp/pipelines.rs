//! Many commands at once: answered in their order, however they are cut.

use crate::resp::client::{Reply, bytes_of};
use crate::resp::service::{BOTH, Kind, Service};

const POLICY: &str = "rules: [{ name: api, key: [user], limits: [300/h] }]";

/// More commands than are decided concurrently, with local ones in between.
#[tokio::test]
async fn replies_come_in_order() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let mut pipeline = Vec::new();
        for n in 0..400 {
            pipeline.extend(bytes_of(&["SG.CHECK", "1", "user", "alice"]));
            pipeline.extend(bytes_of(&["ECHO", &n.to_string()]));
            pipeline.extend(bytes_of(&["NONSENSE"]));
        }
        client.write(&pipeline).await;
        let mut remaining = Vec::new();
        for n in 0..400 {
            remaining.push(client.reply().await.integers()[2]);
            assert_eq!(client.reply().await, Reply::Bulk(n.to_string()), "{kind:?}");
            assert!(client.reply().await.error().starts_with("ERR unknown command 'NONSENSE'"));
        }
        let expected: Vec<i64> = (0..300).rev().chain([0; 100]).collect();
        assert_eq!(remaining, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn a_pipeline_may_be_cut_anywhere() {
    let commands: [&[&str]; 4] = [
        &["SG.CHECK", "1", "user", "bob"],
        &["PING"],
        &["ECHO", "a\r\nb"],
        &["SG.LIMIT", "bob", "9", "1000"],
    ];
    let pipeline: Vec<u8> = commands.iter().flat_map(|command| bytes_of(command)).collect();
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        for cut in 0..pipeline.len() {
            let mut client = service.client().await;
            client.write(&pipeline[..cut]).await;
            // Another command is answered meanwhile, so that the first part was surely read.
            assert_eq!(service.client().await.say("PING").await.text(), "PONG");
            client.write(&pipeline[cut..]).await;
            let replies =
                [client.reply().await, client.reply().await, client.reply().await, client.reply().await];
            assert_eq!(replies[0].integers().len(), 5, "{kind:?}, {cut}");
            assert_eq!(replies[1..3], [Reply::Simple("PONG".to_owned()), Reply::Bulk("a\r\nb".to_owned())]);
            assert_eq!(replies[3].integers().len(), 5, "{kind:?}, {cut}");
        }
    }
}

#[tokio::test]
async fn what_comes_before_the_end_is_answered() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        client.write(b"SG.CHECK 1 user carol\r\nPING\r\nQUIT\r\n").await;
        assert_eq!(client.reply().await.integers()[0], 1, "{kind:?}");
        assert_eq!(client.reply().await.text(), "PONG");
        assert_eq!(client.reply().await.text(), "OK");
        assert!(client.is_ended().await);
        let mut client = service.client().await;
        client.write(b"SG.CHECK 1 user carol\r\n*1\r\n*1\r\n").await;
        assert_eq!(client.reply().await.integers()[0], 1, "{kind:?}");
        assert_eq!(client.reply().await.error(), "ERR Protocol error: expected '$', got '*'");
        assert!(client.is_ended().await);
    }
}

/// The version changes in the middle, and replies to earlier commands have the old one.
#[tokio::test]
async fn the_protocol_changes_after_hello() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        client.write(b"CLIENT GETNAME\r\nHELLO 3\r\nINFO\r\nHELLO 2\r\nINFO\r\n").await;
        assert_eq!(client.reply().await, Reply::Nothing);
        assert!(matches!(client.reply().await, Reply::Map(_)));
        assert!(matches!(client.reply().await, Reply::Verbatim(_)));
        assert!(matches!(client.reply().await, Reply::Array(_)));
        assert!(matches!(client.reply().await, Reply::Bulk(_)));
    }
}

/// What is typed by hand.
#[tokio::test]
async fn lines_are_commands_too() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    client.write(b"\r\n\r\necho \"two words\"\r\nSG.CHECK 1 user 'd\\'Artagnan'\r\n").await;
    assert_eq!(client.reply().await, Reply::Bulk("two words".to_owned()));
    assert_eq!(client.reply().await.integers(), [1, 300, 299, 0, 3_625_124]);
}

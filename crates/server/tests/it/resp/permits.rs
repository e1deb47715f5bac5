//! `SG.REFUND` and `SG.SETTLE`.

use crate::resp::client::{Client, Reply};
use crate::resp::service::{BOTH, Service};

const POLICY: &str = "rules: [{ name: api, key: [user], limits: [5/min], refundable: true }]";

async fn permit(client: &mut Client, cost: &str) -> String {
    let reply = client.ask(&["SG.CHECK", cost, "user", "alice", "PERMIT"]).await;
    let Reply::Array(replies) = &reply else { panic!("not an array: {reply:?}") };
    assert_eq!(replies[0], Reply::Integer(1));
    replies[5].text().to_owned()
}

async fn remaining(client: &mut Client) -> i64 {
    client.say("SG.CHECK 0 user alice").await.integers()[2]
}

#[tokio::test]
async fn a_charge_is_refunded_once() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let (first, second) = (permit(&mut client, "2").await, permit(&mut client, "3").await);
        assert_eq!(remaining(&mut client).await, 0, "{kind:?}");
        assert_eq!(client.ask(&["SG.REFUND", &first]).await, Reply::Simple("settled".to_owned()));
        assert_eq!(remaining(&mut client).await, 2);
        assert_eq!(client.ask(&["SG.REFUND", &first]).await, Reply::Simple("already_spent".to_owned()));
        assert_eq!(client.ask(&["SG.SETTLE", &second, "1"]).await, Reply::Simple("settled".to_owned()));
        assert_eq!(remaining(&mut client).await, 4);
        let late = permit(&mut client, "1").await;
        service.advance_ms(120_000);
        assert_eq!(client.ask(&["SG.REFUND", &late]).await, Reply::Simple("expired".to_owned()));
    }
}

#[tokio::test]
async fn what_is_no_permit_opens_nothing() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let good = permit(&mut client, "2").await;
        let other = if good.ends_with('A') { "B" } else { "A" };
        let forged = format!("{}{other}", &good[..good.len() - 1]);
        let rows = [
            (vec!["SG.REFUND", "made up"], "ERR this is not a permit"),
            (vec!["SG.REFUND", ""], "ERR this is not a permit"),
            (vec!["SG.REFUND", &forged], "ERR this permit was not issued"),
            (vec!["SG.SETTLE", &good, "-1"], "ERR value is not an integer or out of range"),
            (vec!["SG.SETTLE", &good], "ERR wrong number of arguments for 'sg.settle' command"),
            (vec!["SG.REFUND", &good, "1"], "ERR wrong number of arguments for 'sg.refund' command"),
        ];
        for (command, error) in rows {
            let reply = client.ask(&command).await;
            let last_bits_may_not_count = reply.error().starts_with("ERR this is not a permit");
            let is_forged = command[1] == forged;
            assert!(
                reply.error().starts_with(error) || is_forged && last_bits_may_not_count,
                "{command:?}: {reply:?}"
            );
        }
        assert_eq!(remaining(&mut client).await, 3, "{kind:?}");
    }
}

//! What was charged is given back, or corrected, by the permit that came with it.

use serde_json::{Value, json};

use crate::resp_clients::everybody;
use crate::resp_clients::session::{Reply, Session};

const DAY_MS: i64 = 86_400_000;
const LOOK: &str = "SG.CHECK 0 path /jobs user alice";

fn charge(session: &mut Session, cost: u32) -> String {
    match session.ask(&format!("SG.CHECK {cost} path /jobs user alice PERMIT")) {
        Reply::Value(Value::Array(items)) if items.len() == 6 => {
            assert_eq!((&items[0], &items[4]), (&json!(1), &json!(DAY_MS)));
            items[5].as_str().expect("a permit").to_owned()
        }
        other => panic!("{other:?}"),
    }
}

fn reply(session: &mut Session, command: &str) -> Value {
    match session.ask(command) {
        Reply::Value(value) => value,
        Reply::Refused(error) => panic!("{command}: {error}"),
    }
}

#[test]
fn permits_are_good_once() {
    everybody(|client, session| {
        let permit = charge(session, 4);
        assert_eq!(session.numbers(LOOK)[..3], [1, 10, 6], "{client:?}");
        assert_eq!(reply(session, &format!("SG.REFUND {permit}")), json!("settled"));
        assert_eq!(reply(session, &format!("SG.REFUND {permit}")), json!("already_spent"));
        assert_eq!(reply(session, &format!("SG.SETTLE {permit} 1")), json!("already_spent"));
        assert_eq!(session.numbers(LOOK), [1, 10, 10, 0, 0], "{client:?}");

        let permit = charge(session, 1);
        assert_eq!(reply(session, &format!("SG.SETTLE {permit} 7")), json!("settled"));
        assert_eq!(session.numbers(LOOK)[..3], [1, 10, 3], "{client:?}");
    });
}

/// Whoever asks for one where there is none gets nothing.
#[test]
fn no_permit_is_nil() {
    everybody(|client, session| {
        let reply = session.ask("SG.CHECK 1 method POST path /login ip 203.0.113.7 PERMIT");
        assert_eq!(reply, Reply::Value(json!([1, 2, 1, 0, DAY_MS, null])), "{client:?}");
        let reply = session.ask("SG.CHECK 11 path /jobs user alice PERMIT");
        assert_eq!(reply, Reply::Value(json!([0, 10, 10, -1, 0, null])), "{client:?}");
    });
}

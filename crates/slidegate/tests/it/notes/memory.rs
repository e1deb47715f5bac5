//! Notes of a store in memory: by id, under a bound, gone when they have expired.

use std::collections::BTreeMap;

use slidegate::Memory;
use slidegate::store::Note;
use slidegate_testkit::cases::prove_part;

use crate::notes::{NOW_MS, Step, generate, keeps_its_bounds, take};

/// A future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("memory does not wait"),
    }
}

#[test]
fn it_says_what_a_map_says() {
    prove_part(10, generate, |(), steps| {
        let (store, mut map, mut now_ms) = (Memory::new(0), BTreeMap::<String, Note>::new(), NOW_MS);
        for step in steps {
            let expected = match step {
                Step::Post(note) => {
                    map.retain(|_, other| other.expires_at_ms > now_ms);
                    map.insert(note.id.clone(), note.clone());
                    "Done".to_owned()
                }
                Step::Withdraw(id) => map.remove(id).is_some().to_string(),
                Step::Forward { ms } => {
                    now_ms += ms;
                    String::new()
                }
            };
            let expected = (expected, map.values().cloned().collect());
            let answer = now(take(&store, step, now_ms));
            if answer != expected {
                return Err(format!("{step:?} at {now_ms}\n  expected {expected:?}\n  said     {answer:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn it_keeps_its_bounds() {
    now(keeps_its_bounds(&Memory::new(0)));
}

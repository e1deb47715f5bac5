use super::*;
use crate::invocation::Script;
use crate::link::breaker::CallRole;
use crate::link::job::PendingJob;

/// What a test says of a request.
#[derive(Clone, Copy)]
struct TestCall {
    sha: &'static str,
    head: &'static str,
    slot: u16,
    record_bytes: Option<usize>,
    manner: Redirection,
}

const PLAIN: TestCall =
    TestCall { sha: "a", head: "h", slot: 1, record_bytes: Some(4), manner: Redirection::Ordinary };

fn job(call: TestCall) -> (Job, PendingJob) {
    let TestCall { sha, head, slot, record_bytes, manner } = call;
    let script = Script { text: String::new(), sha: sha.to_owned(), record_bytes };
    let head = vec![head.as_bytes().to_vec()];
    let invocation =
        Invocation { script: Arc::new(script), slot, head, keys: Vec::new(), arguments: Vec::new() };
    Job::new(Arc::new(invocation), ScriptRef::Sha, manner, CallRole::Call, None)
}

/// Pushes requests whose callers stay.
fn push(groups: &mut Batcher, call: impl IntoIterator<Item = TestCall>) -> Vec<PendingJob> {
    let (jobs, pending): (Vec<_>, Vec<_>) = call.into_iter().map(job).unzip();
    jobs.into_iter().for_each(|job| groups.push(job));
    pending
}

fn sizes(groups: &mut Batcher) -> Vec<usize> {
    std::iter::from_fn(|| groups.next()).map(|batch| batch.jobs.len()).collect()
}

#[test]
fn a_lone_request_goes_at_once_and_those_behind_it_together() {
    let mut groups = Batcher::new(SlotRouting::Together, 4);
    let _first = push(&mut groups, [PLAIN]);
    let flying = groups.next().unwrap();
    let _three = push(&mut groups, [PLAIN; 3]);
    assert_eq!(sizes(&mut groups), [0; 0]);
    groups.batch_ended(flying.kind.unwrap());
    assert_eq!(sizes(&mut groups), [3]);
}

#[test]
fn a_full_call_does_not_wait() {
    let mut groups = Batcher::new(SlotRouting::Together, 4);
    let _tickets = push(&mut groups, [PLAIN; 11]);
    assert_eq!(sizes(&mut groups), [4, 4]);
    let _more = push(&mut groups, [PLAIN]);
    assert_eq!(sizes(&mut groups), [4]);
}

#[test]
fn only_what_is_alike_travels_together() {
    let others = [
        TestCall { sha: "b", ..PLAIN },
        TestCall { head: "other", ..PLAIN },
        TestCall { record_bytes: None, ..PLAIN },
        TestCall { record_bytes: None, ..PLAIN },
        TestCall { manner: Redirection::Asking, ..PLAIN },
        TestCall { manner: Redirection::Asking, ..PLAIN },
    ];
    let slots = [PLAIN, PLAIN, TestCall { slot: 2, ..PLAIN }];
    for (rule, expected) in [
        (SlotRouting::Together, vec![1, 1, 1, 1, 1, 1, 3]),
        (SlotRouting::Apart, vec![1, 1, 1, 1, 1, 1, 1, 2]),
    ] {
        let mut groups = Batcher::new(rule, 16);
        let _tickets = push(&mut groups, others.into_iter().chain(slots));
        let mut found = sizes(&mut groups);
        found.sort_unstable();
        assert_eq!(found, expected, "{rule:?}");
    }
}

#[test]
fn requests_whose_callers_left_are_never_sent() {
    let mut groups = Batcher::new(SlotRouting::Together, 16);
    let mut pending = push(&mut groups, [PLAIN, PLAIN, TestCall { record_bytes: None, ..PLAIN }]);
    pending.truncate(1);
    assert_eq!(sizes(&mut groups), [1]);
    drop(push(&mut groups, [TestCall { sha: "b", ..PLAIN }]));
    assert_eq!(sizes(&mut groups), [0; 0]);
}

#[test]
fn nothing_is_left_of_what_has_ended() {
    let mut groups = Batcher::new(SlotRouting::Apart, 16);
    let _tickets = push(&mut groups, (0..100).map(|slot| TestCall { slot, ..PLAIN }));
    let flying: Vec<CallBatch> = std::iter::from_fn(|| groups.next()).collect();
    assert_eq!((flying.len(), groups.groups.len()), (100, 100));
    flying.into_iter().for_each(|batch| groups.batch_ended(batch.kind.unwrap()));
    assert!(groups.groups.is_empty() && !groups.has_ready());
}

#[test]
fn an_abandoned_connection_delays_nobody() {
    let mut groups = Batcher::new(SlotRouting::Together, 16);
    let _first = push(&mut groups, [PLAIN]);
    let flying = groups.next().unwrap();
    let _second = push(&mut groups, [PLAIN]);
    groups.connection_lost();
    assert_eq!(sizes(&mut groups), [1]);
    groups.batch_ended(flying.kind.unwrap());
    assert!(groups.drain().is_empty());
}

//! Servers that answer and refuse to write, and so cannot decide. They are marked, and probed by a
//! small write until it succeeds.
//!
//! Their circuit breaker stays closed: they are alive, and answer calls that do not write. Only a
//! write shows that the refusal is over, and there may be no other than the probe: a load balancer
//! may route requests elsewhere while this node is not ready.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::batching::SlotRouting;
use super::job::{Redirection, ScriptRef};
use super::key_slot::slot_of;
use super::node::{NodeRequest, RedisNode};
use super::reply::{AttemptError, RetryStep};
use crate::error::RedisError;
use crate::invocation::{Invocation, Script};

/// Pause between two probes, and the time that one may take.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Probe: writes a key that expires after a second, with commands that decisions need too.
const PROBE: &str = "redis.call('SET', KEYS[1], '1', 'PX', 1000) return 'OK'";
/// Maximum length of the text of a refusal.
const MAX_TEXT_BYTES: usize = 200;

/// Refusal of a server that answers: why it does not write.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct WriteRefusal {
    /// First word of its error: `OOM`, `READONLY`.
    pub code: String,
    /// The rest of it, at most 200 bytes.
    pub text: String,
}

impl WriteRefusal {
    /// Refusal in an error, if it applies to all keys.
    fn of(error: &RedisError) -> Option<Self> {
        let RedisError::Refused { code, text } = error else { return None };
        let refuses_all = matches!(
            code.as_str(),
            "OOM" | "READONLY" | "MISCONF" | "NOREPLICAS" | "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "BUSY"
        );
        let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        refuses_all.then(|| Self { code: code.clone(), text: text.to_owned() })
    }
}

/// Mark of a server that refuses, and the task that probes it.
#[derive(Default, Debug)]
pub(super) struct RefusalMark(Mutex<Option<MarkedRefusal>>);

#[derive(Debug)]
struct MarkedRefusal {
    refusal: WriteRefusal,
    probe: JoinHandle<()>,
}

impl RefusalMark {
    pub(super) fn get(&self) -> Option<WriteRefusal> {
        self.0.lock().as_ref().map(|marked| marked.refusal.clone())
    }

    fn clear(&self) {
        *self.0.lock() = None;
    }
}

/// Marks a node that returned this error, if it refuses all writes.
pub(super) fn mark(node: &Arc<RedisNode>, error: &RedisError, prefix: &Arc<str>, slot: u16) {
    let Some(refusal) = WriteRefusal::of(error) else { return };
    let mut mark = node.refusal.0.lock();
    match &mut *mark {
        // A probe may have ended with its runtime.
        Some(marked) if !marked.probe.is_finished() => marked.refusal = refusal,
        _ => {
            let WriteRefusal { code, text } = &refusal;
            tracing::warn!(
                "Redis {} refuses writes and cannot decide; on_store_error applies: {code} {text}",
                node.server.name()
            );
            let probe = tokio::spawn(probe(Arc::downgrade(node), prefix.clone(), node.server.slots, slot));
            *mark = Some(MarkedRefusal { refusal, probe });
        }
    }
}

/// Probes a node until it writes, or is dropped.
async fn probe(node: Weak<RedisNode>, prefix: Arc<str>, slots: SlotRouting, slot: u16) {
    let invocation = write_in(&prefix, slots, slot);
    loop {
        sleep(PROBE_INTERVAL).await;
        let Some(node) = node.upgrade() else { return };
        let request = NodeRequest {
            invocation: invocation.clone(),
            form: ScriptRef::Text,
            manner: Redirection::Ordinary,
        };
        match node.attempt(request, Instant::now() + PROBE_INTERVAL).await {
            Ok(_) => tracing::info!("Redis {} accepts writes again", node.server.name()),
            // The slot has moved to another node, which is marked by itself if necessary.
            Err(AttemptError::Again { step: RetryStep::Moved(_) | RetryStep::Ask(_), .. }) => {}
            Err(_) => continue,
        }
        return node.refusal.clear();
    }
}

/// Write of one key; in a Cluster, in this slot. To find a tag of the slot takes some thousand
/// tries, so no request should wait for it.
fn write_in(prefix: &str, slots: SlotRouting, slot: u16) -> Arc<Invocation> {
    let mut tags = (0_u32..).map(|n| format!("probe{n}"));
    let tag = match slots {
        SlotRouting::Together => "probe".to_owned(),
        SlotRouting::Apart => tags.find(|tag| slot_of(tag.as_bytes()) == slot).unwrap_or_default(),
    };
    let key = format!("{prefix}{{{tag}}}").into_bytes();
    let script = Arc::new(Script::new(PROBE.to_owned(), None));
    Arc::new(Invocation { script, slot, head: Vec::new(), keys: vec![key], arguments: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str, text: &str) -> RedisError {
        RedisError::Refused { code: code.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn only_what_holds_for_all_keys_is_a_refusal() {
        for code in
            ["OOM", "READONLY", "MISCONF", "NOREPLICAS", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY"]
        {
            let refusal = WriteRefusal::of(&refused(code, "because")).expect("a refusal");
            assert_eq!((refusal.code.as_str(), refusal.text.as_str()), (code, "because"));
        }
        for other in [refused("ERR", "slidegate: upgrade"), refused("WRONGTYPE", ""), RedisError::TimedOut] {
            assert_eq!(WriteRefusal::of(&other), None, "{other}");
        }
        let long = WriteRefusal::of(&refused("OOM", &"é".repeat(1_000))).expect("a refusal");
        assert_eq!(long.text.len(), MAX_TEXT_BYTES);
    }

    fn key_of(slots: SlotRouting, slot: u16) -> String {
        String::from_utf8(write_in("sg:", slots, slot).keys[0].clone()).expect("text")
    }

    #[test]
    fn a_probe_writes_to_the_slot_that_was_refused() {
        for slot in [0, 1, 5_061, 16_383] {
            let key = key_of(SlotRouting::Apart, slot);
            let tag = key.strip_prefix("sg:{").and_then(|rest| rest.strip_suffix('}')).expect("a tag");
            assert_eq!(slot_of(tag.as_bytes()), slot, "{key}");
            assert_eq!(
                key_of(SlotRouting::Together, slot),
                "sg:{probe}",
                "one key on a server without slots"
            );
        }
    }
}

//! Encoder of checks as commands byte for byte, for benchmarks.

use slidegate_core::Limit;

use super::invocation::Script;
use super::keys::{KeyOwner, KeyUse};
use super::script::{LimitNumbers, ScriptClock, ScriptPurpose, write};
use super::text;
use slidegate_store::{Key, Space};

/// Encoder of checks under these limits.
#[derive(Debug)]
pub struct CheckEncoder {
    space: Space,
    limits: Vec<Limit>,
    script: Script,
    record_bytes: usize,
}

impl CheckEncoder {
    /// Checks of a limiter of this name.
    pub fn new(name: &str, limits: &[Limit]) -> Self {
        let script = write(limits, ScriptPurpose::Check, ScriptClock::Server, LimitNumbers::Literal);
        let record_bytes = script.record_bytes.unwrap_or(0);
        Self { space: Space::named(name), limits: limits.to_vec(), script, record_bytes }
    }

    /// Command that loads the script.
    pub fn load(&self) -> Vec<u8> {
        pack(&[b"SCRIPT".to_vec(), b"LOAD".to_vec(), self.script.text.clone().into_bytes()])
    }

    /// Command that checks all of these keys in one call.
    pub fn check(&self, keys: &[Key<'_>]) -> Vec<u8> {
        let count = keys.len() * self.limits.len();
        let mut words = vec![b"EVALSHA".to_vec(), self.script.sha.clone().into_bytes(), text(count as u64)];
        for key in keys {
            let owner = KeyOwner::new(b"sg:", key);
            words.extend(self.limits.iter().map(|limit| owner.key(self.space, KeyUse::State(limit.id()))));
        }
        pack(&words)
    }

    /// Outcome of each check of a reply: true if it was admitted.
    pub fn admitted(&self, reply: &[u8]) -> Vec<bool> {
        reply.chunks(self.record_bytes.max(1)).map(|row| row.first() != Some(&0)).collect()
    }
}

fn pack(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

//! Cache of generated scripts.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use slidegate_core::Limit;
use smallvec::SmallVec;

use super::invocation::Script;
use super::script::{LimitNumbers, ScriptClock, ScriptPurpose, numbers, write};
use super::text;

/// Maximum number of scripts with literal limits. Servers never evict scripts, so further limits
/// are passed as arguments.
const MAX_LITERAL: usize = 256;

type LimitWords = SmallVec<[[u64; 4]; 2]>;

#[derive(Debug)]
pub(super) struct ScriptCache {
    pub(super) time: ScriptClock,
    written: RwLock<HashMap<(ScriptPurpose, LimitNumbers, LimitWords), Arc<Script>>>,
}

/// Script, and the numbers of its limits where they are arguments.
pub(super) struct CachedScript {
    pub(super) script: Arc<Script>,
    pub(super) numbers: Vec<Vec<u8>>,
}

impl ScriptCache {
    pub(super) fn new(time: ScriptClock) -> Self {
        Self { time, written: RwLock::default() }
    }

    pub(super) fn choose(&self, purpose: ScriptPurpose, limits: &[Limit]) -> CachedScript {
        let exact =
            limits.iter().map(|limit| [kind(limit), limit.quota(), limit.window_ms(), numbers(limit)[2]]);
        let exact = (purpose, LimitNumbers::Literal, exact.collect());
        let written = self.written.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = written.get(&exact) {
            return CachedScript { script: script.clone(), numbers: Vec::new() };
        }
        let crowded = written.len() >= MAX_LITERAL;
        drop(written);
        if !crowded {
            return CachedScript { script: self.write(exact, limits), numbers: Vec::new() };
        }
        // The kinds alone identify these scripts.
        let kinds = limits.iter().map(|limit| [kind(limit), 0, 0, 0]).collect();
        let script = self.write((purpose, LimitNumbers::Arguments, kinds), limits);
        let values = limits.iter().flat_map(numbers).map(text).collect();
        CachedScript { script, numbers: values }
    }

    fn write(&self, name: (ScriptPurpose, LimitNumbers, LimitWords), limits: &[Limit]) -> Arc<Script> {
        let mut written = self.written.write().unwrap_or_else(PoisonError::into_inner);
        let (purpose, numbers) = (name.0, name.1);
        written.entry(name).or_insert_with(|| Arc::new(write(limits, purpose, self.time, numbers))).clone()
    }
}

/// Number of the kind of a limit.
fn kind(limit: &Limit) -> u64 {
    limit.to_words()[0] & u64::from(u32::MAX)
}

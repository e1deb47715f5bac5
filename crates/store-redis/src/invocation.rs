//! Invocation of a script: the script, its keys and its arguments.

use std::sync::Arc;

/// Script, and the hash by which the server finds it.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: String,
    /// Its SHA-1 in hex, by which EVALSHA names it.
    pub(super) sha: String,
    /// Bytes of a reply per request, if one call may decide several; `None` if a call decides one.
    pub(super) record_bytes: Option<usize>,
}

impl Script {
    pub(super) fn new(text: String, record_bytes: Option<usize>) -> Self {
        let sha = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha, record_bytes }
    }
}

/// Invocation of a script. Those with the same script, `slot` and `head` can share one call: their
/// keys and arguments follow one another.
#[derive(Clone, Debug)]
pub(super) struct Invocation {
    pub(super) script: Arc<Script>,
    /// Slot of all its keys.
    pub(super) slot: u16,
    /// First arguments, which all requests of a call share.
    pub(super) head: Vec<Vec<u8>>,
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) arguments: Vec<Vec<u8>>,
}

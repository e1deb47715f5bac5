//! Notes, which are one hash in Redis, and the deletion of subjects. All operations are idempotent.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::error::RedisError;
use super::invocation::{Invocation, Script};
use super::keys::{self, KeyOwner, KeyUse};
use super::script::{ScriptClock, write_forget, write_notes};
use super::{Inner, text};
use slidegate_store::ForgetRequest;
use slidegate_store::notes::{MAX_NOTES, Note, Notes, PostOutcome};

/// Minimum timeout: these calls are rare, and notes may be large.
const PATIENCE: Duration = Duration::from_secs(1);

/// Scripts and key of the notes, and their last version.
#[derive(Debug)]
pub(super) struct NotesClient {
    script: Arc<Script>,
    forget: Arc<Script>,
    key: Vec<u8>,
    slot: u16,
    /// Every process reads the notes every second, and they rarely change.
    last: Mutex<Notes>,
}

impl NotesClient {
    pub(super) fn new(prefix: &[u8], time: ScriptClock) -> Self {
        let (key, slot) = keys::notes(prefix);
        let (script, forget) = (Arc::new(write_notes(time)), Arc::new(write_forget()));
        Self { script, forget, key, slot, last: Mutex::default() }
    }

    fn invoke(&self, verb: &str, now_ms: u64, own: Vec<Vec<u8>>) -> Invocation {
        // Only a script with an injected clock reads the time.
        let mut head = vec![verb.as_bytes().to_vec(), text(now_ms)];
        head.extend(own);
        let keys = vec![self.key.clone()];
        Invocation { script: self.script.clone(), slot: self.slot, head, keys, arguments: Vec::new() }
    }
}

impl Inner {
    /// Deletes the keys first, then raises the version of the notes, by which other nodes clear
    /// their deny caches.
    pub(super) async fn forget_subject(&self, subject: &ForgetRequest<'_>) -> Result<(), RedisError> {
        let owner = KeyOwner::new(&self.prefix, subject.key);
        let mut keys = vec![owner.key(subject.space, KeyUse::OpenPermits)];
        keys.extend(subject.limits.iter().map(|id| owner.key(subject.space, KeyUse::State(*id))));
        let is_log = subject.limits.iter().map(|id| id.is_log());
        let kinds = [false].into_iter().chain(is_log);
        let kinds = kinds.map(|is_log| if is_log { b"log".to_vec() } else { b"other".to_vec() });
        let (script, arguments) = (self.notes.forget.clone(), kinds.collect());
        let invocation = Invocation { script, slot: owner.slot, head: Vec::new(), keys, arguments };
        self.call_notes(invocation).await?;
        self.deny_cache.clear();
        self.call_notes(self.notes.invoke("turn", 0, Vec::new())).await.map(drop)
    }

    pub(super) async fn post(&self, note: &Note, now_ms: u64) -> Result<PostOutcome, RedisError> {
        if !note.fits() {
            return Ok(PostOutcome::TooLarge);
        }
        let content = format!("{} {}", note.expires_at_ms, note.text).into_bytes();
        let own = vec![note.id.clone().into_bytes(), content, text(MAX_NOTES as u64)];
        let reply = self.call_notes(self.notes.invoke("post", now_ms, own)).await?;
        match reply.as_slice() {
            b"done" => Ok(PostOutcome::Done),
            b"full" => Ok(PostOutcome::Full),
            _ => Err(unreadable(&reply)),
        }
    }

    pub(super) async fn withdraw_note(&self, id: &str) -> Result<bool, RedisError> {
        let own = vec![id.as_bytes().to_vec()];
        let reply = self.call_notes(self.notes.invoke("withdraw", 0, own)).await?;
        match reply.as_slice() {
            b"done" => Ok(true),
            b"absent" => Ok(false),
            _ => Err(unreadable(&reply)),
        }
    }

    pub(super) async fn notes(&self) -> Result<Notes, RedisError> {
        let last_version = self.notes.last.lock().version;
        let reply = self.call_notes(self.notes.invoke("read", 0, vec![text(last_version)])).await?;
        let mut last = self.notes.last.lock();
        if reply == text(last.version) {
            return Ok(last.clone());
        }
        let notes = read(&reply).ok_or_else(|| unreadable(&reply))?;
        last.clone_from(&notes);
        Ok(notes)
    }

    async fn call_notes(&self, invocation: Invocation) -> Result<Vec<u8>, RedisError> {
        let deadline = Instant::now() + self.timeout.max(PATIENCE);
        Ok(self.link.call(invocation, deadline).await?)
    }
}

fn unreadable(reply: &[u8]) -> RedisError {
    RedisError::Protocol(format!("{} bytes, expected notes", reply.len()))
}

/// Parses notes: the version in digits, a space, and for each note the lengths of its id and its
/// content in 4 bytes each, the id and the content.
fn read(reply: &[u8]) -> Option<Notes> {
    let blank = reply.iter().position(|byte| *byte == b' ')?;
    let (version, mut rest) = (number(&reply[..blank])?, &reply[blank + 1..]);
    let mut notes = Vec::new();
    while let Some((lengths, behind)) = rest.split_first_chunk::<8>() {
        let (lengths, _) = lengths.as_chunks::<4>();
        let [id, content] = [lengths[0], lengths[1]].map(|length| u32::from_le_bytes(length) as usize);
        let (id, behind) = behind.split_at_checked(id)?;
        let (content, behind) = behind.split_at_checked(content)?;
        notes.push(read_note(id, content)?);
        rest = behind;
    }
    notes.sort_by(|one: &Note, other| one.id.cmp(&other.id));
    rest.is_empty().then_some(Notes { version, notes })
}

fn read_note(id: &[u8], content: &[u8]) -> Option<Note> {
    let [id, content] = [id, content].map(|bytes| String::from_utf8(bytes.to_vec()).ok());
    let (id, content) = (id?, content?);
    let (expires_at_ms, text) = content.split_once(' ')?;
    Some(Note { id, text: text.to_owned(), expires_at_ms: expires_at_ms.parse().ok()? })
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(id: &str, text: &str, expires_at_ms: u64) -> Note {
        Note { id: id.to_owned(), text: text.to_owned(), expires_at_ms }
    }

    #[test]
    fn notes_are_read_or_refused_as_a_whole() {
        let reply = b"17 \x01\0\0\0\x04\0\0\0b9 x \x02\0\0\0\x02\0\0\0aa7 ";
        let notes = vec![note("aa", "", 7), note("b", "x ", 9)];
        assert_eq!(read(reply), Some(Notes { version: 17, notes }));
        assert_eq!(read(b"3 "), Some(Notes { version: 3, notes: Vec::new() }));
        for cut in 0..reply.len() {
            assert!(read(&reply[..cut]).is_none_or(|read| read.notes.len() < 2), "{cut} bytes");
        }
        for broken in
            [&b""[..], b"3", b"x ", b"3 \xff\xff\xff\xff\xff\xff\xff\xff", b"3 \x01\0\0\0\x01\0\0\0ab"]
        {
            assert_eq!(read(broken), None);
        }
    }
}

//! Names of keys in Redis.
//!
//! `sg:{1255dacaa637f70c}OkN9PF-v`: a prefix; the subject's values (without the rule) as 16 hex
//! digits of their SHA-256, in braces, so that all keys of one subject are in one slot of a
//! cluster and no value can break the braces; then the rule and the limit, in 8 characters of
//! base64, mixed with more of the subject's hash, so that the name stands for 112 bits of it. The
//! name is short because every key pays for it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use slidegate_core::LimitId;

use super::link::slot_of;
use slidegate_store::{Key, Space};

/// Owner of keys: a subject.
#[derive(Clone, Debug)]
pub(super) struct KeyOwner {
    digest: [u8; 32],
    /// Prefix and hash tag.
    start: Vec<u8>,
    /// Slot of its keys in a cluster.
    pub(super) slot: u16,
}

/// Use of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyUse {
    /// State of a limit.
    State(LimitId),
    /// Open permits.
    OpenPermits,
}

impl KeyOwner {
    pub(super) fn new(prefix: &[u8], key: &Key<'_>) -> Self {
        let digest: [u8; 32] =
            Sha256::new().chain_update([key.form() as u8]).chain_update(key.bytes()).finalize().into();
        let mut start = Vec::with_capacity(prefix.len() + 26);
        start.extend_from_slice(prefix);
        start.push(b'{');
        for byte in &digest[..8] {
            start.extend([hex(byte >> 4), hex(byte & 15)]);
        }
        let slot = slot_of(&start[prefix.len() + 1..]);
        start.push(b'}');
        Self { digest, start, slot }
    }

    /// Key for this use in this space.
    pub(super) fn key(&self, Space(space): Space, of: KeyUse) -> Vec<u8> {
        let words = match of {
            KeyUse::State(id) => id.to_words(),
            KeyUse::OpenPermits => [u64::MAX, 1],
        };
        let mixed = [space[0], space[1], words[0], words[1]].into_iter().fold(0, mix);
        let mut suffix = [0; 6];
        let own = self.digest[8..14].iter().zip(mixed.to_le_bytes());
        suffix.iter_mut().zip(own).for_each(|(byte, (digest, mixed))| *byte = digest ^ mixed);
        self.finish(&suffix)
    }

    /// Key of the ticket with this id.
    pub(super) fn ticket(&self, id: &[u8]) -> Vec<u8> {
        let digest = Sha256::new().chain_update(self.digest).chain_update(id).finalize();
        // Longer than those of limits, so that they never collide.
        self.finish(&digest[..15])
    }

    fn finish(&self, suffix: &[u8]) -> Vec<u8> {
        let mut text = [0; 20];
        let length = URL_SAFE_NO_PAD.encode_slice(suffix, &mut text).expect("15 bytes are 20 characters");
        [&self.start, &text[..length]].concat()
    }
}

/// Key of the notes, and its slot.
pub(super) fn notes(prefix: &[u8]) -> (Vec<u8>, u16) {
    const TAG: &[u8] = b"board";
    ([prefix, b"{", TAG, b"}"].concat(), slot_of(TAG))
}

fn hex(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble)]
}

/// Mixes a word into a sum: every bit of both affects every bit of the result. Clients do not
/// choose rules and limits, so nothing stronger is needed.
fn mix(sum: u64, word: u64) -> u64 {
    let sum = (sum ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let sum = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let sum = (sum ^ (sum >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    sum ^ (sum >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use slidegate_core::Limit;

    #[test]
    fn a_name_is_short_and_its_own() {
        let mut all = HashSet::new();
        for name in ["login", "search"] {
            for key in [Key::from("alice"), Key::from("bob"), Key::from(("alice",)), Key::from(("a", "b"))] {
                let owner = KeyOwner::new(b"sg:", &key);
                let limits =
                    [Limit::per_second(5), Limit::per_minute(5), Limit::per_second(5).named("other")];
                for of in
                    limits.map(|limit| KeyUse::State(limit.id())).into_iter().chain([KeyUse::OpenPermits])
                {
                    let text = owner.key(Space::named(name), of);
                    assert_eq!(text.len(), 29);
                    assert!(all.insert(text));
                }
            }
        }
    }

    /// The name is part of what is stored: nodes of different versions have to agree on it.
    #[test]
    fn names_stay() {
        let owner = KeyOwner::new(b"sg:", &Key::from("alice"));
        let key = owner.key(Space::named(""), KeyUse::State(Limit::per_minute(5).id()));
        assert_eq!(String::from_utf8(key).expect("text"), "sg:{1255dacaa637f70c}OkN9PF-v");
        assert_eq!(notes(b"sg:").0, b"sg:{board}");
    }
}

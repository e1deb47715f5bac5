//! Display of subjects in top lists and in the denial log.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use slidegate_policy::KeyText;
use slidegate_store::random;
use slidegate_store::{Key, Space};

slidegate_policy::keywords! {
    /// Form of subjects in top lists and in the denial log.
    pub enum Subjects {
        Plain = "plain": "Unchanged.",
        Hashed = "hashed": "Hashed with a secret of the process: a value has the same hash until the process ends.",
    }
}

type RenderKey = dyn Fn(&Key<'_>) -> Vec<KeyText> + Send + Sync;

/// Naming of the subjects of one rule, shared by all lists and logs.
pub struct SubjectNaming {
    rule: Arc<str>,
    space: Space,
    render: Box<RenderKey>,
}

impl SubjectNaming {
    /// Naming for the rule of this name, with the space of its keys and their text form.
    pub fn new(
        rule: impl Into<Arc<str>>,
        space: Space,
        render: impl Fn(&Key<'_>) -> Vec<KeyText> + Send + Sync + 'static,
    ) -> Self {
        Self { rule: rule.into(), space, render: Box::new(render) }
    }

    /// Name of the rule.
    #[inline]
    pub fn rule(&self) -> &Arc<str> {
        &self.rule
    }

    #[inline]
    pub(super) fn space(&self) -> Space {
        self.space
    }

    /// Text form of a key, not hashed.
    pub fn plain(&self, key: &Key<'_>) -> Vec<KeyText> {
        (self.render)(key)
    }
}

impl fmt::Debug for SubjectNaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubjectNaming").field("rule", &self.rule).finish_non_exhaustive()
    }
}

/// Display setting of subjects: plain or hashed. One for all lists and logs of a process, so that a
/// subject has the same name in all of them.
pub struct SubjectDisplay {
    secret: [u8; 32],
    hashed: AtomicBool,
}

impl SubjectDisplay {
    /// Display with a new secret for hashes.
    pub fn new(subjects: Subjects) -> Self {
        Self { secret: random(), hashed: AtomicBool::new(subjects == Subjects::Hashed) }
    }

    /// Changes the setting. Hashes stay the same.
    pub fn set(&self, subjects: Subjects) {
        self.hashed.store(subjects == Subjects::Hashed, Ordering::Relaxed);
    }

    /// Current setting.
    pub fn subjects(&self) -> Subjects {
        if self.hashed.load(Ordering::Relaxed) { Subjects::Hashed } else { Subjects::Plain }
    }

    /// Subject in the current setting.
    pub fn subject(&self, naming: &SubjectNaming, key: &Key<'_>) -> Vec<KeyText> {
        self.apply(self.subjects(), naming.plain(key))
    }

    /// Texts in a setting.
    pub(super) fn apply(&self, subjects: Subjects, plain: Vec<KeyText>) -> Vec<KeyText> {
        match subjects {
            Subjects::Plain => plain,
            Subjects::Hashed => self.hashed(plain),
        }
    }

    /// Texts with hashes instead of values. Equal values of one attribute have one hash under every
    /// rule.
    fn hashed(&self, mut plain: Vec<KeyText>) -> Vec<KeyText> {
        for KeyText { attribute, value } in &mut plain {
            if let Some(value) = value {
                *value = self.hash(attribute, value);
            }
        }
        plain
    }

    /// Keyed hash of 64 bits: values can be guessed only with the secret.
    fn hash(&self, attribute: &str, value: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("a secret may have any length");
        mac.update(&(attribute.len() as u64).to_le_bytes());
        mac.update(attribute.as_bytes());
        mac.update(value.as_bytes());
        let digest = mac.finalize().into_bytes();
        let (words, _) = digest.as_chunks::<8>();
        format!("{:016x}", u64::from_be_bytes(words[0]))
    }
}

impl Default for SubjectDisplay {
    fn default() -> Self {
        Self::new(Subjects::default())
    }
}

impl fmt::Debug for SubjectDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubjectDisplay").field("subjects", &self.subjects()).finish_non_exhaustive()
    }
}

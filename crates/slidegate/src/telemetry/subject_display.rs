//! What subjects are called in top lists and in the denial log.

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

type Show = dyn Fn(&Key<'_>) -> Vec<KeyText> + Send + Sync;

/// What the subjects of one rule are called: made once for a rule, and shared by all that speak of them.
pub struct SubjectNaming {
    rule: Arc<str>,
    space: Space,
    show: Box<Show>,
}

impl SubjectNaming {
    /// For the rule of this name, whose keys count in this space and are shown like this.
    pub fn new(
        rule: impl Into<Arc<str>>,
        space: Space,
        show: impl Fn(&Key<'_>) -> Vec<KeyText> + Send + Sync + 'static,
    ) -> Self {
        Self { rule: rule.into(), space, show: Box::new(show) }
    }

    /// The rule's name.
    #[inline]
    pub fn rule(&self) -> &Arc<str> {
        &self.rule
    }

    #[inline]
    pub(super) fn space(&self) -> Space {
        self.space
    }

    /// A key for people, as it is.
    pub fn plain(&self, key: &Key<'_>) -> Vec<KeyText> {
        (self.show)(key)
    }
}

impl fmt::Debug for SubjectNaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubjectNaming").field("rule", &self.rule).finish_non_exhaustive()
    }
}

/// How subjects appear now: one for all lists and logs of a process, so that a subject is called the same in all of them.
pub struct SubjectDisplay {
    secret: [u8; 32],
    hashed: AtomicBool,
}

impl SubjectDisplay {
    /// Under a new secret.
    pub fn new(subjects: Subjects) -> Self {
        Self { secret: random(), hashed: AtomicBool::new(subjects == Subjects::Hashed) }
    }

    /// From now on like this. Hashes stay the same.
    pub fn set(&self, subjects: Subjects) {
        self.hashed.store(subjects == Subjects::Hashed, Ordering::Relaxed);
    }

    /// As it is set.
    pub fn subjects(&self) -> Subjects {
        if self.hashed.load(Ordering::Relaxed) { Subjects::Hashed } else { Subjects::Plain }
    }

    /// A subject as it is to be shown.
    pub fn subject(&self, naming: &SubjectNaming, key: &Key<'_>) -> Vec<KeyText> {
        self.like(self.subjects(), naming.plain(key))
    }

    /// Texts as they would be shown if this were set.
    pub(super) fn like(&self, subjects: Subjects, plain: Vec<KeyText>) -> Vec<KeyText> {
        match subjects {
            Subjects::Plain => plain,
            Subjects::Hashed => self.hide(plain),
        }
    }

    /// The hash takes the place of a value. Equal values of one attribute are called the same under every rule.
    fn hide(&self, mut plain: Vec<KeyText>) -> Vec<KeyText> {
        for KeyText { attribute, value } in &mut plain {
            if let Some(value) = value {
                *value = self.hash(attribute, value);
            }
        }
        plain
    }

    /// 64 bits: whoever knows the secret can try values, and nobody else.
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

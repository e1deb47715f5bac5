//! What a process tells of every answer that it got, and how.

use std::io::{self, Write};

const BYTES: usize = 24;

/// One answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Admitted {
        at_ms: u64,
    },
    Denied {
        at_ms: u64,
        retry_after_ms: u64,
    },
    /// Denied without asking, at some time from the first to the last.
    Repeated {
        from_ms: u64,
        to_ms: u64,
        retry_after_ms: u64,
    },
}

impl Answer {
    pub(crate) fn write(self, to: &mut impl Write) -> io::Result<()> {
        let words = match self {
            Self::Admitted { at_ms } => [at_ms, 0, 0],
            Self::Denied { at_ms, retry_after_ms } => [at_ms, 0, retry_after_ms],
            Self::Repeated { from_ms, to_ms, retry_after_ms } => [from_ms, to_ms, retry_after_ms],
        };
        words.into_iter().try_for_each(|word| to.write_all(&word.to_le_bytes()))
    }

    /// All that was written. No denial comes with a wait of nothing.
    pub(crate) fn read_all(bytes: &[u8]) -> Vec<Self> {
        let (answers, rest) = bytes.as_chunks::<BYTES>();
        assert!(rest.is_empty(), "an answer that is cut off");
        answers.iter().map(Self::read).collect()
    }

    fn read(bytes: &[u8; BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        match [0, 1, 2].map(|word: usize| u64::from_le_bytes(words[word])) {
            [at_ms, 0, 0] => Self::Admitted { at_ms },
            [at_ms, 0, retry_after_ms] => Self::Denied { at_ms, retry_after_ms },
            [from_ms, to_ms, retry_after_ms] => Self::Repeated { from_ms, to_ms, retry_after_ms },
        }
    }
}

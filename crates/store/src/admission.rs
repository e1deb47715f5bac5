//! Answers of a store: [`Admission`], [`Grants`], [`IdempotentOutcome`].

use slidegate_core::{Grant, Verdict};
use smallvec::SmallVec;

/// Answer to a request whose charges may be given back: verdict and permits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// Verdict.
    pub verdict: Verdict,
    /// Permits.
    pub grants: Grants,
}

impl Admission {
    /// True if the request was charged.
    pub fn is_admitted(&self) -> bool {
        self.verdict.is_allowed() && self.grants != Grants::TooManyOpen
    }
}

impl From<Verdict> for Admission {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, grants: Grants::Nothing }
    }
}

/// Permits of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grants {
    /// No permit: the request was denied, or nothing of it is refundable.
    Nothing,
    /// One permit per refundable charge.
    Permits(SmallVec<[Option<Grant>; 1]>),
    /// No permit and no charge: a subject has
    /// [`MAX_OPEN_PERMITS`](slidegate_core::MAX_OPEN_PERMITS) open permits.
    TooManyOpen,
}

impl Grants {
    /// Permits by charge.
    pub fn new(grants: impl IntoIterator<Item = Option<Grant>>) -> Self {
        let grants: SmallVec<[Option<Grant>; 1]> = grants.into_iter().collect();
        if grants.iter().any(Option::is_some) { Self::Permits(grants) } else { Self::Nothing }
    }

    /// Permit of a charge.
    pub fn of(&self, charge: usize) -> Option<Grant> {
        match self {
            Self::Permits(grants) => grants.get(charge).copied().flatten(),
            Self::Nothing | Self::TooManyOpen => None,
        }
    }
}

/// Answer to a request under an idempotency key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdempotentOutcome {
    /// Decided now: the key is new, or its last answer expired or was a denial.
    Decided(Admission),
    /// Admitted before, and not charged again.
    Replayed {
        /// The first answer.
        admission: Admission,
        /// [`ChargeRequest::holder`](crate::ChargeRequest::holder) of then, under which it can be
        /// settled.
        holder: u64,
    },
    /// Another request was admitted under this key.
    Conflict,
    /// The cache is full. Nothing was decided.
    Full,
}

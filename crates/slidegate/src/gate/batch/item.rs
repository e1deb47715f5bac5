//! What is asked together with others, and what the rules have to say to each.

use slidegate_core::Limit;
use smallvec::SmallVec;

use slidegate_policy::{Blocked, Choice, Hit, HitMode, Policy};
use slidegate_policy::{Request, RequestError};
use slidegate_store::Charge;
use slidegate_store::{Key, Space};

/// One of several requests that are decided together; see [`Gate::check_all`](crate::Gate::check_all).
#[derive(Clone, Debug)]
pub enum BatchItem<'a> {
    /// Checked by the rules that apply to it; a cost of 0 is a peek.
    Check(Request<'a>),
    /// Checked by an ad hoc limit instead of the rules. Such keys share nothing with those of rules.
    Limit {
        /// Whom it counts for.
        key: Key<'a>,
        /// The limit.
        limit: Limit,
        /// Units asked for; 0 only looks.
        cost: u64,
        /// What its sender knows it by.
        id: Option<&'a str>,
    },
    /// Units that were charged before and not needed: the oldest are given back, where a rule that applies is `refundable`. Of other
    /// rules it is only told what they have left.
    GiveBack {
        /// Whose units; its own cost does not matter.
        request: Request<'a>,
        /// How many.
        units: u64,
    },
    /// Asks for nothing, and always fits.
    Nothing,
    /// Refused whatever the limits say, and all others with it.
    Refuse,
}

impl<'a> BatchItem<'a> {
    /// The request that it is about, if it is about one.
    pub(in crate::gate) fn request(&self) -> Option<&Request<'a>> {
        match self {
            Self::Check(request) | Self::GiveBack { request, .. } => Some(request),
            Self::Limit { .. } | Self::Nothing | Self::Refuse => None,
        }
    }

    /// What its sender knows it by.
    pub(in crate::gate) fn id(&self) -> Option<&str> {
        match self {
            Self::Limit { id, .. } => *id,
            _ => self.request().and_then(Request::id),
        }
    }
}

/// A demand, and what applies to it.
#[derive(Debug)]
pub(in crate::gate) struct MatchedItem<'d> {
    pub(in crate::gate) by: ItemLimits<'d>,
    /// What it asks for.
    pub(in crate::gate) cost: u64,
    /// What it gives back.
    pub(in crate::gate) units: u64,
    /// Rules that do not apply because it lacks an attribute of their key.
    pub(in crate::gate) skipped: SmallVec<[usize; 2]>,
}

/// What decides a demand.
#[derive(Debug)]
pub(in crate::gate) enum ItemLimits<'d> {
    Rules(SmallVec<[Hit<'d>; 2]>),
    Limit(&'d Key<'d>, &'d Limit),
    /// Refused at once: by a rule, or by whoever asks.
    Nothing(Option<(usize, Blocked)>),
}

impl<'d> MatchedItem<'d> {
    pub(in crate::gate) fn new(policy: &Policy, item: &'d BatchItem<'_>) -> Result<Self, RequestError> {
        let mut skipped = SmallVec::new();
        let (by, cost, units) = match item {
            BatchItem::Check(request) => {
                (ItemLimits::rules(policy, request, &mut skipped)?, request.requested_cost(), 0)
            }
            BatchItem::GiveBack { request, units } => {
                let by = ItemLimits::rules(policy, request, &mut skipped)?;
                // Another spelling of a path must not free what was not charged.
                let is_sure = match &by {
                    ItemLimits::Rules(hits) => policy.hits_every_reading(request, hits)?,
                    ItemLimits::Limit(..) | ItemLimits::Nothing(_) => true,
                };
                (by, 0, if is_sure { *units } else { 0 })
            }
            BatchItem::Limit { key, limit, cost, .. } => (ItemLimits::Limit(key, limit), *cost, 0),
            BatchItem::Nothing => (ItemLimits::Rules(SmallVec::new()), 0, 0),
            BatchItem::Refuse => (ItemLimits::Nothing(None), 0, 0),
        };
        Ok(Self { by, cost, units, skipped })
    }

    pub(in crate::gate) fn is_barred(&self) -> bool {
        matches!(self.by, ItemLimits::Nothing(_))
    }

    /// All rules that apply.
    pub(in crate::gate) fn every_hit(&self) -> &[Hit<'d>] {
        match &self.by {
            ItemLimits::Rules(hits) => hits,
            ItemLimits::Limit(..) | ItemLimits::Nothing(_) => &[],
        }
    }

    /// The rules whose limits are asked in this way.
    pub(in crate::gate) fn hits(&self, mode: HitMode) -> impl Iterator<Item = &Hit<'d>> {
        self.every_hit().iter().filter(move |hit| hit.consults(mode))
    }

    /// What it charges where it may be refused, at this cost. `brought` is the space of limits that come along.
    pub(in crate::gate) fn charges<'c>(
        &'c self,
        policy: &'c Policy,
        batch_space: Space,
        cost: u64,
    ) -> impl Iterator<Item = Charge<'c>> {
        let own = match self.by {
            ItemLimits::Limit(key, limit) => {
                Some(Charge { space: batch_space, key, limits: std::slice::from_ref(limit), cost })
            }
            ItemLimits::Rules(_) | ItemLimits::Nothing(_) => None,
        };
        own.into_iter().chain(self.hits(HitMode::Enforce).map(move |hit| charge(policy, hit, cost)))
    }

    /// Whether what it does goes beyond what was decided, if all is admitted.
    pub(in crate::gate) fn has_follow_up(&self, policy: &Policy) -> bool {
        self.every_hit().iter().any(|hit| {
            hit.mode == HitMode::Observe || self.units > 0 && policy.rules()[hit.rule].refundable()
        })
    }
}

impl<'d> ItemLimits<'d> {
    fn rules(
        policy: &Policy,
        request: &'d Request<'_>,
        skipped: &mut SmallVec<[usize; 2]>,
    ) -> Result<Self, RequestError> {
        Ok(match policy.choose_and_skip(request, |rule| skipped.push(rule))? {
            Choice::Blocked { rule, reason: why } => Self::Nothing(Some((rule, why))),
            Choice::Hits(hits) => Self::Rules(hits),
        })
    }
}

/// What a rule that applies is charged.
pub(in crate::gate) fn charge<'c>(policy: &'c Policy, hit: &'c Hit<'_>, cost: u64) -> Charge<'c> {
    let rule = &policy.rules()[hit.rule];
    Charge { space: rule.space(), key: &hit.key, limits: rule.limit_sets()[hit.limit_set].limits(), cost }
}

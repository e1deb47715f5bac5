//! Items of a decision: one request, or several in a batch, each with the rules that apply to it.

use slidegate_core::Limit;
use smallvec::SmallVec;

use slidegate_policy::{Blocked, Choice, Hit, HitMode, Policy, Request, RequestError};
use slidegate_store::Key;

/// One of several requests that are decided together; see
/// [`Gate::check_all`](crate::Gate::check_all).
#[derive(Clone, Debug)]
pub enum BatchItem<'a> {
    /// Request under the rules that apply to it; a cost of 0 is a peek.
    Check(Request<'a>),
    /// Request under an ad hoc limit instead of rules. Its key shares nothing with those of rules.
    Limit {
        /// Subject.
        key: Key<'a>,
        /// Limit.
        limit: Limit,
        /// Units to charge; 0 is a peek.
        cost: u64,
        /// Id of the request, for telemetry.
        id: Option<&'a str>,
    },
    /// Units to give back, the oldest first, where a rule that applies is `refundable`. Other rules
    /// only report what they have left.
    GiveBack {
        /// Request that names the subjects; its own cost is ignored.
        request: Request<'a>,
        /// Number of units.
        units: u64,
    },
    /// Nothing: always fits.
    Nothing,
    /// Refusal of the whole batch, whatever the limits say.
    Refuse,
}

/// Item with the rules or the limit that decide it.
#[derive(Debug)]
pub(super) struct MatchedItem<'d> {
    /// Id of the request, for telemetry.
    pub(super) id: Option<&'d str>,
    pub(super) limits: ItemLimits<'d>,
    /// Units to charge.
    pub(super) cost: u64,
    /// Units to give back.
    pub(super) units: u64,
    /// Rules that do not apply because the request lacks an attribute of their key.
    pub(super) skipped: Vec<usize>,
}

/// Limits of an item, or why none of them is consulted.
#[derive(Debug)]
pub(super) enum ItemLimits<'d> {
    Rules(SmallVec<[Hit<'d>; 2]>),
    AdHoc(&'d Key<'d>, &'d Limit),
    Blocked {
        by: BlockedBy,
        /// Subject under the rule that blocks it, as far as it has one.
        key: Option<Key<'d>>,
        /// Index of the rule's route.
        route: u32,
    },
}

/// Origin of a refusal without limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockedBy {
    Rule(u32, Blocked),
    Caller,
}

impl<'d> MatchedItem<'d> {
    /// Item of a single request.
    #[inline]
    pub(super) fn request(policy: &Policy, request: &'d Request<'_>, choice: Choice<'d>) -> Self {
        let limits = match choice {
            Choice::Hits(hits) => ItemLimits::Rules(hits),
            Choice::Blocked { rule, reason } => {
                let (key, route) = policy.key_and_route_of(rule, request);
                ItemLimits::Blocked { by: BlockedBy::Rule(rule as u32, reason), key, route }
            }
        };
        Self { id: request.id(), limits, cost: request.requested_cost(), units: 0, skipped: Vec::new() }
    }

    /// Item of a batch.
    pub(super) fn batch(policy: &Policy, item: &'d BatchItem<'_>) -> Result<Self, RequestError> {
        match item {
            BatchItem::Check(request) => Self::matching(policy, request),
            BatchItem::GiveBack { request, units } => {
                let item = Self::matching(policy, request)?;
                // Another spelling of a path must not free what was not charged.
                let units = match &item.limits {
                    ItemLimits::Rules(hits) if !policy.hits_every_reading(request, hits)? => 0,
                    _ => *units,
                };
                Ok(Self { cost: 0, units, ..item })
            }
            BatchItem::Limit { key, limit, cost, id } => {
                Ok(Self { id: *id, cost: *cost, ..Self::without_request(ItemLimits::AdHoc(key, limit)) })
            }
            BatchItem::Nothing => Ok(Self::without_request(ItemLimits::Rules(SmallVec::new()))),
            BatchItem::Refuse => {
                let limits = ItemLimits::Blocked { by: BlockedBy::Caller, key: None, route: 0 };
                Ok(Self::without_request(limits))
            }
        }
    }

    fn matching(policy: &Policy, request: &'d Request<'_>) -> Result<Self, RequestError> {
        let mut skipped = Vec::new();
        let choice = policy.choose_and_skip(request, |rule| skipped.push(rule))?;
        Ok(Self { skipped, ..Self::request(policy, request, choice) })
    }

    fn without_request(limits: ItemLimits<'d>) -> Self {
        Self { id: None, limits, cost: 0, units: 0, skipped: Vec::new() }
    }

    #[inline]
    pub(super) fn blocked_by(&self) -> Option<BlockedBy> {
        match self.limits {
            ItemLimits::Blocked { by, .. } => Some(by),
            ItemLimits::Rules(_) | ItemLimits::AdHoc(..) => None,
        }
    }

    /// All rules that apply.
    #[inline]
    pub(super) fn hits(&self) -> &[Hit<'d>] {
        match &self.limits {
            ItemLimits::Rules(hits) => hits,
            ItemLimits::AdHoc(..) | ItemLimits::Blocked { .. } => &[],
        }
    }

    /// The rules whose limits are consulted in this mode.
    #[inline]
    pub(super) fn hits_in(&self, mode: HitMode) -> impl Iterator<Item = &Hit<'d>> {
        self.hits().iter().filter(move |hit| hit.consults(mode))
    }

    /// Number of ad hoc limits.
    #[inline]
    pub(super) fn ad_hoc_limits(&self) -> usize {
        usize::from(matches!(self.limits, ItemLimits::AdHoc(..)))
    }

    /// Whether there is something to do once all items are admitted: dry runs, or units to give
    /// back.
    #[inline]
    pub(super) fn has_follow_up(&self) -> bool {
        self.units > 0 || self.hits().iter().any(|hit| hit.mode == HitMode::Observe)
    }
}

/// Whether one of the items is refused whatever the limits say.
#[inline]
pub(super) fn is_blocked(items: &[MatchedItem<'_>]) -> bool {
    items.iter().any(|item| item.blocked_by().is_some())
}

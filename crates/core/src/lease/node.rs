//! A node's side of a lease: when to ask for units, and how to decide within them.

use super::rate::RequestRate;
use super::{LeaseClose, LeaseGrant, LeaseReply, LeaseRequest, LeaseUse, MAX_LEASE_USES, Prepayment};
use crate::algorithms::log::{Log, enough_ms};
use crate::history::{Attempt, History};
use crate::limit::Limit;
use crate::time::MAX_TIME_MS;
use crate::verdict::{Decision, Outcome};

/// Clocks of this node may run faster than another's by one in this many: 500 ppm each.
const DRIFT: u64 = 1_000;

/// Time at a node, by two clocks: the monotonic one stops while the machine is suspended, and the
/// wall clock may be set back. A lease ends when either says so.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NodeTime {
    /// Time of a clock that never goes back.
    pub monotonic_ms: u64,
    /// Unix time.
    pub wall_ms: u64,
}

/// Phase of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeasePhase {
    /// None, and none was requested.
    None,
    /// None, and a request is under way: decisions wait for it.
    Requesting,
    /// The node decides, within as many units as it wanted.
    Active,
    /// The node decides, within fewer units than it wanted: other nodes use the rest.
    Short,
    /// The last lease has ended: the store decides.
    Lapsed,
}

/// Decision of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseDecision {
    /// The node has decided. `remaining` is what fits on this node at least; a wait is the longest.
    Local(Decision),
    /// The store has to decide, with these units of the lease.
    Store(Option<Prepayment>),
    /// A lease was requested and none is there: decide again after the answer.
    Wait,
}

/// Next step of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseStep {
    /// Send this request.
    Sync(LeaseRequest),
    /// Send [`LeaseNode::close`]: the lease is no longer used.
    Close,
}

/// Lease of a node on one key under one log.
///
/// The log of a lease has uses that nobody else knows of: it must not be evicted while the lease
/// lasts, nor for a window after.
///
/// ```
/// use slidegate_core::{
///     Limit, LeaseDecision, LeaseLog, LeaseNode, LeaseReply, LeaseStep, Log, NodeTime, Outcome,
/// };
///
/// let limit = Limit::per_minute(100);
/// let at = |ms| NodeTime { monotonic_ms: ms, wall_ms: 1_745_000_000_000 + ms };
/// let mut store = LeaseLog::from(Log::EMPTY);
/// let mut node = LeaseNode::new(7, limit, 1, at(0));
/// for ms in 0..20 {
///     assert_eq!(node.decide(1, at(ms)), LeaseDecision::Store(None)); // not worth a lease yet
/// }
/// let Some(LeaseStep::Sync(request)) = node.poll(at(20)) else { panic!("20 are enough") };
/// let reply = store.lease(&limit, &request, 1_745_000_000_021);
/// assert!(node.answer(&reply, at(22)));
/// let LeaseDecision::Local(decision) = node.decide(1, at(23)) else { panic!("it has a lease") };
/// assert_eq!(decision.outcome, Outcome::Fits);
/// ```
#[derive(Clone, Debug)]
pub struct LeaseNode {
    id: u64,
    sequence: u64,
    limit: Limit,
    /// Uses of this node.
    log: Log,
    /// Units that it may use within any window, until the end.
    allowance: u64,
    end: NodeTime,
    is_short: bool,
    pending: Option<PendingSync>,
    epoch: u64,
    /// When the last request was sent that was answered under this epoch.
    epoch_sent_ms: u64,
    rate: RequestRate,
    round_trip_ms: u64,
    last_sync_ms: u64,
    last_use_ms: u64,
}

/// Request under way.
#[derive(Clone, Copy, Debug)]
struct PendingSync {
    sent: NodeTime,
    want: u64,
    length_ms: u64,
}

impl LeaseNode {
    /// Node without a lease. `id` is random, and used for one lease only; `round_trip_ms` is the
    /// time of a call, until calls have been measured.
    pub fn new(id: u64, limit: Limit, round_trip_ms: u64, now: NodeTime) -> Self {
        Self {
            id,
            sequence: 0,
            limit,
            log: Log::EMPTY,
            allowance: 0,
            end: NodeTime::default(),
            is_short: false,
            pending: None,
            epoch: 0,
            epoch_sent_ms: 0,
            rate: RequestRate::new(limit.window_ms(), now.monotonic_ms),
            round_trip_ms,
            last_sync_ms: now.monotonic_ms,
            last_use_ms: now.monotonic_ms,
        }
    }

    /// Id of the lease.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Sequence number of the last request; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Epoch of the store when it last answered.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Phase at this time.
    pub fn phase(&self, now: NodeTime) -> LeasePhase {
        match (self.is_valid(now), self.pending) {
            (true, _) if self.is_short => LeasePhase::Short,
            (true, _) => LeasePhase::Active,
            (false, Some(_)) => LeasePhase::Requesting,
            (false, None) if self.sequence == 0 => LeasePhase::None,
            (false, None) => LeasePhase::Lapsed,
        }
    }

    /// Largest cost that fits into the lease.
    pub fn headroom(&mut self, now: NodeTime) -> u64 {
        self.log.peek(&self.limit, now.monotonic_ms);
        if self.is_valid(now) { self.allowance.saturating_sub(self.log.total()) } else { 0 }
    }

    /// Decides a cost of at least 1 under this limit alone.
    pub fn decide(&mut self, cost: u64, now: NodeTime) -> LeaseDecision {
        self.rate.add(cost, now.monotonic_ms);
        self.last_use_ms = now.monotonic_ms;
        let headroom = self.headroom(now);
        match self.phase(now) {
            LeasePhase::Active | LeasePhase::Short if cost <= headroom => {
                LeaseDecision::Local(self.admit(cost, headroom, now))
            }
            // Elsewhere there is no more either.
            LeasePhase::Short if cost <= self.allowance => LeaseDecision::Local(self.refuse(cost, now)),
            LeasePhase::Active | LeasePhase::Short => LeaseDecision::Store(self.prepay(cost, now)),
            LeasePhase::Requesting => LeaseDecision::Wait,
            LeasePhase::None | LeasePhase::Lapsed => LeaseDecision::Store(None),
        }
    }

    fn admit(&mut self, cost: u64, headroom: u64, now: NodeTime) -> Decision {
        let now_ms = now.monotonic_ms.min(MAX_TIME_MS);
        let attempt = Attempt { now_ms, cost, holder: 0 };
        let (stamp_ms, reset_after_ms) = self.log.record(&self.limit, attempt, now_ms);
        Decision { outcome: Outcome::Fits, remaining: headroom - cost, reset_after_ms, stamp_ms }
    }

    fn refuse(&self, cost: u64, now: NodeTime) -> Decision {
        let now_ms = now.monotonic_ms;
        let excess = self.log.total() + cost - self.allowance;
        let leaves_ms = enough_ms(self.log.entries(), excess) + self.limit.window_ms();
        Decision {
            outcome: Outcome::RetryAfter(leaves_ms.saturating_sub(now_ms)),
            remaining: self.allowance.saturating_sub(self.log.total()),
            reset_after_ms: self.log.reset_after_ms(&self.limit, now_ms, now_ms),
            stamp_ms: 0,
        }
    }

    /// Sets units aside for a charge that only the store can decide. Not while a request is under
    /// way: its answer would return them.
    pub fn prepay(&mut self, cost: u64, now: NodeTime) -> Option<Prepayment> {
        let units = self.headroom(now).min(cost);
        if units == 0 || self.pending.is_some() {
            return None;
        }
        self.allowance -= units;
        Some(Prepayment { node: self.id, sequence: self.sequence, units })
    }

    /// Takes units back that were set aside for a charge that the store has denied. Not if a
    /// request was sent since, which said that they are not here.
    pub fn restore(&mut self, prepayment: &Prepayment) {
        if prepayment.node == self.id && prepayment.sequence == self.sequence {
            self.allowance += prepayment.units;
        }
    }

    /// Step that is due. Call it after decisions, and from time to time.
    pub fn poll(&mut self, now: NodeTime) -> Option<LeaseStep> {
        if self.pending.is_some() {
            return None;
        }
        let now_ms = now.monotonic_ms;
        let phase = self.phase(now);
        if phase == LeasePhase::None {
            return self.rate.is_worth_a_lease().then(|| self.sync(now));
        }
        if now_ms.saturating_sub(self.last_use_ms) > self.limit.window_ms() / 2 {
            return Some(LeaseStep::Close);
        }
        let interval_ms = self.rate.interval_ms(self.round_trip_ms);
        let since_ms = now_ms.saturating_sub(self.last_sync_ms);
        let is_due = match phase {
            LeasePhase::Short => since_ms >= interval_ms / 2,
            LeasePhase::Active => since_ms >= interval_ms || self.is_running_out(since_ms, now),
            _ => since_ms >= interval_ms,
        };
        is_due.then(|| self.sync(now))
    }

    /// True if the rest of the lease may be used before an answer arrives.
    fn is_running_out(&mut self, since_ms: u64, now: NodeTime) -> bool {
        let interval_ms = self.rate.interval_ms(self.round_trip_ms);
        since_ms >= self.round_trip_ms.max(interval_ms / 8)
            && self.headroom(now) <= self.rate.units_within(2 * self.round_trip_ms)
    }

    /// Request to renew the lease, or for the first one.
    fn sync(&mut self, now: NodeTime) -> LeaseStep {
        let now_ms = now.monotonic_ms;
        self.rate.update(self.round_trip_ms, now_ms);
        let window_ms = self.limit.window_ms();
        let interval_ms = self.rate.interval_ms(self.round_trip_ms);
        let has_lease = self.is_valid(now);
        let is_idle = now_ms.saturating_sub(self.last_use_ms) >= interval_ms;
        self.log.peek(&self.limit, now_ms);
        let total = self.log.total();
        // A quarter more than what is expected to be used until the next answer.
        let ahead = self.rate.units_within((interval_ms + self.round_trip_ms) * 5 / 4) + 2;
        let want = total.saturating_add(if is_idle { 0 } else { ahead }).min(self.limit.quota());
        let allowance = if has_lease { self.allowance } else { 0 };
        let hold = total.max(allowance.min(want));
        // Before it is sent: from then on the store may give the rest to others.
        self.allowance = allowance.min(hold);
        self.sequence += 1;
        self.last_sync_ms = now_ms;
        let length_ms = (window_ms / 8).max(4 * self.round_trip_ms).clamp(1, window_ms);
        self.pending = Some(PendingSync { sent: now, want, length_ms });
        let (node, sequence, demand) = (self.id, self.sequence, self.rate.demand().max(1));
        LeaseStep::Sync(LeaseRequest { node, sequence, hold, want, demand, length_ms })
    }

    /// Takes the answer to the last request; returns false if it is that to another, which may have
    /// been made before this node used more.
    pub fn answer(&mut self, reply: &LeaseReply, now: NodeTime) -> bool {
        match *reply {
            LeaseReply::Grant(grant) if grant.sequence == self.sequence => match self.pending.take() {
                Some(pending) => {
                    self.take(&grant, pending, now);
                    true
                }
                None => false,
            },
            LeaseReply::Full { sequence } if sequence == self.sequence && self.pending.is_some() => {
                // The store counts what was used here.
                let window_ms = self.limit.window_ms();
                (self.pending, self.log, self.allowance) = (None, Log::EMPTY, 0);
                (self.end, self.rate) = (NodeTime::default(), RequestRate::new(window_ms, now.monotonic_ms));
                true
            }
            LeaseReply::Grant(_) | LeaseReply::Full { .. } | LeaseReply::Stale => false,
        }
    }

    fn take(&mut self, grant: &LeaseGrant, pending: PendingSync, now: NodeTime) {
        let PendingSync { sent, want, length_ms } = pending;
        // The store may have recorded the request as soon as it was sent.
        let length_ms = length_ms - length_ms.div_ceil(DRIFT);
        self.end = NodeTime {
            monotonic_ms: sent.monotonic_ms + length_ms,
            wall_ms: sent.wall_ms.saturating_add(length_ms),
        };
        self.allowance = grant.limit;
        self.is_short = grant.limit < want;
        let round_trip_ms = now.monotonic_ms.saturating_sub(sent.monotonic_ms);
        self.round_trip_ms = (3 * self.round_trip_ms + round_trip_ms).div_ceil(4);
        if grant.epoch > self.epoch {
            // A reset. What was used after that request was sent may be newer than the reset.
            let edge_ms = self.epoch_sent_ms;
            let newer = self.log.entries().filter(|entry| entry.stamp_ms >= edge_ms);
            self.log = Log::from_entries(self.log.last_ms(), newer);
            self.epoch = grant.epoch;
        }
        // A lower epoch is that of a store that has lost a reset, and none of a new one.
        if grant.epoch == self.epoch {
            self.epoch_sent_ms = sent.monotonic_ms;
        }
    }

    /// Gives up waiting for the answer to this request.
    pub fn lose(&mut self, sequence: u64) {
        if sequence == self.sequence {
            self.pending = None;
        }
    }

    /// Changes the quota. A lower one ends the lease until the store has answered: other nodes may
    /// have been granted units under the new quota already.
    pub fn set_limit(&mut self, limit: Limit) {
        if limit.quota() < self.limit.quota() {
            (self.allowance, self.end, self.pending) = (0, NodeTime::default(), None);
        }
        self.limit = limit;
    }

    /// Ends the lease: by age, what was used, rounded to be younger.
    pub fn close(self, now: NodeTime) -> LeaseClose {
        let window_ms = self.limit.window_ms();
        let part_ms = window_ms.div_ceil(MAX_LEASE_USES as u64);
        let mut uses = [LeaseUse::default(); MAX_LEASE_USES];
        for entry in self.log.entries() {
            let age_ms = now.monotonic_ms.saturating_sub(entry.stamp_ms);
            let age_ms = age_ms - age_ms.div_ceil(DRIFT);
            let part = age_ms / part_ms;
            if let Some(sum) = uses.get_mut(part as usize) {
                *sum = LeaseUse { age_ms: part * part_ms, units: sum.units + entry.count };
            }
        }
        LeaseClose { node: self.id, sequence: self.sequence + 1, uses }
    }

    /// True if there is a lease, by both clocks.
    fn is_valid(&self, now: NodeTime) -> bool {
        now.monotonic_ms < self.end.monotonic_ms && now.wall_ms < self.end.wall_ms
    }
}

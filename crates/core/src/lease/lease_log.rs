//! The store's side of leases: a log, and a row for every node that holds a part of its quota.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::target::{Claim, target};
use super::{LeaseClose, LeaseGrant, LeaseReply, LeaseRequest, LeaseUse, MAX_LEASE_ROWS, Prepayment};
use crate::algorithms::log::{Log, LogEntry, enough_ms, slot_end_ms};
use crate::decide::{LimitAttempt, decide};
use crate::history::{Attempt, History};
use crate::limit::{Limit, MAX_QUOTA};
use crate::settle::{Receipt, SettleEffect};
use crate::state::State;
use crate::time::{ClockReading, MAX_TIME_MS, read};
use crate::verdict::Verdict;

/// Largest sequence number: up to it they are exact in a double. Nothing is newer.
const MAX_SEQUENCE: u64 = (1 << 53) - 1;

/// Row of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseRow {
    /// Id of the lease.
    pub node: u64,
    /// Sequence number of the last request.
    pub sequence: u64,
    /// Units on lease. They count until a window after the end.
    pub units: u64,
    /// Units that the node wants.
    pub want: u64,
    /// Demand at the node.
    pub demand: u64,
    /// End of the lease.
    pub end_ms: u64,
    /// Length of the lease.
    pub length_ms: u64,
}

/// Log of which parts are on lease: what [`Log`] is to keys without leases.
///
/// As a [`History`] it admits what fits beside the units of the log and of all rows. Its waits are
/// exact if nothing else is admitted and no lease is renewed or closed.
#[derive(Clone, Debug)]
pub struct LeaseLog(Box<LeaseParts>);

/// Parts of a [`LeaseLog`], which are in one allocation so that a state is no larger for them.
#[derive(Clone, Debug)]
struct LeaseParts {
    log: Log,
    rows: Vec<LeaseRow>,
    /// Raised by every reset; 0 before the first.
    epoch: u64,
    /// Time of the last write, of the log or of a row. Ends of leases are ahead of it.
    last_ms: u64,
}

impl From<Log> for LeaseLog {
    fn from(log: Log) -> Self {
        Self::from_parts(log, [], 0, 0)
    }
}

impl LeaseLog {
    /// Log with these rows, at most [`MAX_LEASE_ROWS`].
    pub fn from_parts(log: Log, rows: impl IntoIterator<Item = LeaseRow>, epoch: u64, last_ms: u64) -> Self {
        let last_ms = last_ms.max(log.last_ms());
        let rows = rows.into_iter().take(MAX_LEASE_ROWS).collect();
        Self(Box::new(LeaseParts { log, rows, epoch, last_ms }))
    }

    /// Log instead of the leases: what is on lease counts as used at the end of each lease.
    pub fn to_log(&self) -> Log {
        let ends = self.0.rows.iter().map(|row| LogEntry { stamp_ms: row.end_ms, count: row.units });
        Log::from_entries(self.0.last_ms, self.0.log.entries().chain(ends))
    }

    /// Units that were used at the store, or returned to it as used.
    pub fn log(&self) -> &Log {
        &self.0.log
    }

    /// Rows of the leases, in the order of their last requests.
    pub fn rows(&self) -> &[LeaseRow] {
        &self.0.rows
    }

    /// Epoch, which every reset raises.
    pub fn epoch(&self) -> u64 {
        self.0.epoch
    }

    /// Time of the last write.
    pub fn last_ms(&self) -> u64 {
        self.0.last_ms
    }

    /// Units on lease, up to a window after the end of each lease.
    pub fn leased(&self) -> u64 {
        self.0.rows.iter().map(|row| row.units).sum()
    }

    /// Records the request of a node, and answers what it may use.
    pub fn lease(&mut self, limit: &Limit, request: &LeaseRequest, now_ms: u64) -> LeaseReply {
        let at_ms = self.advance(limit, now_ms.min(MAX_TIME_MS));
        let request = bounded(request, limit);
        let index = self.0.rows.iter().position(|row| row.node == request.node);
        if index.is_some_and(|index| request.sequence <= self.0.rows[index].sequence) {
            return LeaseReply::Stale;
        }
        self.0.last_ms = at_ms;
        if let Some(index) = index {
            self.0.rows.remove(index);
        } else if !self.has_free_row(limit, at_ms) {
            // What the node holds is a fact. It may use it until its present lease ends.
            self.insert(limit, at_ms + request.length_ms, request.hold);
            return LeaseReply::Full { sequence: request.sequence };
        }
        let used = self.0.log.total();
        let others = self.leased();
        let room = limit.quota().saturating_sub(used.saturating_add(others));
        let capacity = limit.quota().saturating_sub(used.saturating_add(self.lapsed(at_ms)));
        let own = Claim { want: request.want, demand: request.demand };
        let target = target(capacity, own, &self.live_claims(limit, at_ms));
        let allowance = allowance(&request, target, room);
        let LeaseRequest { node, sequence, want, demand, length_ms, .. } = request;
        let units = request.hold.max(allowance);
        if units > 0 || want > 0 {
            let end_ms = at_ms + length_ms;
            self.0.rows.push(LeaseRow { node, sequence, units, want, demand, end_ms, length_ms });
        }
        LeaseReply::Grant(LeaseGrant {
            sequence,
            limit: allowance,
            free: room.saturating_sub(units),
            epoch: self.0.epoch,
            at_ms,
        })
    }

    /// Ends a lease: removes its row and records its uses. Returns whether it was newer than the
    /// row, if there is one.
    pub fn close(&mut self, limit: &Limit, close: &LeaseClose, now_ms: u64) -> bool {
        let at_ms = self.advance(limit, now_ms.min(MAX_TIME_MS));
        let index = self.0.rows.iter().position(|row| row.node == close.node);
        if let Some(index) = index {
            if close.sequence.min(MAX_SEQUENCE) <= self.0.rows[index].sequence {
                return false;
            }
            self.0.rows.remove(index);
        }
        self.0.last_ms = at_ms;
        for LeaseUse { age_ms, units } in close.uses {
            let used_ms = at_ms.saturating_sub(age_ms);
            if slot_end_ms(limit, used_ms) + limit.window_ms() > at_ms {
                self.insert(limit, used_ms, units);
            }
        }
        true
    }

    /// Forgets what was used, and raises the epoch, by which the nodes forget their part. Rows
    /// stay: nodes go on using what they hold.
    pub fn reset(&mut self) {
        self.0.log = Log::EMPTY;
        // Higher than one that was lost with the state, if there were writes since: it is at least
        // the time of the last in microseconds.
        self.0.epoch = (self.0.epoch + 1).max(self.0.last_ms * 1_000);
    }

    /// Takes prepaid units off their row, so that they are free for the charge that comes with
    /// them.
    fn redeem(&mut self, prepayment: &Prepayment) -> bool {
        let row = self.0.rows.iter_mut().find(|row| row.node == prepayment.node);
        match row {
            Some(row) if row.sequence == prepayment.sequence && row.units >= prepayment.units => {
                row.units -= prepayment.units;
                true
            }
            _ => false,
        }
    }

    /// Puts units back into the row that they were taken off.
    fn restore(&mut self, prepayment: &Prepayment) {
        if let Some(row) = self.0.rows.iter_mut().find(|row| row.node == prepayment.node) {
            row.units += prepayment.units;
        }
    }

    /// Drops what has left the window, and repairs what a wrong clock wrote. Returns the time at
    /// which to decide.
    fn advance(&mut self, limit: &Limit, now_ms: u64) -> u64 {
        let at_ms = match read(now_ms, self.0.last_ms, limit.window_ms()) {
            ClockReading::At(at_ms) => at_ms,
            ClockReading::Repair(at_ms) => {
                self.repair(at_ms);
                at_ms
            }
        };
        self.0.log.peek(limit, at_ms);
        // A node may have used everything up to the end.
        self.0.rows.retain(|row| row.end_ms + limit.window_ms() > at_ms);
        if !self.0.rows.is_empty() {
            return at_ms;
        }
        // Same as a log without leases.
        self.0.epoch = 0;
        if self.0.log.is_empty() {
            // Same as a new key: the time of the last write has no meaning.
            self.0.last_ms = 0;
            return now_ms;
        }
        at_ms
    }

    /// Every stamp ahead of now becomes now. A lease may have just begun, so none ends earlier than
    /// after its whole length, if it ends ahead of that.
    fn repair(&mut self, now_ms: u64) {
        let entries = self.0.log.entries();
        let repaired = entries.map(|entry| LogEntry { stamp_ms: entry.stamp_ms.min(now_ms), ..entry });
        self.0.log = Log::from_entries(now_ms, repaired);
        for row in &mut self.0.rows {
            row.end_ms = row.end_ms.min(now_ms + row.length_ms);
        }
        self.0.last_ms = now_ms;
    }

    /// Records units that were used at some other time than now.
    fn insert(&mut self, limit: &Limit, used_ms: u64, count: u64) {
        let entry = LogEntry { stamp_ms: slot_end_ms(limit, used_ms), count };
        self.0.log = Log::from_entries(self.0.last_ms, self.0.log.entries().chain(Some(entry)));
    }

    /// True if there is a row for another node. If all are in use, the lease that lapsed first
    /// becomes an entry of the log, at its end; its node would count twice if it returned.
    fn has_free_row(&mut self, limit: &Limit, at_ms: u64) -> bool {
        if self.0.rows.len() < MAX_LEASE_ROWS {
            return true;
        }
        let lapsed = self.0.rows.iter().enumerate().filter(|(_, row)| row.end_ms <= at_ms);
        let Some((index, _)) = lapsed.min_by_key(|(_, row)| row.end_ms) else { return false };
        let row = self.0.rows.remove(index);
        self.insert(limit, row.end_ms, row.units);
        true
    }

    /// Units of leases that have ended, and nobody has renewed.
    fn lapsed(&self, at_ms: u64) -> u64 {
        self.0.rows.iter().filter(|row| row.end_ms <= at_ms).map(|row| row.units).sum()
    }

    /// Claims of the nodes with a lease.
    fn live_claims(&self, limit: &Limit, at_ms: u64) -> impl Iterator<Item = Claim> + Clone {
        let live = self.0.rows.iter().filter(move |row| row.end_ms > at_ms);
        live.map(|row| Claim { want: row.want.min(limit.quota()), demand: row.demand })
    }

    /// Stamp or end of what is the last to leave.
    fn newest_ms(&self) -> Option<u64> {
        let newest = self.0.log.entries().last().map(|entry| entry.stamp_ms);
        newest.max(self.0.rows.iter().map(|row| row.end_ms).max())
    }

    pub(crate) fn settle(
        &mut self,
        limit: &Limit,
        receipt: &Receipt,
        cost: u64,
        now_ms: u64,
    ) -> SettleEffect {
        let at_ms = self.advance(limit, now_ms);
        let effect = self.0.log.settle(limit, receipt, cost, at_ms);
        if effect == SettleEffect::Done {
            self.0.last_ms = at_ms;
        }
        effect
    }

    pub(crate) fn may_grow(&self, limit: &Limit) -> bool {
        self.0.log.may_grow(limit)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<LeaseParts>() + self.0.log.heap_bytes() + self.0.rows.capacity() * size_of::<LeaseRow>()
    }
}

/// A request within the bounds of the limit.
fn bounded(request: &LeaseRequest, limit: &Limit) -> LeaseRequest {
    LeaseRequest {
        sequence: request.sequence.min(MAX_SEQUENCE),
        hold: request.hold.min(MAX_QUOTA),
        want: request.want.min(limit.quota()),
        demand: request.demand.clamp(1, MAX_QUOTA),
        length_ms: request.length_ms.clamp(1, limit.window_ms()),
        ..*request
    }
}

/// Units that a node may use. A little more than the target is not taken away: it would only move
/// to and fro.
fn allowance(request: &LeaseRequest, target: u64, room: u64) -> u64 {
    let is_near = request.hold <= target + target / 32 + 1;
    let allowance = if is_near { request.hold.max(target) } else { target };
    allowance.min(room)
}

impl History for LeaseLog {
    /// Time at which to decide.
    type View = u64;

    #[cold]
    #[inline(never)]
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, u64) {
        let at_ms = self.advance(limit, now_ms);
        (limit.quota().saturating_sub(self.0.log.total().saturating_add(self.leased())), at_ms)
    }

    #[cold]
    #[inline(never)]
    fn view(&self, _: &Limit, now_ms: u64) -> u64 {
        self.0.last_ms.max(now_ms)
    }

    #[cold]
    #[inline(never)]
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, _: u64) -> u64 {
        self.newest_ms().map_or(0, |newest_ms| newest_ms + limit.window_ms() - now_ms)
    }

    #[cold]
    #[inline(never)]
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, _: u64) -> u64 {
        let ends = self.0.rows.iter().map(|row| LogEntry { stamp_ms: row.end_ms, count: row.units });
        let mut releases: Vec<LogEntry> = self.0.log.entries().chain(ends).collect();
        releases.sort_by_key(|entry| entry.stamp_ms);
        let excess = self.0.log.total() + self.leased() + attempt.cost - limit.quota();
        let leaves_ms = enough_ms(releases.into_iter(), excess) + limit.window_ms();
        leaves_ms.saturating_sub(attempt.now_ms)
    }

    #[cold]
    #[inline(never)]
    fn record(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) -> (u64, u64) {
        let (stamp_ms, _) = self.0.log.record(limit, Attempt { now_ms: at_ms, ..attempt }, at_ms);
        self.0.last_ms = at_ms;
        (stamp_ms, self.reset_after_ms(limit, attempt.now_ms, at_ms))
    }

    #[cold]
    #[inline(never)]
    fn give_back(&mut self, limit: &Limit, attempt: Attempt, at_ms: u64) {
        if !self.0.log.is_empty() {
            self.0.log.give_back(limit, attempt, at_ms);
            self.0.last_ms = at_ms;
        }
    }
}

/// [`decide`] with a prepayment for each limit, which is void if the limit has no lease of that
/// node any more. A denial takes nothing.
pub fn decide_prepaid(
    attempts: &mut [LimitAttempt<'_>],
    prepayments: &[Option<Prepayment>],
    now_ms: u64,
) -> Verdict {
    let now_ms = now_ms.min(MAX_TIME_MS);
    let mut redeemed: Vec<Option<Prepayment>> = Vec::with_capacity(attempts.len());
    for (attempt, prepayment) in attempts.iter_mut().zip(prepayments) {
        redeemed.push(redeem(attempt, *prepayment, now_ms));
    }
    let verdict = decide(attempts, now_ms);
    if verdict.is_denied() {
        for (attempt, prepayment) in attempts.iter_mut().zip(redeemed) {
            if let (State::LeaseLog(lease_log), Some(prepayment)) = (&mut *attempt.state, prepayment) {
                lease_log.restore(&prepayment);
            }
        }
    }
    verdict
}

/// Prepayment that was taken off its row: at most the cost.
fn redeem(attempt: &mut LimitAttempt<'_>, prepayment: Option<Prepayment>, now_ms: u64) -> Option<Prepayment> {
    let prepayment = prepayment?;
    let prepayment = Prepayment { units: prepayment.units.min(attempt.cost), ..prepayment };
    let State::LeaseLog(lease_log) = attempt.state else { return None };
    lease_log.advance(attempt.limit, now_ms);
    lease_log.redeem(&prepayment).then_some(prepayment)
}

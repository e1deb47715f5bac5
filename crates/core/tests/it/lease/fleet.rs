//! A fleet: nodes with leases and one store, over a network that loses, delays and reorders, with
//! clients, operators and clocks that do what they should not. Every safety rule can be switched
//! off at the boundary between the parts, so that the code under test has no switches.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use slidegate_core::{
    LeaseClose, LeaseDecision, LeaseGrant, LeaseLog, LeaseNode, LeaseReply, LeaseRequest, LeaseRow,
    LeaseStep, Limit, LimitAttempt, Log, NodeTime, Outcome, Prepayment, State, decide_prepaid,
};
use slidegate_testkit::cases::Rng;

/// Safety rule that can be switched off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SafetyRule {
    /// 1: a node lowers its limit before it says so.
    LowerFirst,
    /// 2: a node takes only the answer to its last request.
    LatestOnly,
    /// 3: a lease runs from the sending of its request.
    FromSending,
    /// 3: it ends when either clock says so.
    BothClocks,
    /// 4: a row counts for a window after its end.
    PastEnd,
    /// 6: nothing is prepaid while a request is under way.
    PrepayAlone,
    /// 7: a denied prepayment is restored only if no request was sent since.
    RestoreUnchanged,
    /// 8: a lowered quota ends the lease until the store has answered.
    LoweredQuota,
    /// 9: a reset makes a node forget only what it surely used before.
    ResetSurely,
    /// 10: the log of a lease is not evicted.
    Pinned,
    /// The store ignores what is not newer than the row.
    NewerOnly,
    /// A prepayment is void if the row has another sequence number.
    PrepayOfRow,
    /// The store may allow less than is on lease.
    LimitBelowHold,
    /// A reset keeps the rows.
    ResetKeepsRows,
    /// A close reports what was used.
    CloseReports,
}

/// Faults that happen.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Faults {
    pub(crate) losses: bool,
    pub(crate) crashes: bool,
    pub(crate) suspends: bool,
    pub(crate) clock_steps: bool,
    pub(crate) resets: bool,
    pub(crate) reloads: bool,
    pub(crate) outages: bool,
    pub(crate) second_limit: bool,
    pub(crate) evictions: bool,
    /// Parts per million by which the clocks of nodes differ from true time.
    pub(crate) drift_ppm: u64,
}

/// Admission in true time.
#[derive(Clone, Copy, Debug)]
struct Use {
    at_ms: u64,
    units: u64,
    /// Number of resets before it.
    resets: u32,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Report {
    /// Worst excess of any window over the quota, if there is one.
    pub(crate) excess: Option<u64>,
    /// The same under the second limit.
    pub(crate) second_excess: Option<u64>,
    /// The same over a lowered quota, after the last node has it.
    pub(crate) lowered_excess: Option<u64>,
    pub(crate) uses: usize,
    /// How many of them a node decided.
    pub(crate) local: usize,
}

impl Report {
    pub(crate) fn is_safe(&self) -> bool {
        self.excess.is_none() && self.second_excess.is_none() && self.lowered_excess.is_none()
    }
}

#[derive(Clone, Copy)]
enum Event {
    /// A client asks a node; if it is not one of a burst, the next one comes later.
    Request {
        node: usize,
        is_burst: bool,
    },
    Timer(usize),
    SyncAtStore {
        node: usize,
        life: u32,
        request: LeaseRequest,
        quota: u64,
        back_ms: Option<u64>,
    },
    Reply {
        node: usize,
        life: u32,
        reply: LeaseReply,
    },
    Deadline {
        node: usize,
        life: u32,
        sequence: u64,
    },
    ChargeAtStore(StoreCharge),
    Denied {
        node: usize,
        life: u32,
        prepayment: Prepayment,
    },
    CloseAtStore {
        close: LeaseClose,
        quota: u64,
    },
    Crash(usize),
    Shutdown(usize),
    Suspend(usize),
    ClockStep(i64),
    Reset,
    Reload(usize),
    Outage(bool),
    Evict(usize),
}

#[derive(Clone, Copy)]
struct StoreCharge {
    node: usize,
    life: u32,
    prepayment: Option<Prepayment>,
    cost: u64,
    quota: u64,
    /// Cost under the second limit.
    second: Option<u64>,
    back_ms: Option<u64>,
}

struct FleetNode {
    lease: LeaseNode,
    /// The lease as it was when the last answer came.
    answered: LeaseNode,
    /// The lease as it was when the last request was sent.
    sent: LeaseNode,
    /// When that was.
    sent_ms: u64,
    life: u32,
    quota: u64,
    pending: Option<u64>,
    /// Units prepaid while a request was under way, with that rule switched off.
    withheld: u64,
    drift: f64,
    monotonic_offset: i64,
    wall_offset: i64,
    /// Until when it is suspended, silent, or cut off from the store.
    suspended_until: u64,
    silent_until: u64,
    cut_until: u64,
}

struct Fleet {
    random: Rng,
    faults: Faults,
    off: Option<SafetyRule>,
    window_ms: u64,
    quota: u64,
    new_quota: u64,
    second: Limit,
    now_ms: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    events_so_far: u64,
    nodes: Vec<FleetNode>,
    next_id: u64,
    state: State,
    second_state: State,
    store_clock_offset: i64,
    is_down: bool,
    resets: u32,
    uses: Vec<Use>,
    second_uses: Vec<Use>,
    local: usize,
    gap_ms: f64,
    long_delay_ms: u64,
}

const START_MS: u64 = 10_000_000;
const WINDOWS: u64 = 6;
/// Origin of the monotonic clocks.
const ORIGIN_MS: i64 = 50_000_000;

/// Runs a fleet with these faults. With a rule switched off it need not be safe.
pub(crate) fn run(seed: u64, faults: Faults, off: Option<SafetyRule>) -> Report {
    let mut fleet = Fleet::new(seed, faults, off);
    let lowered_ms = fleet.plan();
    let end_ms = START_MS + WINDOWS * fleet.window_ms;
    while let Some(Reverse((at_ms, number))) = fleet.queue.pop() {
        if at_ms > end_ms {
            break;
        }
        fleet.now_ms = at_ms;
        let event = fleet.events.remove(&number).expect("an event has a number");
        fleet.handle(event);
    }
    let drift_ms = (fleet.window_ms * 2 * faults.drift_ppm).div_ceil(1_000_000);
    let window_ms = fleet.window_ms - if drift_ms > 0 { drift_ms + 2 } else { 0 };
    let most = if faults.reloads { fleet.quota.max(fleet.new_quota) } else { fleet.quota };
    let second_quota = fleet.second.quota();
    let lowered_excess = lowered_ms.filter(|_| fleet.new_quota < fleet.quota).and_then(|from_ms| {
        let bound = |at_ms| if at_ms >= from_ms { fleet.new_quota } else { u64::MAX / 2 };
        worst_excess(&mut fleet.uses.clone(), window_ms, bound)
    });
    Report {
        excess: worst_excess(&mut fleet.uses.clone(), window_ms, |_| most),
        second_excess: worst_excess(&mut fleet.second_uses, window_ms, |_| second_quota),
        lowered_excess,
        uses: fleet.uses.len(),
        local: fleet.local,
    }
}

/// Worst excess of any window (t − W, t] that ends with an admission.
fn worst_excess(uses: &mut [Use], window_ms: u64, bound: impl Fn(u64) -> u64) -> Option<u64> {
    uses.sort_by_key(|one| one.at_ms);
    let (mut first, mut sum, mut worst) = (0, 0, None);
    for last in 0..uses.len() {
        let Use { at_ms, units, resets } = uses[last];
        sum += units;
        while uses[first].at_ms + window_ms <= at_ms || uses[first].resets < resets {
            sum -= uses[first].units;
            first += 1;
        }
        worst = worst.max(sum.checked_sub(bound(at_ms) + 1).map(|more| more + 1));
    }
    worst
}

impl Fleet {
    fn new(seed: u64, faults: Faults, off: Option<SafetyRule>) -> Self {
        let random = Rng::new(Rng::new(seed).next());
        let window_ms =
            if faults.drift_ppm > 0 { 240_000 } else { [1_000, 2_000, 8_000][random.below(3) as usize] };
        let quota = random.between(10, 400);
        let count = random.between(2, 6);
        // Enough for leases: 320 per window and node.
        let per_node = random.between(350, 1_200);
        let gap_ms = window_ms as f64 / per_node as f64;
        let length_ms = window_ms / 8;
        let long_delay_ms = if happens(&random, 50, 100) { length_ms * 2 } else { length_ms / 4 + 1 };
        let new_quota = if happens(&random, 70, 100) { (quota / 4).max(1) } else { quota * 2 };
        let is_off = faults.clock_steps && happens(&random, 50, 100);
        let store_clock_offset =
            if is_off { (window_ms + random.between(1, 3 * window_ms)) as i64 } else { 0 };
        let second_quota = random.between(5, 200);
        let limit = limit(quota, window_ms);
        let second = self::limit(second_quota, window_ms);
        let mut fleet = Self {
            random,
            faults,
            off,
            window_ms,
            quota,
            new_quota,
            second,
            now_ms: START_MS,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            events_so_far: 0,
            nodes: Vec::new(),
            next_id: 1,
            state: State::new(&limit),
            second_state: State::new(&second),
            store_clock_offset,
            is_down: false,
            resets: 0,
            uses: Vec::new(),
            second_uses: Vec::new(),
            local: 0,
            gap_ms,
            long_delay_ms,
        };
        for _ in 0..count {
            let drift = fraction(&fleet.random) * 2.0 - 1.0;
            let node = LeaseNode::new(fleet.next_id, limit, 2, NodeTime::default());
            fleet.next_id += 1;
            let monotonic_offset = fleet.random.below(5_000) as i64;
            let wall_offset = fleet.random.below(100_000) as i64;
            fleet.nodes.push(FleetNode {
                answered: node.clone(),
                sent: node.clone(),
                lease: node,
                sent_ms: 0,
                life: 0,
                quota,
                pending: None,
                withheld: 0,
                drift: drift * faults.drift_ppm as f64 / 1e6,
                monotonic_offset,
                wall_offset,
                suspended_until: 0,
                silent_until: 0,
                cut_until: 0,
            });
        }
        for node in 0..fleet.nodes.len() {
            fleet.restart(node);
        }
        fleet
    }

    /// Schedules what does not follow from anything else; returns from when on a lowered quota
    /// holds.
    fn plan(&mut self) -> Option<u64> {
        let (count, window_ms) = (self.nodes.len() as u64, self.window_ms);
        for node in 0..self.nodes.len() {
            let at_ms = self.random.below(self.gap_ms as u64 + 1);
            self.after(at_ms, Event::Request { node, is_burst: false });
            let at_ms = self.random.below(window_ms / 64 + 1);
            self.after(at_ms, Event::Timer(node));
        }
        let any_time = |fleet: &mut Self| fleet.random.below((WINDOWS - 1) * window_ms);
        let any_node = |fleet: &mut Self| fleet.random.below(count) as usize;
        let plan = |fleet: &mut Self, times: u64, event: &dyn Fn(usize) -> Event| {
            for _ in 0..times {
                let (at_ms, node) = (any_time(fleet), any_node(fleet));
                fleet.after(at_ms, event(node));
            }
        };
        let Faults { crashes, suspends, clock_steps, resets, reloads, outages, evictions, .. } = self.faults;
        if crashes {
            plan(self, 4, &Event::Crash);
            plan(self, 4, &Event::Shutdown);
        }
        if suspends {
            plan(self, 6, &Event::Suspend);
        }
        if clock_steps {
            let step = -(self.random.between(1, window_ms) as i64);
            plan(self, 1, &|_| Event::ClockStep(step));
            plan(self, 1, &|_| Event::ClockStep(i64::MIN));
        }
        if resets {
            plan(self, 4, &|_| Event::Reset);
        }
        if evictions {
            plan(self, 10, &Event::Evict);
        }
        if outages {
            for _ in 0..2 {
                let (from_ms, for_ms) = (any_time(self), self.random.between(1, 2 * window_ms));
                self.after(from_ms, Event::Outage(true));
                self.after(from_ms + for_ms, Event::Outage(false));
            }
        }
        reloads.then(|| {
            let first_ms = window_ms + self.random.below(2 * window_ms);
            let mut last_ms = 0;
            for node in 0..self.nodes.len() {
                let at_ms = first_ms + self.random.below(50);
                last_ms = last_ms.max(at_ms);
                self.after(at_ms, Event::Reload(node));
            }
            // Messages under the old quota may be under way as long as that.
            let delay_ms = if self.faults.losses { self.long_delay_ms } else { 4 };
            START_MS + last_ms + 2 * delay_ms + 2
        })
    }

    fn after(&mut self, ms: u64, event: Event) {
        self.events_so_far += 1;
        self.queue.push(Reverse((self.now_ms + ms, self.events_so_far)));
        self.events.insert(self.events_so_far, event);
    }

    /// Time that a message takes.
    fn delay_ms(&mut self) -> u64 {
        if self.faults.losses && happens(&self.random, 5, 100) {
            self.random.below(self.long_delay_ms + 1)
        } else {
            self.random.below(5)
        }
    }

    /// True if a message is lost.
    fn is_lost(&mut self) -> bool {
        self.faults.losses && happens(&self.random, 8, 100)
    }

    fn is_off(&self, rule: SafetyRule) -> bool {
        self.off == Some(rule)
    }

    fn time(&self, node: usize) -> NodeTime {
        let one = &self.nodes[node];
        let passed = ((self.now_ms - START_MS) as f64 * (1.0 + one.drift)).floor() as i64;
        let monotonic_ms = (ORIGIN_MS + passed + one.monotonic_offset) as u64;
        let wall_ms = match self.off {
            Some(SafetyRule::BothClocks) => monotonic_ms,
            _ => (2 * ORIGIN_MS + passed + one.wall_offset) as u64,
        };
        NodeTime { monotonic_ms, wall_ms }
    }

    fn store_ms(&self) -> u64 {
        (self.now_ms as i64 + self.store_clock_offset) as u64
    }

    /// Starts a node without a lease, under a new id.
    fn restart(&mut self, node: usize) {
        let (id, now) = (self.next_id, self.time(node));
        self.next_id += 1;
        let one = &mut self.nodes[node];
        one.lease = LeaseNode::new(id, limit(one.quota, self.window_ms), 2, now);
        (one.answered, one.sent) = (one.lease.clone(), one.lease.clone());
        one.life += 1;
        (one.pending, one.withheld) = (None, 0);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Request { node, is_burst } => self.request(node, is_burst),
            Event::Timer(node) => {
                self.after(self.window_ms / 64 + 1, Event::Timer(node));
                self.poll(node);
            }
            Event::SyncAtStore { node, life, request, quota, back_ms } => {
                let reply = self.sync_at_store(request, quota);
                if let (Some(reply), Some(back_ms)) = (reply, back_ms) {
                    self.after(back_ms, Event::Reply { node, life, reply });
                }
            }
            Event::Reply { node, life, reply } => self.answer(node, life, reply),
            Event::Deadline { node, life, sequence } => {
                if self.nodes[node].life == life && self.nodes[node].pending == Some(sequence) {
                    self.nodes[node].pending = None;
                    self.nodes[node].lease.lose(sequence);
                }
            }
            Event::ChargeAtStore(charge) => self.charge_at_store(charge),
            Event::Denied { node, life, mut prepayment } => {
                let is_off = self.is_off(SafetyRule::RestoreUnchanged);
                let one = &mut self.nodes[node];
                if one.life == life {
                    if is_off {
                        prepayment.sequence = one.lease.sequence();
                    }
                    one.lease.restore(&prepayment);
                }
            }
            Event::CloseAtStore { mut close, quota } => {
                if self.is_off(SafetyRule::CloseReports) {
                    close.uses = Default::default();
                }
                if !self.is_down {
                    let (limit, now_ms) = (limit(quota, self.window_ms), self.store_ms());
                    self.before_store(now_ms);
                    self.state.close_lease(&limit, &close, now_ms).expect("a log");
                }
            }
            Event::Crash(node) => self.restart(node),
            Event::Shutdown(node) => self.shutdown(node),
            Event::Suspend(node) => {
                let ms = self.random.between(1, self.window_ms);
                let one = &mut self.nodes[node];
                if self.now_ms >= one.suspended_until {
                    one.monotonic_offset -= ms as i64;
                    one.suspended_until = self.now_ms + ms;
                    self.exploit(node, ms + self.lease_left_ms(node));
                }
            }
            Event::ClockStep(i64::MIN) => {
                self.store_clock_offset = self.store_clock_offset.min(0);
                let node = self.random.below(self.nodes.len() as u64) as usize;
                self.exploit(node, self.lease_left_ms(node));
            }
            Event::ClockStep(step) => self.store_clock_offset += step,
            Event::Reset => self.reset(),
            Event::Reload(node) => {
                if happens(&self.random, 1, 3) {
                    self.exploit(node, self.lease_left_ms(node));
                }
                let (quota, window_ms) = (self.new_quota, self.window_ms);
                let is_off = self.is_off(SafetyRule::LoweredQuota);
                let one = &mut self.nodes[node];
                one.quota = quota;
                if !is_off {
                    one.lease.set_limit(limit(quota, window_ms));
                    one.pending = None;
                }
                self.poll(node);
            }
            Event::Outage(is_down) => self.is_down = is_down,
            Event::Evict(node) => {
                // What was used since the last answer is lost.
                if self.is_off(SafetyRule::Pinned) && self.nodes[node].pending.is_none() {
                    self.nodes[node].lease = self.nodes[node].answered.clone();
                }
            }
        }
    }

    fn request(&mut self, node: usize, is_burst: bool) {
        if !is_burst {
            let mut next_ms =
                (-(1.0 - fraction(&self.random)).ln() * self.gap_ms + fraction(&self.random)) as u64;
            if happens(&self.random, 2, 1_000) {
                next_ms += self.random.between(self.window_ms / 16, self.window_ms);
            }
            self.after(next_ms, Event::Request { node, is_burst: false });
            if self.now_ms < self.nodes[node].silent_until {
                return;
            }
        }
        if self.now_ms < self.nodes[node].suspended_until {
            return;
        }
        let cost = if happens(&self.random, 10, 100) { self.random.between(2, 6) } else { 1 };
        let now = self.time(node);
        if self.faults.second_limit && happens(&self.random, 10, 100) {
            let second = self.random.between(1, 3);
            let prepayment = self.prepay(node, cost, now);
            return self.charge(node, prepayment, cost, Some(second));
        }
        if self.nodes[node].withheld > 0
            && self.nodes[node].lease.headroom(now) < cost + self.nodes[node].withheld
        {
            return;
        }
        match self.nodes[node].lease.decide(cost, now) {
            LeaseDecision::Local(decision) => {
                if decision.outcome == Outcome::Fits {
                    self.local += 1;
                    self.uses.push(Use { at_ms: self.now_ms, units: cost, resets: self.resets });
                }
            }
            LeaseDecision::Store(prepayment) => self.charge(node, prepayment, cost, None),
            LeaseDecision::Wait => {}
        }
        self.poll(node);
    }

    fn prepay(&mut self, node: usize, cost: u64, now: NodeTime) -> Option<Prepayment> {
        let is_off = self.is_off(SafetyRule::PrepayAlone);
        let one = &mut self.nodes[node];
        if is_off && one.pending.is_some() {
            let units = one.lease.headroom(now).saturating_sub(one.withheld).min(cost);
            one.withheld += units;
            let (node, sequence) = (one.lease.id(), one.lease.sequence());
            return (units > 0).then_some(Prepayment { node, sequence, units });
        }
        one.lease.prepay(cost, now)
    }

    fn charge(&mut self, node: usize, prepayment: Option<Prepayment>, cost: u64, second: Option<u64>) {
        let (there_ms, back_ms) = (self.delay_ms(), self.delay_ms());
        let back_ms = (!self.is_lost()).then_some(back_ms);
        if !self.is_lost() && self.now_ms >= self.nodes[node].cut_until {
            let (life, quota) = (self.nodes[node].life, self.nodes[node].quota);
            let charge = StoreCharge { node, life, prepayment, cost, quota, second, back_ms };
            self.after(there_ms, Event::ChargeAtStore(charge));
        }
    }

    fn poll(&mut self, node: usize) {
        if self.now_ms < self.nodes[node].suspended_until {
            return;
        }
        let (there_ms, back_ms) = (self.delay_ms(), self.delay_ms());
        let mut now = self.time(node);
        if self.is_off(SafetyRule::FromSending) {
            now.monotonic_ms += there_ms + back_ms;
            now.wall_ms += there_ms + back_ms;
        }
        match self.nodes[node].lease.poll(now) {
            None => {}
            Some(LeaseStep::Close) => self.shutdown(node),
            Some(LeaseStep::Sync(mut request)) => {
                if self.is_off(SafetyRule::LowerFirst) {
                    request.hold -= self.nodes[node].lease.headroom(now).min(request.hold);
                }
                let one = &mut self.nodes[node];
                (one.sent, one.sent_ms) = (one.lease.clone(), self.now_ms);
                one.pending = Some(request.sequence);
                let (life, quota, cut_until) = (one.life, one.quota, one.cut_until);
                let back_ms = (!self.is_lost()).then_some(back_ms);
                let deadline_ms = (self.window_ms / 32).max(8);
                self.after(deadline_ms, Event::Deadline { node, life, sequence: request.sequence });
                if !self.is_lost() && self.now_ms >= cut_until {
                    self.after(there_ms, Event::SyncAtStore { node, life, request, quota, back_ms });
                }
            }
        }
    }

    fn shutdown(&mut self, node: usize) {
        let (now, quota) = (self.time(node), self.nodes[node].quota);
        let close = self.nodes[node].lease.clone().close(now);
        if !self.is_lost() && self.now_ms >= self.nodes[node].cut_until {
            let there_ms = self.delay_ms();
            self.after(there_ms, Event::CloseAtStore { close, quota });
        }
        self.restart(node);
    }

    fn answer(&mut self, node: usize, life: u32, mut reply: LeaseReply) {
        if self.nodes[node].life != life || self.now_ms < self.nodes[node].suspended_until {
            return;
        }
        let now = self.time(node);
        let off = self.off;
        let one = &mut self.nodes[node];
        if let (LeaseReply::Grant(grant), Some(SafetyRule::LatestOnly)) = (&mut reply, off) {
            grant.sequence = one.lease.sequence();
        }
        if let (LeaseReply::Grant(grant), Some(SafetyRule::ResetSurely)) = (&reply, off)
            && grant.epoch > one.lease.epoch()
            && one.pending == Some(grant.sequence)
        {
            // What was used since the request was sent may be newer than the reset.
            one.lease = one.sent.clone();
        }
        if !one.lease.answer(&reply, now) {
            return;
        }
        (one.pending, one.withheld) = (None, 0);
        if off == Some(SafetyRule::LoweredQuota) {
            one.lease.set_limit(limit(one.quota, self.window_ms));
        }
        one.answered = one.lease.clone();
        if happens(&self.random, 30, 1_000) {
            let left_ms = self.window_ms / 8 - self.random.below(5);
            self.exploit(node, left_ms);
        }
    }

    /// The worst that clients can do: they use all of a lease just before its end, and more at
    /// another node just when the store lets the lease go. The node is cut off meanwhile.
    fn exploit(&mut self, node: usize, left_ms: u64) {
        let window_ms = self.window_ms;
        self.nodes[node].silent_until = self.now_ms + left_ms.saturating_sub(8);
        self.nodes[node].cut_until = self.now_ms + window_ms + window_ms / 4;
        for ms in 0..8 {
            for _ in 0..40 {
                self.after(left_ms.saturating_sub(ms), Event::Request { node, is_burst: true });
            }
        }
        for other in (0..self.nodes.len()).filter(|other| *other != node) {
            for ms in 0..12 {
                for from_ms in [left_ms, window_ms - 3, left_ms + window_ms - 6] {
                    for _ in 0..10 {
                        self.after(from_ms + ms, Event::Request { node: other, is_burst: true });
                    }
                }
            }
        }
    }

    /// Time until the lease ends that a node requested last.
    fn lease_left_ms(&self, node: usize) -> u64 {
        (self.nodes[node].sent_ms + self.window_ms / 8).saturating_sub(self.now_ms)
    }

    /// Drops the rows of leases that have ended, with that rule switched off.
    fn before_store(&mut self, now_ms: u64) {
        let is_off = self.is_off(SafetyRule::PastEnd);
        if let (State::LeaseLog(lease_log), true) = (&mut self.state, is_off) {
            let live: Vec<LeaseRow> =
                lease_log.rows().iter().filter(|row| row.end_ms > now_ms).copied().collect();
            let (log, epoch, last_ms) = (lease_log.log().clone(), lease_log.epoch(), lease_log.last_ms());
            *lease_log = LeaseLog::from_parts(log, live, epoch, last_ms);
        }
    }

    /// Row of a node at the store.
    fn row(&self, node: u64) -> Option<LeaseRow> {
        match &self.state {
            State::LeaseLog(lease_log) => lease_log.rows().iter().find(|row| row.node == node).copied(),
            _ => None,
        }
    }

    fn sync_at_store(&mut self, mut request: LeaseRequest, quota: u64) -> Option<LeaseReply> {
        if self.is_down {
            return None;
        }
        let (limit, now_ms) = (limit(quota, self.window_ms), self.store_ms());
        self.before_store(now_ms);
        if self.is_off(SafetyRule::NewerOnly)
            && let Some(row) = self.row(request.node)
        {
            request.sequence = request.sequence.max(row.sequence + 1);
        }
        let reply = self.state.lease(&limit, &request, now_ms).expect("a log");
        match reply {
            LeaseReply::Grant(grant) if self.is_off(SafetyRule::LimitBelowHold) => {
                Some(LeaseReply::Grant(LeaseGrant { limit: grant.limit.max(request.hold), ..grant }))
            }
            reply => Some(reply),
        }
    }

    fn charge_at_store(&mut self, charge: StoreCharge) {
        if self.is_down {
            return;
        }
        let StoreCharge { node, life, mut prepayment, cost, quota, second, back_ms } = charge;
        let (limit, now_ms) = (limit(quota, self.window_ms), self.store_ms());
        self.before_store(now_ms);
        if self.is_off(SafetyRule::PrepayOfRow)
            && let Some(prepayment) = &mut prepayment
            && let Some(row) = self.row(prepayment.node)
        {
            prepayment.sequence = row.sequence;
        }
        let first = LimitAttempt { limit: &limit, cost, holder: 0, state: &mut self.state };
        let verdict = match second {
            None => decide_prepaid(&mut [first], &[prepayment], now_ms),
            Some(cost) => {
                let (limit, state) = (&self.second, &mut self.second_state);
                let second = LimitAttempt { limit, cost, holder: 0, state };
                decide_prepaid(&mut [first, second], &[prepayment, None], now_ms)
            }
        };
        if verdict.is_allowed() {
            self.uses.push(Use { at_ms: self.now_ms, units: cost, resets: self.resets });
            if let Some(units) = second {
                self.second_uses.push(Use { at_ms: self.now_ms, units, resets: 0 });
            }
        } else if let (Some(prepayment), Some(back_ms)) = (prepayment, back_ms) {
            self.after(back_ms, Event::Denied { node, life, prepayment });
        }
    }

    fn reset(&mut self) {
        if self.is_down {
            return;
        }
        let keeps_rows = !self.is_off(SafetyRule::ResetKeepsRows);
        if let (State::LeaseLog(lease_log), false) = (&mut self.state, keeps_rows) {
            *lease_log = LeaseLog::from_parts(Log::EMPTY, [], lease_log.epoch(), lease_log.last_ms());
        }
        self.state.reset(&limit(self.quota, self.window_ms));
        self.resets += 1;
    }
}

fn limit(quota: u64, window_ms: u64) -> Limit {
    Limit::new(quota, Duration::from_millis(window_ms)).expect("a limit within bounds")
}

/// True in so many of so many cases.
fn happens(random: &Rng, times: u64, of: u64) -> bool {
    random.below(of) < times
}

/// Fraction of 1.
fn fraction(random: &Rng) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

//! Every store answers what the core answers on plain states, field by field, whatever way a request takes.
//!
//! The store may look at any key at any time, and drops states that are as if never seen. That can be told from
//! outside only if the clock then steps back to a time at which the state was still there. So before and after a step
//! all keys are looked at, here and there, and a key for which even that leaves two right answers is not asked again.

use std::time::Duration;

use slidegate::store::{Call, Charge, Charged, Forget, Settlement};
use slidegate::{Key, Kind, Limit, LimitId, Resolution, SettleOutcome, Space, Verdict};
use slidegate_core::{Ask, History, MAX_TIME_MS, Receipt, Settled, Spent, State, decide};

use crate::cases::{Rng, cost, limit, wait_ms, with_quota};
use crate::decides::Decides;

const KEYS: usize = 5;

/// How a request reaches the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Limiter,
    Together,
    /// A charge for every limit.
    Apart,
    /// Together with the same cost for the next key, all or none.
    Pair,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Check { key: usize, cost: u64, way: Way },
    Settle { of: usize, cost: u64 },
    Forget { key: usize },
    Forward { ms: u64 },
    Back { ms: u64 },
    Quota { limit: usize, quota: u64 },
}

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) start_ms: u64,
    pub(crate) limits: Vec<Limit>,
}

/// What a key was admitted: where it is recorded, limit by limit.
type Permit = (usize, Vec<(Limit, Receipt)>);

/// Plain states, and a store that is asked the same.
pub(crate) struct Both<S> {
    store: S,
    pub(crate) now_ms: u64,
    /// The latest time that the clock has shown.
    latest_ms: u64,
    limits: Vec<Limit>,
    /// One name and one plain history per key.
    keys: Vec<(String, Vec<State>, Spent)>,
    permits: Vec<Permit>,
    names: usize,
    ids: u64,
}

pub(crate) fn generate(rng: &Rng) -> (Setting, Vec<Step>) {
    let mut limits: Vec<Limit> = Vec::new();
    for _ in 0..rng.between(1, 4) {
        let one = limit(rng);
        if limits.iter().all(|other| other.id() != one.id()) {
            limits.push(one);
        }
    }
    let late = MAX_TIME_MS - rng.below(100);
    let start_ms = rng.pick(&[rng.below(100), 1_745_000_000_000 + rng.below(60_000), late]);
    let mut now_ms = start_ms;
    let steps = (0..rng.between(1, 60)).map(|_| step(rng, &limits, &mut now_ms)).collect();
    (Setting { start_ms, limits }, steps)
}

/// One key whose log grows to dozens of entries, and shrinks, and grows again.
pub(crate) fn generate_long(rng: &Rng) -> (Setting, Vec<Step>) {
    let quota = rng.between(10, 90);
    let window = Duration::from_millis(quota * rng.between(1, 8));
    let log = Limit::new(quota, window).expect("a log");
    let resolution = Resolution::Ms(rng.pick(&[1, 1, 2, rng.between(1, 8)]));
    let log = log.resolution(resolution).unwrap_or(log);
    let other = Limit::new(2 * quota, 2 * window).expect("a log");
    let limits = if rng.one_in(3) { vec![log, other] } else { vec![log] };
    // Pauses in which a part of the log leaves, so that blocks are fetched back from the ring.
    let step = |_| match rng.below(40) {
        0 => Step::Forward { ms: rng.below(window.as_millis() as u64 + 2) },
        1 => Step::Settle { of: rng.below(64) as usize, cost: rng.pick(&[0, 0, 1, 3, 70_000]) },
        2 if rng.one_in(3) => Step::Back { ms: rng.magnitude(3 * window.as_millis() as u64) },
        3 if rng.one_in(4) => Step::Quota { limit: 0, quota: rng.between(1, 120) },
        4 => Step::Check { key: 0, cost: rng.between(2, quota + 1), way: Way::Together },
        5 => Step::Check { key: 0, cost: 0, way: Way::Together },
        6 if rng.one_in(4) => Step::Forget { key: 0 },
        6..=19 => Step::Forward { ms: rng.between(1, 6) },
        _ => Step::Check { key: 0, cost: 1, way: Way::Together },
    };
    let steps = (0..rng.between(60, 400)).map(step).collect();
    (Setting { start_ms: 1_745_000_000_000, limits }, steps)
}

fn step(rng: &Rng, limits: &[Limit], now_ms: &mut u64) -> Step {
    let index = rng.below(limits.len() as u64) as usize;
    let of = &limits[index];
    match rng.below(24) {
        0..=7 => {
            let ms = wait_ms(rng, of, *now_ms);
            *now_ms += ms;
            Step::Forward { ms }
        }
        8 => Step::Back { ms: rng.pick(&[1, rng.magnitude(4 * of.window_ms()), of.window_ms(), 1 << 35]) },
        9..=10 => Step::Settle { of: rng.below(64) as usize, cost: rng.pick(&[0, 0, 1, cost(rng, of)]) },
        12 if rng.one_in(3) => Step::Forget { key: rng.below(KEYS as u64) as usize },
        11 if rng.one_in(2) => Step::Quota { limit: index, quota: rng.between(1, 2 * of.quota()) },
        _ => {
            let way = rng.pick(&[Way::Limiter, Way::Limiter, Way::Together, Way::Apart, Way::Pair]);
            Step::Check { key: rng.below(KEYS as u64) as usize, cost: cost(rng, of), way }
        }
    }
}

impl<S: Decides> Both<S> {
    pub(crate) fn new(Setting { start_ms, limits }: &Setting, store: S) -> Self {
        let (limits, permits) = (limits.clone(), Vec::new());
        let (now_ms, latest_ms) = (*start_ms, *start_ms);
        let keys = Vec::new();
        let mut both = Self { store, now_ms, latest_ms, limits, keys, permits, names: 0, ids: 0 };
        both.keys = (0..KEYS).map(|_| both.fresh_key()).collect();
        both
    }

    fn fresh_key(&mut self) -> (String, Vec<State>, Spent) {
        self.names += 1;
        (format!("key {}", self.names), self.limits.iter().map(State::new).collect(), Spent::default())
    }

    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Check { key, cost, way } => self.check(key, cost, way),
            Step::Settle { of, cost } => self.settle(of, cost),
            Step::Forget { key } => self.forget(key),
            Step::Forward { ms } => {
                self.set_clock(self.now_ms + ms);
                Ok(())
            }
            Step::Back { ms } => {
                self.look_at_all()?;
                self.retire_what_may_be_forgotten();
                self.set_clock(self.now_ms.saturating_sub(ms));
                self.retire_what_may_be_moved();
                self.look_at_all()
            }
            Step::Quota { limit, quota } => {
                // A sweep looks with the limit that it knows: let it know the old one up to now, and the new one from here.
                self.look_at_all()?;
                self.limits[limit] = with_quota(&self.limits[limit], quota);
                self.look_at_all()
            }
        }
    }

    pub(crate) fn set_clock(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.latest_ms = self.latest_ms.max(now_ms);
    }

    /// Then it is as if never seen, and all others are as they were.
    fn forget(&mut self, key: usize) -> Result<(), String> {
        let (name, states, spent) = &mut self.keys[key];
        let limits: Vec<LimitId> = self.limits.iter().map(Limit::id).collect();
        let space = Space::named("");
        self.store.forget(&Forget { space, key: &name.as_str().into(), limits: &limits });
        (*states, *spent) = (self.limits.iter().map(State::new).collect(), Spent::default());
        // What a permit from before recorded is no longer there, so that it says nothing any more.
        self.permits.retain(|(of, _)| *of != key);
        self.look_at_all()
    }

    fn look_at_all(&mut self) -> Result<(), String> {
        (0..KEYS).try_for_each(|key| self.check(key, 0, Way::Together))
    }

    /// A counter whose windows are out of view, and a spent permit whose entry is gone: kept, or dropped already.
    fn retire_what_may_be_forgotten(&mut self) {
        for key in 0..KEYS {
            let (_, states, spent) = &self.keys[key];
            let dead = self.limits.iter().zip(states).any(|(limit, state)| {
                let dead = state.clone().standing(limit, self.now_ms).reset_after_ms == 0;
                dead && format!("{state:?}") != format!("{:?}", State::new(limit))
            });
            if dead || spent.iter().any(|(_, until_ms)| until_ms <= self.now_ms) {
                self.keys[key] = self.fresh_key();
                self.permits.retain(|(of, _)| *of != key);
            }
        }
        // The same for an entry that has left its window: a settlement of it may or may not find the window again.
        let live = |(limit, receipt): &(Limit, Receipt)| receipt.release_ms(limit) > self.now_ms;
        self.permits.retain(|(_, receipts)| receipts.iter().all(live));
    }

    /// Where the clock was wrong by more than a window, stamps are set to now, and no longer are where a permit says.
    fn retire_what_may_be_moved(&mut self) {
        let (now_ms, off_ms) = (self.now_ms, self.latest_ms - self.now_ms);
        let stays =
            |(limit, receipt): &(Limit, Receipt)| receipt.stamp_ms <= now_ms || off_ms <= limit.window_ms();
        self.permits.retain(|(_, receipts)| receipts.iter().all(stays));
    }

    fn check(&mut self, key: usize, cost: u64, way: Way) -> Result<(), String> {
        self.ids += 1;
        let subjects = if way == Way::Pair { vec![key, (key + 1) % KEYS] } else { vec![key] };
        let mut got = self.ask_store(&subjects, cost, way);
        // Later times count as the last one, whichever of them the verdict names.
        got.decided_at_ms = got.decided_at_ms.min(MAX_TIME_MS);
        let expected = self.ask_core(&subjects, cost);
        if got != expected {
            return Err(format!("{way:?} at {}\n  expected {expected:?}\n  answered {got:?}", self.now_ms));
        }
        // The limiter gives holders its own ids, under which they cannot be found from here.
        let unknown = way == Way::Limiter && self.limits.iter().any(Limit::needs_id);
        if cost > 0 && expected.is_allowed() && !unknown {
            for (subject, decisions) in subjects.iter().zip(expected.decisions.chunks(self.limits.len())) {
                let receipts = self.limits.iter().zip(decisions).map(|(limit, decision)| {
                    (*limit, Receipt { stamp_ms: decision.stamp_ms, cost, holder: self.ids })
                });
                // A meter keeps nothing that could be given back.
                let receipts = receipts.filter(|(limit, _)| !matches!(limit.kind(), Kind::Gcra { .. }));
                self.permits.push((*subject, receipts.collect()));
            }
        }
        Ok(())
    }

    fn ask_store(&self, subjects: &[usize], cost: u64, way: Way) -> Verdict {
        let key = self.keys[subjects[0]].0.as_str();
        if way == Way::Limiter
            && let Some(verdict) = self.store.limiter(&self.limits, key, cost, self.now_ms)
        {
            return verdict;
        }
        let keys: Vec<Key<'_>> = subjects.iter().map(|key| self.keys[*key].0.as_str().into()).collect();
        let parts = if way == Way::Apart { 1 } else { self.limits.len() };
        let charge = |key, limits| Charge { space: Space::named(""), key, limits, cost };
        let charges: Vec<Charge<'_>> = keys
            .iter()
            .flat_map(|key| self.limits.chunks(parts).map(move |limits| charge(key, limits)))
            .collect();
        let call = Call { now_ms: self.now_ms, holder: self.ids, charges: &charges };
        self.store.decide(&call)
    }

    fn ask_core(&mut self, subjects: &[usize], cost: u64) -> Verdict {
        let (limits, holder) = (&self.limits, self.ids);
        let mut states: Vec<Vec<State>> = subjects.iter().map(|key| self.keys[*key].1.clone()).collect();
        let pairs = states.iter_mut().flat_map(|states| limits.iter().zip(states));
        let mut asks: Vec<Ask<'_>> = pairs.map(|(limit, state)| Ask { limit, cost, holder, state }).collect();
        let verdict = decide(&mut asks, self.now_ms);
        for (key, states) in subjects.iter().zip(states) {
            self.keys[*key].1 = states;
        }
        verdict
    }

    fn settle(&mut self, of: usize, cost: u64) -> Result<(), String> {
        let Some(index) = of.checked_rem(self.permits.len()) else { return Ok(()) };
        let ((key, receipts), now_ms) = (&self.permits[index], self.now_ms);
        let Some((_, first)) = receipts.first() else { return Ok(()) };
        let (id, (name, states, spent)) = (first.holder, &mut self.keys[*key]);
        let recorded = receipts.iter().map(|(limit, receipt)| (limit.id(), *receipt)).collect();
        let subject = Charged { space: Space::named(""), key: name.as_str().into(), receipts: recorded };
        let settlement = Settlement { now_ms, id, cost, subjects: vec![subject] };
        let got = self.store.settle(&settlement);
        spent.prune(now_ms);
        let mut done = false;
        if spent.contains(id) {
            return (got == SettleOutcome::AlreadySpent).then_some(()).ok_or(format!("{got:?}, but spent"));
        }
        let release_ms = receipts.iter().map(|(limit, receipt)| receipt.release_ms(limit)).max();
        for (limit, state) in self.limits.iter().zip(states) {
            let receipt = receipts.iter().find(|(of, _)| of.id() == limit.id());
            // What has left every window is not looked at again.
            if let Some((_, receipt)) = receipt.filter(|_| release_ms > Some(now_ms)) {
                done |= state.settle(limit, receipt, cost, now_ms) == Settled::Done;
            }
        }
        match got {
            SettleOutcome::Settled => spent.insert(id, release_ms.unwrap_or(0)),
            SettleOutcome::Expired if !done => {}
            _ => return Err(format!("{got:?}, but done: {done}")),
        }
        Ok(())
    }
}

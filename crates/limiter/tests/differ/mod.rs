//! Every store answers what the core answers on plain states, field by field, whatever way a request takes.
//!
//! The store may look at any key at any time, and drops states that are as if never seen. That can be told from
//! outside only if the clock then steps back to a time at which the state was still there. So before and after a step
//! all keys are looked at, here and there, and a key for which even that leaves two right answers is not asked again.

use slidegate::store::{Call, Charge, Charged, Forget, Settlement};
use slidegate::{Key, Kind, Limit, LimitId, SettleOutcome, Space, Verdict};
use slidegate_core::{Ask, History, MAX_TIME_MS, Receipt, Settled, Spent, State, decide, give_back};

use crate::decides::Decides;

mod generate;

pub(crate) use generate::{generate, generate_long};

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
    /// In two charges of the same subject, which add up.
    Twice,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verb {
    Decide,
    GiveBack,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Check {
        key: usize,
        cost: u64,
        way: Way,
    },
    Settle {
        of: usize,
        cost: u64,
    },
    GiveBack {
        key: usize,
        units: u64,
        way: Way,
    },
    Forget {
        key: usize,
    },
    Forward {
        ms: u64,
    },
    Back {
        ms: u64,
    },
    /// One of the limits becomes another with the same history.
    Change {
        limit: usize,
        to: Limit,
    },
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
            Step::GiveBack { key, units, way } => self.give_back(key, units, way),
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
            Step::Change { limit, to } => {
                self.limits[limit] = to;
                Ok(())
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
        let subjects = subjects(key, way);
        let expected = self.ask(Verb::Decide, &subjects, cost, way)?;
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

    fn give_back(&mut self, key: usize, units: u64, way: Way) -> Result<(), String> {
        let subjects = subjects(key, way);
        self.ask(Verb::GiveBack, &subjects, units, way)?;
        // A store may drop what is empty, and then says of a permit that there is nothing left, or not: both are right.
        for key in subjects {
            let mut states = self.limits.iter().zip(&self.keys[key].1);
            if states.any(|(limit, state)| state.clone().standing(limit, self.now_ms).reset_after_ms == 0) {
                self.permits.retain(|(of, _)| *of != key);
            }
        }
        Ok(())
    }

    /// Asks the core and the store, which have to say the same.
    fn ask(&mut self, verb: Verb, subjects: &[usize], cost: u64, way: Way) -> Result<Verdict, String> {
        self.ids += 1;
        let mut got = self.ask_store(verb, subjects, cost, way);
        // Later times count as the last one, whichever of them the verdict names.
        got.decided_at_ms = got.decided_at_ms.min(MAX_TIME_MS);
        let mut expected = self.ask_core(verb, subjects, cost);
        if way == Way::Twice {
            let both = expected.decisions.iter().chain(expected.decisions.iter()).copied();
            expected.decisions = both.collect();
        }
        if got != expected {
            let at_ms = self.now_ms;
            return Err(format!("{verb:?} {way:?} at {at_ms}\n  expected {expected:?}\n  answered {got:?}"));
        }
        Ok(expected)
    }

    fn ask_store(&self, verb: Verb, subjects: &[usize], cost: u64, way: Way) -> Verdict {
        let key = self.keys[subjects[0]].0.as_str();
        if way == Way::Limiter
            && let Some(verdict) = self.store.limiter(&self.limits, key, cost, self.now_ms)
        {
            return verdict;
        }
        let keys: Vec<Key<'_>> = subjects.iter().map(|key| self.keys[*key].0.as_str().into()).collect();
        let parts = if way == Way::Apart { 1 } else { self.limits.len() };
        let costs = if way == Way::Twice { vec![cost / 3, cost - cost / 3] } else { vec![cost] };
        let mut charges: Vec<Charge<'_>> = Vec::new();
        for (key, cost) in keys.iter().flat_map(|key| costs.iter().map(move |cost| (key, *cost))) {
            let space = Space::named("");
            charges.extend(self.limits.chunks(parts).map(|limits| Charge { space, key, limits, cost }));
        }
        let call = Call { now_ms: self.now_ms, holder: self.ids, charges: &charges };
        match verb {
            Verb::Decide => self.store.decide(&call),
            Verb::GiveBack => self.store.give_back(&call),
        }
    }

    fn ask_core(&mut self, verb: Verb, subjects: &[usize], cost: u64) -> Verdict {
        let (limits, holder) = (&self.limits, self.ids);
        let mut states: Vec<Vec<State>> = subjects.iter().map(|key| self.keys[*key].1.clone()).collect();
        let pairs = states.iter_mut().flat_map(|states| limits.iter().zip(states));
        let mut asks: Vec<Ask<'_>> = pairs.map(|(limit, state)| Ask { limit, cost, holder, state }).collect();
        let verdict = match verb {
            Verb::Decide => decide(&mut asks, self.now_ms),
            Verb::GiveBack => give_back(&mut asks, self.now_ms),
        };
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

/// Which keys a request is about.
fn subjects(key: usize, way: Way) -> Vec<usize> {
    if way == Way::Pair { vec![key, (key + 1) % KEYS] } else { vec![key] }
}

//! Comparison of stores with the core on plain states, field by field, for every form of a request.
//!
//! A store may peek at any key at any time, and drops states that are the same as new ones. That is
//! visible only if the clock then steps back to a time at which the state still mattered. So before
//! and after a step back both sides peek at all keys, and a key for which even that leaves two
//! right answers is not used again.

use slidegate::store::ForgetRequest;
use slidegate::{Limit, LimitId, RefundScope, Space};
use slidegate_core::State;

use crate::drivers::Driver;

mod clock;
mod generate;
mod idempotency;
mod memory;
mod permits;
mod requests;

use idempotency::StoredAnswer;
use permits::Permit;

pub(crate) use generate::{generate, generate_long};

const KEYS: usize = 5;
const NAMES: usize = 3;

/// Form in which a request reaches the store.
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

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Check {
        key: usize,
        cost: u64,
        way: Way,
    },
    /// A check that opens permits.
    Reserve {
        key: usize,
        cost: u64,
        way: Way,
        scope: RefundScope,
    },
    /// A check under an idempotency key, with permits.
    Once {
        key: usize,
        cost: u64,
        name: usize,
    },
    Settle {
        of: usize,
        cost: u64,
        slots: u64,
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
    /// One of the limits becomes another: with the same history, or with that of its own id.
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

/// Key: its name, and its plain states.
struct Plain {
    name: String,
    /// One state per limit that was ever in force, in the order of [`Both::limits`].
    states: Vec<State>,
    /// Number of resets.
    resets: u64,
}

/// Plain states, and a store that gets the same requests.
pub(crate) struct Both<S> {
    store: S,
    pub(crate) now_ms: u64,
    /// Latest time of the clock.
    latest_ms: u64,
    /// All limits that were ever in force, one for each id.
    limits: Vec<Limit>,
    /// Limits in force, as indexes into `limits`.
    in_force: Vec<usize>,
    /// Keys.
    keys: Vec<Plain>,
    permits: Vec<Permit>,
    names: usize,
    ids: u64,
    /// Stored answers under the idempotency keys of the current sender.
    answers: [Option<StoredAnswer>; NAMES],
    senders: u64,
}

impl<S: Driver> Both<S> {
    pub(crate) fn new(Setting { start_ms, limits }: &Setting, store: S) -> Self {
        let (limits, permits) = (limits.clone(), Vec::new());
        let in_force = (0..limits.len()).collect();
        let (now_ms, latest_ms) = (*start_ms, *start_ms);
        let keys = Vec::new();
        let mut both = Self {
            store,
            now_ms,
            latest_ms,
            limits,
            in_force,
            keys,
            permits,
            names: 0,
            ids: 0,
            answers: [const { None }; NAMES],
            senders: 0,
        };
        both.keys = (0..KEYS).map(|_| both.fresh_key()).collect();
        both
    }

    fn fresh_key(&mut self) -> Plain {
        self.names += 1;
        let states = self.limits.iter().map(State::new).collect();
        Plain { name: format!("key {}", self.names), states, resets: 0 }
    }

    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Check { key, cost, way } => self.check(key, cost, way, RefundScope::Nothing),
            Step::Reserve { key, cost, way, scope } => self.check(key, cost, way, scope),
            Step::Once { key, cost, name } => self.once(key, cost, name),
            Step::Settle { of, cost, slots } => self.settle(of, cost, slots),
            Step::GiveBack { key, units, way } => self.give_back(key, units, way),
            Step::Forget { key } => self.forget(key),
            Step::Forward { ms } => {
                self.set_clock(self.now_ms + ms);
                Ok(())
            }
            Step::Back { ms } => {
                self.peek_at_all()?;
                self.retire_what_may_be_forgotten();
                // Stored answers may have expired, or not: these names are not used again.
                self.senders += 1;
                self.answers = [const { None }; NAMES];
                self.set_clock(self.now_ms.saturating_sub(ms));
                self.retire_what_may_be_moved();
                self.peek_at_all()
            }
            Step::Change { limit, to } => {
                self.change(limit, to);
                Ok(())
            }
        }
    }

    /// Puts a limit in force instead of another. The state of the other stays.
    fn change(&mut self, at: usize, to: Limit) {
        let existing = self.limits.iter().position(|limit| limit.id() == to.id());
        match existing {
            Some(index) if self.in_force[at] == index || !self.in_force.contains(&index) => {
                self.limits[index] = to;
                self.in_force[at] = index;
            }
            Some(_) => {}
            None => {
                self.in_force[at] = self.limits.len();
                self.limits.push(to);
                for plain in &mut self.keys {
                    plain.states.push(State::new(&to));
                }
            }
        }
    }

    /// Limits that are in force.
    fn limits_in_force(&self) -> Vec<Limit> {
        self.in_force.iter().map(|index| self.limits[*index]).collect()
    }

    pub(crate) fn set_clock(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.latest_ms = self.latest_ms.max(now_ms);
    }

    /// Resets a key: its earlier permits are void, and all other keys are unchanged.
    fn forget(&mut self, key: usize) -> Result<(), String> {
        let Plain { name, states, resets } = &mut self.keys[key];
        let limits: Vec<LimitId> = self.limits.iter().map(Limit::id).collect();
        let space = Space::named("");
        self.store.forget(&ForgetRequest { space, key: &name.as_str().into(), limits: &limits });
        *states = self.limits.iter().map(State::new).collect();
        *resets += 1;
        self.peek_at_all()
    }

    fn peek_at_all(&mut self) -> Result<(), String> {
        (0..KEYS).try_for_each(|key| self.check(key, 0, Way::Together, RefundScope::Nothing))
    }
}

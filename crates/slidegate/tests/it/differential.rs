//! Every store answers what the core answers on plain states, field by field, whatever way a
//! request takes.
//!
//! The store may look at any key at any time, and drops states that are as if never seen. That can
//! be told from outside only if the clock then steps back to a time at which the state was still
//! there. So before and after a step all keys are looked at, here and there, and a key for which
//! even that leaves two right answers is not asked again.

use slidegate::store::{Charge, ChargeRecord, ChargeRequest, ForgetRequest, Settlement};
use slidegate::{
    Grant, Grants, IdempotentOutcome, Key, Limit, LimitId, RefundScope, ReserveRequest, SettleOutcome, Space,
    Verdict,
};
use slidegate_core::{History, LimitAttempt, MAX_TIME_MS, Receipt, SettleEffect, State, decide, give_back};

use crate::drivers::Driver;

mod generate;
mod memory;

pub(crate) use generate::{generate, generate_long};

const KEYS: usize = 5;
const NAMES: usize = 3;

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
    /// A check that opens permits.
    Reserve {
        key: usize,
        cost: u64,
        way: Way,
        returns: RefundScope,
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
        places: u64,
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

/// What a request was admitted: charge by charge.
struct Permit {
    id: u64,
    parts: Vec<Part>,
}

/// What a charge was admitted: where it is recorded, limit by limit.
struct Part {
    key: usize,
    /// How often the key had been forgotten.
    era: u64,
    grant: Grant,
    receipts: Vec<(Limit, Receipt)>,
    spent: bool,
}

/// An admission under an idempotency key.
struct Remembered {
    asked: (String, u64, Vec<LimitId>),
    verdict: Verdict,
    id: u64,
    end_ms: u64,
}

/// A name, and a plain history.
struct Plain {
    name: String,
    /// One for every limit that was ever in force, in the order of [`Both::limits`].
    states: Vec<State>,
    /// How often it was forgotten.
    era: u64,
}

/// Plain states, and a store that is asked the same.
pub(crate) struct Both<S> {
    store: S,
    pub(crate) now_ms: u64,
    /// The latest time that the clock has shown.
    latest_ms: u64,
    /// All limits that were ever in force, one for each id.
    limits: Vec<Limit>,
    /// Those that are in force: where in `limits`.
    in_force: Vec<usize>,
    /// One name and one plain history per key.
    keys: Vec<Plain>,
    permits: Vec<Permit>,
    names: usize,
    ids: u64,
    /// What was answered under the idempotency keys of a sender, and which sender that is.
    names_known: [Option<Remembered>; NAMES],
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
            names_known: [const { None }; NAMES],
            senders: 0,
        };
        both.keys = (0..KEYS).map(|_| both.fresh_key()).collect();
        both
    }

    fn fresh_key(&mut self) -> Plain {
        self.names += 1;
        let states = self.limits.iter().map(State::new).collect();
        Plain { name: format!("key {}", self.names), states, era: 0 }
    }

    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Check { key, cost, way } => self.check(key, cost, way, RefundScope::Nothing),
            Step::Reserve { key, cost, way, returns } => self.check(key, cost, way, returns),
            Step::Once { key, cost, name } => self.once(key, cost, name),
            Step::Settle { of, cost, places } => self.settle(of, cost, places),
            Step::GiveBack { key, units, way } => self.give_back(key, units, way),
            Step::Forget { key } => self.forget(key),
            Step::Forward { ms } => {
                self.set_clock(self.now_ms + ms);
                Ok(())
            }
            Step::Back { ms } => {
                self.look_at_all()?;
                self.retire_what_may_be_forgotten();
                // What was remembered until now may be forgotten, or not: these names are not used
                // again.
                self.senders += 1;
                self.names_known = [const { None }; NAMES];
                self.set_clock(self.now_ms.saturating_sub(ms));
                self.retire_what_may_be_moved();
                self.look_at_all()
            }
            Step::Change { limit, to } => {
                self.change(limit, to);
                Ok(())
            }
        }
    }

    /// Puts a limit in force instead of another. What was counted under the id of the other stays
    /// where it is.
    fn change(&mut self, place: usize, to: Limit) {
        let known = self.limits.iter().position(|limit| limit.id() == to.id());
        match known {
            Some(index) if self.in_force[place] == index || !self.in_force.contains(&index) => {
                self.limits[index] = to;
                self.in_force[place] = index;
            }
            Some(_) => {}
            None => {
                self.in_force[place] = self.limits.len();
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

    /// Then it is as if never seen, permits from before are void, and all others are as they were.
    fn forget(&mut self, key: usize) -> Result<(), String> {
        let Plain { name, states, era } = &mut self.keys[key];
        let limits: Vec<LimitId> = self.limits.iter().map(Limit::id).collect();
        let space = Space::named("");
        self.store.forget(&ForgetRequest { space, key: &name.as_str().into(), limits: &limits });
        *states = self.limits.iter().map(State::new).collect();
        *era += 1;
        self.look_at_all()
    }

    fn look_at_all(&mut self) -> Result<(), String> {
        (0..KEYS).try_for_each(|key| self.check(key, 0, Way::Together, RefundScope::Nothing))
    }

    /// A counter whose windows are out of view: kept, or dropped already. And what is not in force,
    /// which a store may set right with the rest of its subject, or when it is in force again.
    fn retire_what_may_be_forgotten(&mut self) {
        for key in 0..KEYS {
            let states = self.limits.iter().zip(&self.keys[key].states).enumerate();
            let is_uncertain = |(index, (limit, state)): (usize, (&Limit, &State))| {
                let dead = state.clone().standing(limit, self.now_ms).reset_after_ms == 0;
                let uncertain = dead || !self.in_force.contains(&index);
                uncertain && format!("{state:?}") != format!("{:?}", State::new(limit))
            };
            if { states }.any(is_uncertain) {
                self.keys[key] = self.fresh_key();
                self.retire_permits(|part| part.key == key);
            }
        }
        // The same for an entry that has left its window: a settlement of it may or may not find
        // the window again.
        let now_ms = self.now_ms;
        self.retire_permits(|part| {
            part.receipts.iter().any(|(limit, receipt)| receipt.release_ms(limit) <= now_ms)
        });
    }

    /// Where the clock was wrong by more than a window, stamps are set to now, and no longer are
    /// where a permit says.
    fn retire_what_may_be_moved(&mut self) {
        let (now_ms, off_ms) = (self.now_ms, self.latest_ms - self.now_ms);
        let moved =
            |(limit, receipt): &(Limit, Receipt)| receipt.stamp_ms > now_ms && off_ms > limit.window_ms();
        self.retire_permits(|part| part.receipts.iter().any(moved));
    }

    fn retire_permits(&mut self, is_over: impl Fn(&Part) -> bool) {
        self.permits.retain(|permit| !permit.parts.iter().any(&is_over));
    }

    fn check(&mut self, key: usize, cost: u64, way: Way, returns: RefundScope) -> Result<(), String> {
        let subjects = subjects(key, way);
        let (expected, granted) = self.ask(Verb::Decide, &subjects, cost, (way, returns))?;
        self.permit(&subjects, cost, (way, returns), (&expected, granted))
    }

    /// Notes the permits of an admission.
    fn permit(
        &mut self,
        subjects: &[usize],
        cost: u64,
        (way, returns): (Way, RefundScope),
        (expected, granted): (&Verdict, Grants),
    ) -> Result<(), String> {
        let Grants::Permits(grants) = granted else { return Ok(()) };
        if !expected.is_allowed() || cost == 0 {
            return Err(format!("permits for what was not charged: {grants:?}"));
        }
        // Charge by charge, as they were made.
        let mut decisions = expected.decisions.iter();
        let mut parts = Vec::new();
        for (charge, grant) in self.charges(subjects, cost, way).into_iter().zip(grants) {
            let (key, limits, cost) = charge;
            let receipts = limits.iter().zip(decisions.by_ref()).filter_map(|(limit, decision)| {
                let receipt = Receipt { stamp_ms: decision.stamp_ms, cost, holder: self.ids };
                includes(returns, limit).then_some((*limit, receipt))
            });
            let receipts: Vec<(Limit, Receipt)> = receipts.collect();
            match (grant, receipts.is_empty() || cost == 0) {
                (Some(grant), false) => {
                    let era = self.keys[key].era;
                    parts.push(Part { key, era, grant, receipts, spent: false });
                }
                (None, true) => {}
                (grant, _) => return Err(format!("{grant:?} for {receipts:?}")),
            }
        }
        self.permits.push(Permit { id: self.ids, parts });
        Ok(())
    }

    /// The first time it is a check; then its answer is given again, and it is not charged.
    fn once(&mut self, key: usize, cost: u64, name: usize) -> Result<(), String> {
        self.ids += 1;
        let now_ms = self.now_ms.min(MAX_TIME_MS);
        let key_name = self.keys[key].name.clone();
        let limits = self.limits_in_force();
        let asked = (key_name, cost, limits.iter().map(Limit::id).collect::<Vec<_>>());
        let store_key: Key<'_> = asked.0.as_str().into();
        let charges = [Charge { space: Space::named(""), key: &store_key, limits: &limits, cost }];
        let call = ChargeRequest { now_ms: self.now_ms, holder: self.ids, charges: &charges };
        let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything] };
        let got = self.store.once(&request, &format!("{} {name}", self.senders));
        let known = self.names_known[name].as_ref().filter(|known| known.end_ms > now_ms);
        let admission = match (known, got) {
            (Some(known), IdempotentOutcome::Replayed { admission, holder }) if known.asked == asked => {
                let right = (&admission.verdict, holder) == (&known.verdict, known.id);
                return right.then_some(()).ok_or(format!("replayed {admission:?} of {holder}"));
            }
            (Some(known), IdempotentOutcome::Conflict) if known.asked != asked => return Ok(()),
            (None, IdempotentOutcome::Decided(admission)) => admission,
            (known, got) => {
                let known = known.map(|known| &known.asked);
                return Err(format!("{got:?}, asked {asked:?}, known {known:?}"));
            }
        };
        let expected = self.ask_core(Verb::Decide, &[key], cost);
        let mut verdict = admission.verdict.clone();
        verdict.decided_at_ms = verdict.decided_at_ms.min(MAX_TIME_MS);
        if verdict != expected {
            return Err(format!("once {verdict:?}, not {expected:?}"));
        }
        if expected.is_allowed() {
            let shortest_ms = limits.iter().map(Limit::window_ms).min().unwrap_or(0);
            let (end_ms, id) = (now_ms + shortest_ms.min(60_000), self.ids);
            self.names_known[name] = Some(Remembered { asked, verdict: admission.verdict, id, end_ms });
        }
        self.permit(&[key], cost, (Way::Together, RefundScope::Everything), (&expected, admission.grants))
    }

    fn give_back(&mut self, key: usize, units: u64, way: Way) -> Result<(), String> {
        let subjects = subjects(key, way);
        let _ = self.ask(Verb::GiveBack, &subjects, units, (way, RefundScope::Nothing))?;
        // A store may drop what is empty, and then says of a permit that there is nothing left, or
        // not: both are right.
        for key in subjects {
            let states = &self.keys[key].states;
            let is_empty = |index: &usize| {
                states[*index].clone().standing(&self.limits[*index], self.now_ms).reset_after_ms == 0
            };
            if self.in_force.iter().any(is_empty) {
                self.retire_permits(|part| part.key == key);
            }
        }
        Ok(())
    }

    /// Asks the core and the store, which have to say the same.
    fn ask(
        &mut self,
        verb: Verb,
        subjects: &[usize],
        cost: u64,
        (way, returns): (Way, RefundScope),
    ) -> Result<(Verdict, Grants), String> {
        self.ids += 1;
        let (mut got, granted) = self.ask_store(verb, subjects, cost, (way, returns));
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
        Ok((expected, granted))
    }

    /// What a request charges: keys, limits and costs.
    fn charges(&self, subjects: &[usize], cost: u64, way: Way) -> Vec<(usize, Vec<Limit>, u64)> {
        let limits = self.limits_in_force();
        let parts = if way == Way::Apart { 1 } else { limits.len() };
        let costs = if way == Way::Twice { vec![cost / 3, cost - cost / 3] } else { vec![cost] };
        let each = subjects.iter().flat_map(|key| costs.iter().map(move |cost| (*key, *cost)));
        let charges = each.flat_map(|(key, cost)| {
            limits.chunks(parts).map(move |limits| (key, limits.to_vec(), cost)).collect::<Vec<_>>()
        });
        charges.collect()
    }

    fn ask_store(
        &self,
        verb: Verb,
        subjects: &[usize],
        cost: u64,
        (way, returns): (Way, RefundScope),
    ) -> (Verdict, Grants) {
        let name = self.keys[subjects[0]].name.as_str();
        if way == Way::Limiter
            && returns == RefundScope::Nothing
            && let Some(verdict) = self.store.limiter(&self.limits_in_force(), name, cost, self.now_ms)
        {
            return (verdict, Grants::Nothing);
        }
        let keys: Vec<Key<'_>> = self.keys.iter().map(|plain| plain.name.as_str().into()).collect();
        let parts = self.charges(subjects, cost, way);
        let charges = parts.iter().map(|(key, limits, cost)| Charge {
            space: Space::named(""),
            key: &keys[*key],
            limits,
            cost: *cost,
        });
        let charges: Vec<Charge<'_>> = charges.collect();
        let call = ChargeRequest { now_ms: self.now_ms, holder: self.ids, charges: &charges };
        match verb {
            Verb::GiveBack => (self.store.give_back(&call), Grants::Nothing),
            Verb::Decide if returns == RefundScope::Nothing => (self.store.decide(&call), Grants::Nothing),
            Verb::Decide => {
                let admission = self
                    .store
                    .reserve(&ReserveRequest { charge: call, refunds: &vec![returns; charges.len()] });
                (admission.verdict, admission.grants)
            }
        }
    }

    fn ask_core(&mut self, verb: Verb, subjects: &[usize], cost: u64) -> Verdict {
        let (limits, holder) = (self.limits_in_force(), self.ids);
        let of_key = |key: &usize| -> Vec<State> {
            self.in_force.iter().map(|index| self.keys[*key].states[*index].clone()).collect()
        };
        let mut states: Vec<Vec<State>> = subjects.iter().map(of_key).collect();
        let pairs = states.iter_mut().flat_map(|states| limits.iter().zip(states));
        let mut attempts: Vec<LimitAttempt<'_>> =
            pairs.map(|(limit, state)| LimitAttempt { limit, cost, holder, state }).collect();
        let verdict = match verb {
            Verb::Decide => decide(&mut attempts, self.now_ms),
            Verb::GiveBack => give_back(&mut attempts, self.now_ms),
        };
        for (key, states) in subjects.iter().zip(states) {
            for (index, state) in self.in_force.iter().zip(states) {
                self.keys[*key].states[*index] = state;
            }
        }
        verdict
    }

    /// Settles a permit, on every subject as the core would, and says of each what came of it.
    fn settle(&mut self, of: usize, cost: u64, places: u64) -> Result<(), String> {
        let Some(index) = of.checked_rem(self.permits.len()) else { return Ok(()) };
        let permit = &self.permits[index];
        let subjects = permit.parts.iter().map(|part| {
            let receipts = part.receipts.iter().map(|(limit, receipt)| (limit.id(), *receipt)).collect();
            let key = self.keys[part.key].name.as_str().into();
            ChargeRecord { space: Space::named(""), key, grant: part.grant, receipts }
        });
        let (now_ms, id) = (self.now_ms, permit.id);
        let settlement = Settlement { now_ms, id, cost, places, subjects: subjects.collect() };
        let got = self.store.settle(&settlement);
        let mut permit = self.permits.swap_remove(index);
        let expected: Vec<SettleOutcome> =
            permit.parts.iter_mut().map(|part| self.settle_plain(part, cost, places)).collect();
        self.permits.push(permit);
        (got == expected).then_some(()).ok_or(format!("settled {got:?}, not {expected:?}"))
    }

    fn settle_plain(&mut self, part: &mut Part, cost: u64, places: u64) -> SettleOutcome {
        let now_ms = self.now_ms;
        let release_ms = part.receipts.iter().map(|(limit, receipt)| receipt.release_ms(limit)).max();
        if release_ms.unwrap_or(0) <= now_ms {
            return SettleOutcome::Expired;
        } else if part.era != self.keys[part.key].era {
            return SettleOutcome::Void;
        } else if part.spent {
            return SettleOutcome::AlreadySpent;
        }
        let mut done = false;
        for (limit, state) in self.limits.iter().zip(&mut self.keys[part.key].states) {
            if let Some((_, receipt)) = part.receipts.iter().find(|(of, _)| of.id() == limit.id()) {
                let cost = if limit.needs_id() { places } else { cost };
                done |= state.settle(limit, receipt, cost, now_ms) == SettleEffect::Done;
            }
        }
        // Places in flight are found by the holder's id: no memory of spent permits is needed for
        // them.
        let only_places = part.receipts.iter().all(|(limit, _)| limit.needs_id());
        part.spent = !only_places;
        match done {
            true => SettleOutcome::Settled,
            false if only_places => SettleOutcome::AlreadySpent,
            false => SettleOutcome::Void,
        }
    }
}

/// Whether what a limit recorded may be given back.
fn includes(returns: RefundScope, limit: &Limit) -> bool {
    match returns {
        RefundScope::Nothing => false,
        RefundScope::Places => limit.needs_id(),
        RefundScope::Everything => !matches!(limit.kind(), slidegate::LimitKind::Gcra { .. }),
    }
}

/// Which keys a request is about.
fn subjects(key: usize, way: Way) -> Vec<usize> {
    if way == Way::Pair { vec![key, (key + 1) % KEYS] } else { vec![key] }
}

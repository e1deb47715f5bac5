//! Run of a policy: the gate on a manual clock, and the releases of slots in flight.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::convert::Infallible;

use slidegate::policy::{Hit, Policy};
use slidegate::{Answer, Gate, GateError, ManualClock, Memory, Request, SyncStore, UnsignedPermit};
use smallvec::SmallVec;

/// Maximum number of slots in flight with a release to come. Beyond it, slots free themselves after
/// their hold.
const MAX_RELEASES: usize = 1_000_000;

/// Decisions of one policy over a log, in the order of time.
#[derive(Debug)]
pub(super) struct Run {
    gate: Gate<Memory, ManualClock>,
    clock: ManualClock,
    now_ms: u64,
    releases: BinaryHeap<Reverse<Release>>,
    /// Number of the next release.
    next_release: u64,
    /// Slots whose release was not stored.
    unreleased: u64,
}

/// Time of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestTime {
    pub(super) start_ms: u64,
    pub(super) duration_ms: Option<u64>,
}

/// Release of slots in flight at the end of a request.
#[derive(Debug)]
struct Release {
    at_ms: u64,
    /// Number of the request among those with a release: the order within a millisecond.
    number: u64,
    permit: UnsignedPermit,
}

impl Run {
    pub(super) fn new(policy: Policy, max_memory: usize) -> Self {
        let clock = ManualClock::new(0);
        let gate = Gate::new(policy, Memory::new(max_memory)).clock(clock.clone());
        Self { gate, clock, now_ms: 0, releases: BinaryHeap::new(), next_release: 0, unreleased: 0 }
    }

    /// Decides a request and passes the answer with the rules that apply to `read`. A start before
    /// the last one counts as that one.
    #[inline]
    pub(super) fn decide<R>(
        &mut self,
        time: RequestTime,
        request: &Request<'_>,
        read: impl FnOnce(&Answer, &[Hit<'_>]) -> R,
    ) -> Result<R, GateError<Infallible>> {
        let start_ms = time.start_ms.max(self.now_ms);
        if !self.releases.is_empty() {
            self.release_until(start_ms);
        }
        if start_ms != self.now_ms {
            self.now_ms = start_ms;
            self.clock.set_ms(start_ms);
        }
        let mut hits: SmallVec<[Hit<'_>; 2]> = SmallVec::new();
        let decided = self.gate.check_now_with(request, |found| hits.extend(found.iter().cloned()))?;
        let Some(mut answer) = decided else { unreachable!("memory decides without waiting") };
        let permit = answer.take_permit();
        let result = read(&answer, &hits);
        if let (Some(permit), Some(duration_ms)) = (permit, time.duration_ms) {
            self.release_later(start_ms.saturating_add(duration_ms), permit);
        }
        Ok(result)
    }

    /// Policy that decides.
    pub(super) fn policy(&self) -> std::sync::Arc<slidegate::ActivePolicy> {
        self.gate.policy()
    }

    /// Effects of the bounds on memory, as remarks.
    pub(super) fn notes(&self, policy: &str) -> Vec<String> {
        let Some(memory) = self.gate.store().as_memory() else { return Vec::new() };
        let (stats, mut notes) = (memory.stats(), Vec::new());
        if stats.forgotten_keys > 0 {
            let keys = stats.forgotten_keys;
            notes.push(format!(
                "{policy}: memory was full, and {keys} subjects with usage were evicted: denials are missing; raise --max-memory"
            ));
        }
        if stats.refused_for_room > 0 {
            let refused = stats.refused_for_room;
            notes.push(format!(
                "{policy}: memory was full, and {refused} requests were denied for that alone; raise --max-memory"
            ));
        }
        if self.unreleased > 0 {
            let unreleased = self.unreleased;
            notes.push(format!(
                "{policy}: more than {MAX_RELEASES} requests in flight: {unreleased} slots were freed by their hold alone"
            ));
        }
        notes
    }

    fn release_later(&mut self, at_ms: u64, permit: UnsignedPermit) {
        if self.releases.len() < MAX_RELEASES {
            let number = self.next_release;
            self.next_release += 1;
            self.releases.push(Reverse(Release { at_ms, number, permit }));
        } else {
            self.unreleased += 1;
        }
    }

    /// Releases the slots of all requests that ended up to this time.
    #[cold]
    fn release_until(&mut self, now_ms: u64) {
        while self.releases.peek().is_some_and(|Reverse(release)| release.at_ms <= now_ms) {
            let Some(Reverse(Release { at_ms, permit, .. })) = self.releases.pop() else { break };
            self.now_ms = self.now_ms.max(at_ms);
            self.clock.set_ms(self.now_ms);
            // A slot whose hold is over is free already.
            self.gate.settle_now(&permit, 1);
        }
    }
}

impl PartialEq for Release {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Release {}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at_ms, self.number).cmp(&(other.at_ms, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_are_freed_at_one_time_are_released_in_the_order_of_their_requests() {
        let text = "version: 1\nrules: [{ name: jobs, limits: [{ in_flight: 9, hold: 1min }] }]";
        let mut run = Run::new(Policy::parse("policy.yaml", text).expect("a policy"), 1 << 20);
        let decide = |run: &mut Run, start_ms, duration_ms| {
            let time = RequestTime { start_ms, duration_ms: Some(duration_ms) };
            run.decide(time, &Request::new(), |_, _| ()).expect("a request");
        };
        let first = |run: &mut Run| run.releases.pop().expect("a release").0.permit;
        [10, 10, 30].into_iter().for_each(|duration_ms| decide(&mut run, 0, duration_ms));
        let at_30 = run.releases.iter().find(|Reverse(release)| release.at_ms == 30);
        let third = at_30.expect("a release").0.permit.clone();
        // Two slots are free when the fourth request comes, which ends together with the third.
        decide(&mut run, 10, 20);
        assert_eq!(run.releases.len(), 2);
        assert_eq!(first(&mut run), third);
        assert_ne!(first(&mut run), third);
    }
}

//! Model of a service with a queue: Poisson arrivals, `capacity` servers with exponential service
//! times, virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use slidegate::adaptive::{AdaptiveLimiter, Completion, Slot};
use slidegate_testkit::cases::Rng;

/// Limiter that the model asks for a slot per request.
pub(super) trait Control {
    type Slot;

    fn try_acquire(&mut self, now_ns: u64) -> Option<Self::Slot>;
    fn release(&mut self, slot: Self::Slot, now_ns: u64);
    fn limit(&self) -> u32;
}

/// [`AdaptiveLimiter`] in virtual time.
pub(super) struct Ours {
    pub(super) limiter: AdaptiveLimiter,
    pub(super) origin: Instant,
}

impl Control for Ours {
    type Slot = Slot;

    fn try_acquire(&mut self, now_ns: u64) -> Option<Slot> {
        self.limiter.try_acquire("", self.origin + Duration::from_nanos(now_ns))
    }

    fn release(&mut self, slot: Slot, now_ns: u64) {
        self.limiter.release(slot, self.origin + Duration::from_nanos(now_ns), Completion::Success);
    }

    fn limit(&self) -> u32 {
        self.limiter.limit()
    }
}

/// Part of a simulation with one capacity. Twice as many requests arrive as it can serve.
#[derive(Clone, Copy)]
pub(super) struct Phase {
    pub(super) capacity: usize,
    pub(super) service_ms: f64,
    pub(super) length_s: u64,
}

/// Result of the last third of a phase, when the limit should have settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    /// Mean limit over time, as a multiple of the capacity.
    pub(super) limit: f64,
    /// Requests served, as a multiple of what the capacity can serve.
    pub(super) throughput: f64,
}

impl Settled {
    /// Distance of the limit from the capacity, as a part of the capacity.
    pub(super) fn error(&self) -> f64 {
        (self.limit - 1.0).abs()
    }
}

/// Runs the phases one after the other.
pub(super) fn simulate<C: Control>(control: &mut C, phases: &[Phase], seed: u64) -> Vec<Settled> {
    let mut service = Service { rng: Rng::new(seed), now_ns: 0, slots: Vec::new(), free: Vec::new() };
    let (mut running, mut queue) = (BinaryHeap::new(), VecDeque::new());
    phases.iter().map(|phase| service.run(control, phase, &mut running, &mut queue)).collect()
}

/// Ends of the requests that are served, with the index of their slot.
type Running = BinaryHeap<Reverse<(u64, usize)>>;

struct Service<S> {
    rng: Rng,
    now_ns: u64,
    slots: Vec<Option<S>>,
    free: Vec<usize>,
}

impl<S> Service<S> {
    fn run<C: Control<Slot = S>>(
        &mut self,
        control: &mut C,
        phase: &Phase,
        running: &mut Running,
        queue: &mut VecDeque<usize>,
    ) -> Settled {
        let service_ns = phase.service_ms * 1e6;
        let arrival_ns = service_ns / phase.capacity as f64 / 2.0;
        let end_ns = self.now_ns + phase.length_s * 1_000_000_000;
        let settled_ns = end_ns - phase.length_s * 1_000_000_000 / 3;
        let mut arrival = self.now_ns + self.exponential(arrival_ns);
        let (mut area, mut served) = (0.0, 0);
        loop {
            while running.len() < phase.capacity
                && let Some(index) = queue.pop_front()
            {
                running.push(Reverse((self.now_ns + self.exponential(service_ns), index)));
            }
            let completion = running.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
            let next_ns = completion.min(arrival).min(end_ns);
            let settled_part = next_ns.saturating_sub(self.now_ns.max(settled_ns));
            area += f64::from(control.limit()) * settled_part as f64;
            self.now_ns = next_ns;
            if next_ns == end_ns {
                break;
            }
            if completion <= arrival {
                let index = running.pop().map_or(0, |Reverse((_, index))| index);
                self.free.push(index);
                if let Some(slot) = self.slots[index].take() {
                    control.release(slot, next_ns);
                }
                served += u32::from(next_ns >= settled_ns);
            } else {
                arrival = next_ns + self.exponential(arrival_ns);
                if let Some(slot) = control.try_acquire(next_ns) {
                    queue.push_back(self.store(slot));
                }
            }
        }
        let settled_ns = (end_ns - settled_ns) as f64;
        let capacity = phase.capacity as f64;
        Settled {
            limit: area / settled_ns / capacity,
            throughput: f64::from(served) * service_ns / settled_ns / capacity,
        }
    }

    fn store(&mut self, slot: S) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[index] = Some(slot);
        index
    }

    fn exponential(&self, mean_ns: f64) -> u64 {
        let uniform = ((self.rng.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-uniform.ln() * mean_ns) as u64
    }
}

//! Model of a service with a queue: Poisson arrivals, servers, random service times, virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::workload::Random;

const SECOND_NS: u64 = 1_000_000_000;

/// Limiter that the model asks for a slot per request.
pub trait ConcurrencyControl {
    /// Slot of a request.
    type Slot;

    /// Slot for a request of a partition; `None` refuses it.
    fn try_acquire(&mut self, partition: &str, now_ns: u64) -> Option<Self::Slot>;

    /// End of a request.
    fn release(&mut self, slot: Self::Slot, now_ns: u64);

    /// Limit in force.
    fn limit(&self) -> u32;
}

/// Distribution of service times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceTime {
    /// All alike.
    Constant,
    /// Standard deviation of half the mean (Erlang, four stages).
    Even,
    /// Standard deviation of the mean (exponential).
    Exponential,
    /// Standard deviation of twice the mean (hyperexponential): many short ones, few long ones.
    Wide,
}

/// Requests of a partition that arrive.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    /// Name of the partition.
    pub partition: &'static str,
    /// Guaranteed share of the limit, in percent.
    pub share_percent: u32,
    /// Requests that arrive, as a multiple of what the capacity can serve.
    pub load: f64,
}

/// Part of a simulation in which nothing changes.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Requests that are served at the same time.
    pub capacity: usize,
    /// Mean service time in milliseconds.
    pub service_ms: f64,
    /// Length in seconds.
    pub length_s: u64,
    /// What arrives.
    pub traffic: &'static [Traffic],
}

impl Step {
    /// Requests that arrive, as a multiple of what the capacity can serve.
    pub fn load(&self) -> f64 {
        self.traffic.iter().map(|traffic| traffic.load).sum()
    }
}

/// What happened in a step.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// Mean limit of each second, as a multiple of the capacity.
    pub limits: Vec<f64>,
    /// Requests served in the last third, as a multiple of what the capacity can serve.
    pub throughput: f64,
    /// The same by partition.
    pub throughputs: Vec<f64>,
    /// Requests that were refused within the guaranteed share of their partition.
    pub undercut: u64,
}

impl StepResult {
    /// Mean limit of the last third, as a multiple of the capacity.
    pub fn limit(&self) -> f64 {
        let last = &self.limits[self.limits.len() - self.limits.len() / 3..];
        last.iter().sum::<f64>() / last.len() as f64
    }

    /// Whether the limit ends within a fifth of the capacity.
    pub fn is_settled(&self) -> bool {
        (self.limit() - 1.0).abs() <= 0.2
    }

    /// Seconds after which every mean of a ninth of the step is within a fifth of the capacity:
    /// means, because probes are a part of how a limit settles. `None` if that is not so at the end.
    pub fn settling_s(&self) -> Option<usize> {
        let mean_s = self.limits.len() / 9;
        let means = self.limits.windows(mean_s);
        let outside = |seconds: &[f64]| (seconds.iter().sum::<f64>() / mean_s as f64 - 1.0).abs() > 0.2;
        let settling_s = means.map(outside).rposition(|is_outside| is_outside).map_or(0, |last| last + 1);
        (settling_s + mean_s <= self.limits.len()).then_some(settling_s)
    }
}

/// Service that is simulated: its time, its queue, and the requests that it serves.
#[derive(Debug)]
pub struct ServiceModel<S> {
    random: Random,
    service_time: ServiceTime,
    now_ns: u64,
    /// Requests in flight, and the index of their partition.
    requests: Vec<Option<(S, usize)>>,
    free: Vec<usize>,
    /// Ends of the requests that are served.
    running: BinaryHeap<Reverse<(u64, usize)>>,
    queue: VecDeque<usize>,
}

impl<S> ServiceModel<S> {
    /// Idle service.
    pub fn new(service_time: ServiceTime, seed: u64) -> Self {
        let random = Random::seeded(seed);
        let (running, queue) = (BinaryHeap::new(), VecDeque::new());
        Self { random, service_time, now_ns: 0, requests: Vec::new(), free: Vec::new(), running, queue }
    }

    /// Runs a step. Requests of the steps before are still there.
    pub fn run<C: ConcurrencyControl<Slot = S>>(&mut self, control: &mut C, step: &Step) -> StepResult {
        let mut account = Account::new(step, self.now_ns);
        for (_, partition) in self.requests.iter().flatten() {
            account.in_flight[*partition] += 1;
        }
        let service_ns = step.service_ms * 1e6;
        let load = step.load();
        let arrival_ns = service_ns / step.capacity as f64 / load;
        let mut arrival = self.next_arrival(arrival_ns);
        loop {
            while self.running.len() < step.capacity
                && let Some(index) = self.queue.pop_front()
            {
                let end_ns = self.now_ns + self.service_ns(service_ns);
                self.running.push(Reverse((end_ns, index)));
            }
            let completion = self.running.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
            let next_ns = completion.min(arrival).min(account.end_ns);
            account.pass(self.now_ns, next_ns, control.limit());
            self.now_ns = next_ns;
            if next_ns == account.end_ns {
                return account.result(step);
            }
            if completion <= arrival {
                let index = self.running.pop().map_or(0, |Reverse((_, index))| index);
                self.free.push(index);
                if let Some((slot, partition)) = self.requests[index].take() {
                    account.serve(partition, next_ns);
                    control.release(slot, next_ns);
                }
                continue;
            }
            arrival = self.next_arrival(arrival_ns);
            let partition = self.partition(step.traffic, load);
            match control.try_acquire(step.traffic[partition].partition, next_ns) {
                Some(slot) => {
                    account.in_flight[partition] += 1;
                    let index = self.insert(slot, partition);
                    self.queue.push_back(index);
                }
                None => account.refuse(partition, &step.traffic[partition], control.limit()),
            }
        }
    }

    fn insert(&mut self, slot: S, partition: usize) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.requests.push(None);
            self.requests.len() - 1
        });
        self.requests[index] = Some((slot, partition));
        index
    }

    fn next_arrival(&mut self, mean_ns: f64) -> u64 {
        let wait_ns = self.exponential(mean_ns);
        // Infinite where nothing arrives.
        self.now_ns.saturating_add(wait_ns as u64)
    }

    fn partition(&mut self, traffic: &[Traffic], load: f64) -> usize {
        let mut rest = self.random.unit() * load;
        let chosen = traffic.iter().position(|traffic| {
            rest -= traffic.load;
            rest < 0.0
        });
        chosen.unwrap_or(0)
    }

    fn service_ns(&mut self, mean_ns: f64) -> u64 {
        /// Share of the short ones of hyperexponential times, which take half of all time.
        const SHORT: f64 = 0.887_298_334_620_741_7;
        let time_ns = match self.service_time {
            ServiceTime::Constant => mean_ns,
            ServiceTime::Even => (0..4).map(|_| self.exponential(mean_ns / 4.0)).sum(),
            ServiceTime::Exponential => self.exponential(mean_ns),
            ServiceTime::Wide => {
                let share = if self.random.unit() < SHORT { SHORT } else { 1.0 - SHORT };
                self.exponential(mean_ns / 2.0 / share)
            }
        };
        time_ns as u64
    }

    fn exponential(&mut self, mean_ns: f64) -> f64 {
        -(1.0 - self.random.unit()).ln() * mean_ns
    }
}

/// Figures of a step while it runs.
struct Account {
    start_ns: u64,
    end_ns: u64,
    /// Start of the last third.
    settled_ns: u64,
    /// Limit over time of each second.
    areas: Vec<f64>,
    served: Vec<u64>,
    in_flight: Vec<u32>,
    undercut: u64,
}

impl Account {
    fn new(step: &Step, start_ns: u64) -> Self {
        let end_ns = start_ns + step.length_s * SECOND_NS;
        let partitions = step.traffic.len();
        Self {
            start_ns,
            end_ns,
            settled_ns: end_ns - step.length_s * SECOND_NS / 3,
            areas: vec![0.0; step.length_s as usize],
            served: vec![0; partitions],
            in_flight: vec![0; partitions],
            undercut: 0,
        }
    }

    fn pass(&mut self, mut from_ns: u64, to_ns: u64, limit: u32) {
        while from_ns < to_ns {
            let second = (from_ns - self.start_ns) / SECOND_NS;
            let part_end_ns = to_ns.min(self.start_ns + (second + 1) * SECOND_NS);
            self.areas[second as usize] += f64::from(limit) * (part_end_ns - from_ns) as f64;
            from_ns = part_end_ns;
        }
    }

    fn serve(&mut self, partition: usize, now_ns: u64) {
        self.in_flight[partition] -= 1;
        self.served[partition] += u64::from(now_ns >= self.settled_ns);
    }

    fn refuse(&mut self, partition: usize, traffic: &Traffic, limit: u32) {
        let guaranteed = (limit * traffic.share_percent / 100).max(u32::from(traffic.share_percent > 0));
        self.undercut += u64::from(self.in_flight[partition] < guaranteed);
    }

    fn result(self, step: &Step) -> StepResult {
        let capacity = step.capacity as f64;
        let third_ms = (self.end_ns - self.settled_ns) as f64 / 1e6;
        let possible = capacity * third_ms / step.service_ms;
        let throughputs: Vec<f64> = self.served.iter().map(|served| *served as f64 / possible).collect();
        StepResult {
            limits: self.areas.iter().map(|area| area / SECOND_NS as f64 / capacity).collect(),
            throughput: throughputs.iter().sum(),
            throughputs,
            undercut: self.undercut,
        }
    }
}

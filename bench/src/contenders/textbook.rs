//! The log as textbooks write it: a queue of stamps per key in a concurrent map.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use dashmap::DashMap;

use super::{AMPLE, Answer, Contender, DAY_S, SCANT, ample_window_s};
use crate::steps::Steps;
use crate::workload::{Arrivals, Keys};

/// `DashMap<String, VecDeque<stamp>>`.
pub struct Textbook {
    logs: DashMap<String, VecDeque<u64>>,
    quota: usize,
    window: u64,
    start: Instant,
    steps: Option<Steps>,
}

impl Textbook {
    /// Limiter on the system's monotonic clock, in nanoseconds.
    pub fn new(answer: Answer, keys: u64) -> Self {
        let (quota, window_s) = match answer {
            Answer::Allowed => (AMPLE, ample_window_s(keys)),
            Answer::Denied => (SCANT, DAY_S),
        };
        let window = Duration::from_secs(window_s.into()).as_nanos() as u64;
        Self { logs: DashMap::new(), quota: quota as usize, window, start: Instant::now(), steps: None }
    }

    /// Limiter on steps, with full logs and stamps spread over the last window.
    pub fn full(quota: u32, window: u64, keys: u64, steps: Steps) -> Self {
        let logs = DashMap::new();
        let spacing = window / u64::from(quota);
        for (index, key) in Arrivals::each(0..keys, 1).all().iter().enumerate() {
            let phase = index as u64 * spacing / keys;
            let stamps = (0..u64::from(quota)).map(|nth| steps.now() + 1 + phase + nth * spacing - window);
            // Grown by pushing, as a log grows in use.
            let mut log = VecDeque::new();
            stamps.for_each(|stamp| log.push_back(stamp));
            logs.insert(key.to_owned(), log);
        }
        Self { logs, quota: quota as usize, window, start: Instant::now(), steps: Some(steps) }
    }

    #[inline]
    fn now(&self) -> u64 {
        let real = self.start.elapsed().as_nanos() as u64;
        match &self.steps {
            None => real,
            Some(steps) => {
                black_box(real);
                steps.next()
            }
        }
    }

    #[inline]
    fn decide(&self, key: &str) -> bool {
        let now = self.now();
        let mut log = match self.logs.get_mut(key) {
            Some(log) => log,
            None => self.logs.entry(key.to_owned()).or_default(),
        };
        while log.front().is_some_and(|stamp| stamp + self.window <= now) {
            log.pop_front();
        }
        let fits = log.len() < self.quota;
        if fits {
            log.push_back(now);
        }
        fits
    }
}

impl Contender for Textbook {
    fn name(&self) -> &'static str {
        "textbook log"
    }

    fn run(&self, keys: Keys<'_>) -> usize {
        keys.iter().filter(|key| black_box(self.decide(key))).count()
    }
}

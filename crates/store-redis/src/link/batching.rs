//! Batching of requests by Nagle's rule: a request is sent at once if no batch with its key is in
//! flight. Otherwise it waits for that batch to end, or until a batch is full. A lone request never
//! waits.

use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::job::{Job, Redirection, ScriptRef};
use crate::invocation::Invocation;

/// Routing of keys of different slots: in one call, or in a call per slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotRouting {
    Together,
    Apart,
}

/// Key of a batch: the script, the first arguments, and the slot in a Cluster.
#[derive(Clone, Debug)]
pub(super) struct BatchKey {
    example: Arc<Invocation>,
    form: ScriptRef,
    slot: Option<u16>,
}

impl PartialEq for BatchKey {
    fn eq(&self, other: &Self) -> bool {
        self.slot == other.slot
            && self.form == other.form
            && self.example.script.sha == other.example.script.sha
            && self.example.head == other.example.head
    }
}

impl Eq for BatchKey {}

impl Hash for BatchKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.slot.hash(state);
        self.example.script.sha.hash(state);
        self.example.head.hash(state);
    }
}

/// Batch: the requests of one call. A request that is never batched has no key.
#[derive(Debug)]
pub(super) struct CallBatch {
    pub(super) kind: Option<BatchKey>,
    pub(super) jobs: Vec<Job>,
}

#[derive(Default, Debug)]
struct BatchQueue {
    waiting: VecDeque<Job>,
    in_flight: usize,
}

/// Batcher: requests that wait for one server.
#[derive(Debug)]
pub(super) struct Batcher {
    slots: SlotRouting,
    max_batch: usize,
    alone: VecDeque<Job>,
    groups: HashMap<BatchKey, BatchQueue>,
    /// Queues that may have something to send; each is checked again in its turn.
    ready: VecDeque<BatchKey>,
}

impl Batcher {
    pub(super) fn new(slots: SlotRouting, max_batch: usize) -> Self {
        Self { slots, max_batch, alone: VecDeque::new(), groups: HashMap::new(), ready: VecDeque::new() }
    }

    pub(super) fn push(&mut self, job: Job) {
        if job.manner == Redirection::Asking || job.invocation.script.record_bytes.is_none() {
            self.alone.push_back(job);
            return;
        }
        let slot = (self.slots == SlotRouting::Apart).then_some(job.invocation.slot);
        let kind = BatchKey { example: job.invocation.clone(), form: job.form, slot };
        let group = self.groups.entry(kind.clone()).or_default();
        group.waiting.push_back(job);
        if group.may_go(self.max_batch) {
            self.ready.push_back(kind);
        }
    }

    /// Next batch that may be sent now. Requests whose callers have left are dropped.
    pub(super) fn next(&mut self) -> Option<CallBatch> {
        while let Some(mut job) = self.alone.pop_front() {
            if job.claim() {
                return Some(CallBatch { kind: None, jobs: vec![job] });
            }
        }
        while let Some(kind) = self.ready.pop_front() {
            let Some(group) = self.groups.get_mut(&kind) else { continue };
            let jobs = group.take(self.max_batch);
            if !jobs.is_empty() {
                group.in_flight += 1;
                return Some(CallBatch { kind: Some(kind), jobs });
            }
            self.forget_if_idle(&kind);
        }
        None
    }

    /// Records that a batch with this key has ended.
    pub(super) fn batch_ended(&mut self, kind: BatchKey) {
        let Some(group) = self.groups.get_mut(&kind) else { return };
        group.in_flight = group.in_flight.saturating_sub(1);
        if !group.waiting.is_empty() {
            self.ready.push_back(kind);
        } else {
            self.forget_if_idle(&kind);
        }
    }

    /// Records that all calls in flight are lost with their connection.
    pub(super) fn connection_lost(&mut self) {
        self.groups.retain(|_, group| !group.waiting.is_empty());
        self.groups.values_mut().for_each(|group| group.in_flight = 0);
        self.ready = self.groups.keys().cloned().collect();
    }

    /// Removes all waiting requests.
    pub(super) fn drain(&mut self) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.alone.drain(..).collect();
        self.groups.values_mut().for_each(|group| jobs.extend(group.waiting.drain(..)));
        self.groups.retain(|_, group| group.in_flight > 0);
        self.ready.clear();
        jobs
    }

    /// True if there may be something to send.
    pub(super) fn has_ready(&self) -> bool {
        !self.alone.is_empty() || !self.ready.is_empty()
    }

    fn forget_if_idle(&mut self, kind: &BatchKey) {
        if self.groups.get(kind).is_some_and(|group| group.waiting.is_empty() && group.in_flight == 0) {
            self.groups.remove(kind);
        }
    }
}

impl BatchQueue {
    fn may_go(&self, max_batch: usize) -> bool {
        self.in_flight == 0 || self.waiting.len() >= max_batch
    }

    fn take(&mut self, max_batch: usize) -> Vec<Job> {
        let mut jobs = Vec::new();
        if !self.may_go(max_batch) {
            return jobs;
        }
        while jobs.len() < max_batch
            && let Some(mut job) = self.waiting.pop_front()
        {
            if job.claim() {
                jobs.push(job);
            }
        }
        jobs
    }
}

#[cfg(test)]
mod tests;

//! Wait queues: requests on the same subjects wait in one, first come, first served.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Default maximum of waiters over all queues.
pub(crate) const MAX_WAITING: usize = 10_000;
/// Share of all waiters that one subject may have: a sixteenth, at least one waiter.
const SUBJECT_SHARE: usize = 16;

/// Wait queues, one for each set of subjects. A subject without waiters takes no memory.
#[derive(Debug)]
pub(crate) struct WaitQueue<S: Eq + Hash + Clone> {
    state: Mutex<QueueState<S>>,
    max: usize,
    max_per_subject: usize,
}

/// Subjects of a request, which are the key of its queue.
type QueueKey<S> = SmallVec<[S; 1]>;

#[derive(Debug)]
struct QueueState<S> {
    queues: HashMap<QueueKey<S>, Queue>,
    /// Waiters of each subject, in all queues: a client that varies another attribute has several.
    subjects: HashMap<S, usize>,
    /// Waiters of all queues.
    waiters: usize,
}

/// One queue: the turn, and the number of waiters including the one whose turn it is. Counted under
/// the lock: waiters that leave at the same time would each take the other's reference to the turn
/// for that of a waiter who stays.
#[derive(Default, Debug)]
struct Queue {
    turn: Arc<Turn<()>>,
    waiters: usize,
}

/// Position in a queue, until it is dropped. The queue goes with its last ticket.
#[derive(Debug)]
pub(crate) struct Ticket<'a, S: Eq + Hash + Clone> {
    queues: &'a WaitQueue<S>,
    key: QueueKey<S>,
    turn: Arc<Turn<()>>,
}

impl<S: Eq + Hash + Clone> WaitQueue<S> {
    /// Queues bounded to this many waiters over all subjects.
    pub(crate) fn bounded(max: usize) -> Self {
        let state = QueueState { queues: HashMap::new(), subjects: HashMap::new(), waiters: 0 };
        Self { state: Mutex::new(state), max, max_per_subject: (max / SUBJECT_SHARE).max(1) }
    }

    /// Ticket at the end of the queue of these subjects. `None` if the subjects have as many waiters
    /// as one may have, or all queues together are full.
    ///
    /// The waiters of all subjects of the request are added up. So whatever a subject has of another,
    /// such as that of a rule without a key, it leaves about as many positions there to others.
    pub(crate) fn join(&self, subjects: impl IntoIterator<Item = S>) -> Option<Ticket<'_, S>> {
        let mut key = QueueKey::new();
        for subject in subjects {
            if !key.contains(&subject) {
                key.push(subject);
            }
        }
        let mut state = self.lock();
        let of_subjects: usize = key.iter().filter_map(|subject| state.subjects.get(subject)).sum();
        if state.waiters >= self.max || of_subjects >= self.max_per_subject {
            return None;
        }
        state.waiters += 1;
        for subject in &key {
            *state.subjects.entry(subject.clone()).or_default() += 1;
        }
        let queue = state.queues.entry(key.clone()).or_default();
        queue.waiters += 1;
        let turn = queue.turn.clone();
        drop(state);
        Some(Ticket { queues: self, key, turn })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Eq + Hash> QueueState<S> {
    /// Takes a waiter out of its queue and from its subjects, and removes those without others.
    fn remove(&mut self, key: &QueueKey<S>) {
        self.waiters -= 1;
        if let Some(queue) = self.queues.get_mut(key) {
            queue.waiters -= 1;
            if queue.waiters == 0 {
                self.queues.remove(key);
            }
        }
        for subject in key {
            if let Some(waiters) = self.subjects.get_mut(subject) {
                *waiters -= 1;
                if *waiters == 0 {
                    self.subjects.remove(subject);
                }
            }
        }
    }
}

impl<S: Eq + Hash + Clone> Ticket<'_, S> {
    /// Waits for the turn, which lasts until the guard is dropped. Turns come in the order of the
    /// calls.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }
}

impl<S: Eq + Hash + Clone> Drop for Ticket<'_, S> {
    fn drop(&mut self) {
        self.queues.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::task::{JoinSet, yield_now};

    use super::*;

    fn is_empty<S: Eq + Hash + Clone>(queues: &WaitQueue<S>) -> bool {
        let state = queues.lock();
        state.queues.is_empty() && state.subjects.is_empty() && state.waiters == 0
    }

    /// Threads that join and leave the same queues at the same time leave none behind.
    #[test]
    fn a_queue_goes_with_its_last_ticket() {
        let queues = WaitQueue::bounded(MAX_WAITING);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..20_000_u64 {
                        drop(queues.join([n % 8, n % 5]).expect("room"));
                    }
                });
            }
        });
        assert!(is_empty(&queues));
    }

    #[test]
    fn all_queues_together_have_a_bound() {
        let queues = WaitQueue::bounded(48);
        let mut tickets: Vec<_> = (0..48).map(|n| queues.join([n % 16])).collect();
        assert!(tickets.iter().all(Option::is_some));
        assert!(queues.join([99]).is_none());
        drop(tickets.pop());
        let again = queues.join([99]);
        assert!(again.is_some(), "the position of a waiter that left is free");
        assert!(queues.join([98]).is_none());
        drop((tickets, again));
        assert!(is_empty(&queues));
        assert!(WaitQueue::bounded(0).join(["a"]).is_none());
    }

    #[test]
    fn a_subject_has_a_sixteenth_of_all_positions() {
        let queues = WaitQueue::bounded(MAX_WAITING);
        let hot: Vec<_> = std::iter::from_fn(|| queues.join(["hot"])).collect();
        assert_eq!(hot.len(), MAX_WAITING / 16);
        assert!(queues.join(["cold"]).is_some(), "other subjects wait as before");
        let few = WaitQueue::bounded(3);
        let first = few.join(["a"]);
        assert!(first.is_some() && few.join(["a"]).is_none() && few.join(["b"]).is_some());
    }

    /// A client that varies another attribute has several queues, and no more positions.
    #[test]
    fn a_subject_has_no_more_positions_in_several_queues() {
        let queues = WaitQueue::bounded(MAX_WAITING);
        for order in [["203.0.113.7", "varied"], ["varied", "203.0.113.7"]] {
            let subjects = |n: usize| order.map(|subject| subject.replace("varied", &n.to_string()));
            let tickets: Vec<_> = (0..MAX_WAITING).map_while(|n| queues.join(subjects(n))).collect();
            assert_eq!(tickets.len(), MAX_WAITING / 16);
            assert_eq!(queues.lock().queues.len(), tickets.len());
            assert!(queues.join(["203.0.113.7".to_owned()]).is_none());
            assert!(queues.join(["203.0.113.8".to_owned(), "0".to_owned()]).is_some());
        }
        assert!(is_empty(&queues));
    }

    /// Subjects within one that all share: whatever some of them have, others find a position.
    #[test]
    fn a_subject_leaves_room_in_one_that_it_shares() {
        let queues = WaitQueue::bounded(MAX_WAITING);
        let mut tickets = Vec::new();
        for client in 0..8_u32 {
            let before = tickets.len();
            tickets.extend(std::iter::from_fn(|| queues.join([client, u32::MAX])));
            assert!(tickets.len() > before, "client {client} finds no position");
            assert!(tickets.len() < MAX_WAITING / 16);
        }
        drop(tickets);
        assert!(is_empty(&queues));
    }

    #[test]
    fn a_subject_that_a_request_has_twice_counts_once() {
        let queues = WaitQueue::bounded(2 * 16);
        let first = queues.join(["a", "a"]);
        assert!(first.is_some() && queues.join(["a", "a"]).is_some());
        drop(first);
        assert!(is_empty(&queues));
    }

    /// However many threads join, never more than the bounds wait, and no position is lost.
    #[test]
    fn the_bounds_hold_for_threads() {
        let queues = WaitQueue::bounded(48);
        thread::scope(|scope| {
            for thread in 0..8_u64 {
                let queues = &queues;
                scope.spawn(move || {
                    for round in 0..5_000 {
                        let subjects = |n| [(thread + round + n) % 4, 4 + n % 3];
                        let tickets: Vec<_> = (0..10).map(|n| queues.join(subjects(n))).collect();
                        let state = queues.lock();
                        assert!(state.waiters <= 48);
                        assert!(state.subjects.values().all(|waiters| (1..=3).contains(waiters)));
                        let waiters = state.queues.values().map(|queue| queue.waiters);
                        assert_eq!(waiters.sum::<usize>(), state.waiters);
                        assert_eq!(state.subjects.values().sum::<usize>(), 2 * state.waiters);
                        drop(state);
                        drop(tickets);
                    }
                });
            }
        });
        assert!(is_empty(&queues));
    }

    #[tokio::test]
    async fn turns_come_in_order_and_cancelled_waiters_leave() {
        let queues = Arc::new(WaitQueue::bounded(8 * 16));
        let order = Arc::new(Mutex::new(Vec::new()));
        let ticket = queues.join(["key"]).expect("room");
        let turn = ticket.turn().await;
        let (mut tasks, mut handles) = (JoinSet::new(), Vec::new());
        for n in 0..7 {
            let (queues, order) = (queues.clone(), order.clone());
            handles.push(tasks.spawn(async move {
                let ticket = queues.join(["key"]).expect("room");
                let _turn = ticket.turn().await;
                order.lock().expect("no panic").push(n);
            }));
            yield_now().await;
        }
        assert!(queues.join(["key"]).is_none(), "the queue is full");
        // The next, one in the middle, and the last.
        [0, 3, 6].into_iter().for_each(|n: usize| handles[n].abort());
        while queues.lock().waiters > 5 {
            yield_now().await;
        }
        assert!(queues.join(["key"]).is_some(), "their positions are free");
        drop(turn);
        drop(ticket);
        while tasks.join_next().await.is_some() {}
        assert_eq!(*order.lock().expect("no panic"), [1, 2, 4, 5]);
        assert!(is_empty(&queues));
    }
}

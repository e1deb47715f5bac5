//! Wait queues, one per key: first come, first served.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Default maximum of waiters over all keys.
pub(crate) const MAX_WAITING: usize = 10_000;
/// Share of all waiters that one key may have: a sixteenth, at least one waiter. A key that fills
/// its queue leaves room for the others.
const KEY_SHARE: usize = 16;

/// Wait queues of keys. A key without waiters takes no memory.
#[derive(Debug)]
pub(crate) struct WaitQueue<K: Eq + Hash + Clone> {
    state: Mutex<QueueState<K>>,
    max: usize,
    max_per_key: usize,
}

#[derive(Debug)]
struct QueueState<K> {
    queues: HashMap<K, KeyQueue>,
    /// Waiters of all keys.
    waiters: usize,
}

/// Queue of one key: the turn, and the number of waiters including the one whose turn it is.
/// Counted under the lock: waiters that leave at the same time would each take the other's
/// reference to the turn for that of a waiter who stays.
#[derive(Default, Debug)]
struct KeyQueue {
    turn: Arc<Turn<()>>,
    waiters: usize,
}

/// Position in the queue of a key, until it is dropped. The queue goes with its last ticket.
#[derive(Debug)]
pub(crate) struct Ticket<'a, K: Eq + Hash + Clone> {
    queues: &'a WaitQueue<K>,
    key: K,
    turn: Arc<Turn<()>>,
}

impl<K: Eq + Hash + Clone> WaitQueue<K> {
    /// Queues bounded to this many waiters over all keys.
    pub(crate) fn bounded(max: usize) -> Self {
        let state = Mutex::new(QueueState { queues: HashMap::new(), waiters: 0 });
        Self { state, max, max_per_key: (max / KEY_SHARE).max(1) }
    }

    /// Ticket at the end of the queue of a key; `None` if it is full, or all queues together are.
    pub(crate) fn join(&self, key: K) -> Option<Ticket<'_, K>> {
        let mut state = self.lock();
        let of_key = state.queues.get(&key).map_or(0, |queue| queue.waiters);
        if state.waiters >= self.max || of_key >= self.max_per_key {
            return None;
        }
        state.waiters += 1;
        let queue = state.queues.entry(key.clone()).or_default();
        queue.waiters += 1;
        let turn = queue.turn.clone();
        drop(state);
        Some(Ticket { queues: self, key, turn })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Clone> Ticket<'_, K> {
    /// Waits for the turn, which lasts until the guard is dropped. Turns come in the order of the
    /// calls.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }
}

impl<K: Eq + Hash + Clone> Drop for Ticket<'_, K> {
    fn drop(&mut self) {
        let mut state = self.queues.lock();
        let Some(queue) = state.queues.get_mut(&self.key) else { return };
        queue.waiters -= 1;
        if queue.waiters == 0 {
            state.queues.remove(&self.key);
        }
        state.waiters -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::task::{JoinSet, yield_now};

    use super::*;

    fn is_empty<K: Eq + Hash + Clone>(queues: &WaitQueue<K>) -> bool {
        let state = queues.lock();
        state.queues.is_empty() && state.waiters == 0
    }

    /// Threads that join and leave the same queues at the same time leave none behind.
    #[test]
    fn a_queue_goes_with_its_last_ticket() {
        let queues = WaitQueue::bounded(MAX_WAITING);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in 0..20_000_u64 {
                        drop(queues.join(key % 8).expect("room"));
                    }
                });
            }
        });
        assert!(is_empty(&queues));
    }

    #[test]
    fn all_queues_together_have_a_bound() {
        let queues = WaitQueue::bounded(48);
        let mut tickets: Vec<_> = (0..48).map(|n| queues.join(n % 16)).collect();
        assert!(tickets.iter().all(Option::is_some));
        assert!(queues.join(99).is_none());
        drop(tickets.pop());
        let again = queues.join(99);
        assert!(again.is_some(), "the position of a waiter that left is free");
        assert!(queues.join(98).is_none());
        drop((tickets, again));
        assert!(is_empty(&queues));
        assert!(WaitQueue::bounded(0).join("a").is_none());
    }

    #[test]
    fn a_key_has_a_sixteenth_of_all_positions() {
        let queues = WaitQueue::bounded(MAX_WAITING);
        let hot: Vec<_> = std::iter::from_fn(|| queues.join("hot")).collect();
        assert_eq!(hot.len(), MAX_WAITING / 16);
        assert!(queues.join("cold").is_some(), "other keys wait as before");
        let few = WaitQueue::bounded(3);
        let first = few.join("a");
        assert!(first.is_some() && few.join("a").is_none() && few.join("b").is_some());
    }

    /// However many threads join, never more than the bound wait, and no position is lost.
    #[test]
    fn the_bound_holds_for_threads() {
        let queues = WaitQueue::bounded(48);
        thread::scope(|scope| {
            for thread in 0..8_u64 {
                let queues = &queues;
                scope.spawn(move || {
                    for round in 0..5_000 {
                        let tickets: Vec<_> =
                            (0..10).map(|n| queues.join((thread + round + n) % 4)).collect();
                        let state = queues.lock();
                        assert!(state.waiters <= 48);
                        assert!(state.queues.values().all(|queue| queue.waiters <= 3));
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
        let ticket = queues.join("key").expect("room");
        let turn = ticket.turn().await;
        let (mut tasks, mut handles) = (JoinSet::new(), Vec::new());
        for n in 0..7 {
            let (queues, order) = (queues.clone(), order.clone());
            handles.push(tasks.spawn(async move {
                let ticket = queues.join("key").expect("room");
                let _turn = ticket.turn().await;
                order.lock().expect("no panic").push(n);
            }));
            yield_now().await;
        }
        assert!(queues.join("key").is_none(), "the queue is full");
        // The next, one in the middle, and the last.
        [0, 3, 6].into_iter().for_each(|n: usize| handles[n].abort());
        while queues.lock().waiters > 5 {
            yield_now().await;
        }
        assert!(queues.join("key").is_some(), "their positions are free");
        drop(turn);
        drop(ticket);
        while tasks.join_next().await.is_some() {}
        assert_eq!(*order.lock().expect("no panic"), [1, 2, 4, 5]);
        assert!(is_empty(&queues));
    }
}

//! Wait queue of each key: first come, first served.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// The lines in front of keys that somebody waits for; a key without a line takes no memory.
#[derive(Debug)]
pub(crate) struct WaitQueue<K: Eq + Hash + Clone> {
    inside: Mutex<QueueState<K>>,
    most: usize,
}

#[derive(Debug)]
struct QueueState<K> {
    lines: HashMap<K, KeyQueue>,
    /// Of all lines together.
    places: usize,
}

/// Whose turn it is, and how many wait or have it. Counted under the lock: those who leave at the same time would each take
/// the other's hold on the turn for that of somebody who stays.
#[derive(Default, Debug)]
struct KeyQueue {
    turn: Arc<Turn<()>>,
    places: usize,
}

/// A place in the line of one key, until it is dropped. The line goes with its last place.
#[derive(Debug)]
pub(crate) struct Ticket<'a, K: Eq + Hash + Clone> {
    lines: &'a WaitQueue<K>,
    key: K,
    turn: Arc<Turn<()>>,
}

impl<K: Eq + Hash + Clone> Default for WaitQueue<K> {
    /// Unbounded queue.
    fn default() -> Self {
        Self::bounded(usize::MAX)
    }
}

impl<K: Eq + Hash + Clone> WaitQueue<K> {
    /// Queue bounded to this many waiters over all keys.
    pub(crate) fn bounded(most: usize) -> Self {
        Self { inside: Mutex::new(QueueState { lines: HashMap::new(), places: 0 }), most }
    }

    /// A place at the end of a line, unless all are taken.
    pub(crate) fn join(&self, key: K) -> Option<Ticket<'_, K>> {
        let mut inside = self.lock();
        if inside.places >= self.most {
            return None;
        }
        inside.places += 1;
        let line = inside.lines.entry(key.clone()).or_default();
        line.places += 1;
        let turn = line.turn.clone();
        drop(inside);
        Some(Ticket { lines: self, key, turn })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<K>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Clone> Ticket<'_, K> {
    /// Waits for the turn, which lasts until what this gives is dropped. Turns come in the order in which they were first waited for.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }
}

impl<K: Eq + Hash + Clone> Drop for Ticket<'_, K> {
    fn drop(&mut self) {
        let mut inside = self.lines.lock();
        let Some(line) = inside.lines.get_mut(&self.key) else { return };
        line.places -= 1;
        if line.places == 0 {
            inside.lines.remove(&self.key);
        }
        inside.places -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::task::{JoinSet, yield_now};

    use super::*;

    fn is_empty<K: Eq + Hash + Clone>(lines: &WaitQueue<K>) -> bool {
        let inside = lines.lock();
        inside.lines.is_empty() && inside.places == 0
    }

    /// Threads that join and leave the same lines at the same time leave none behind.
    #[test]
    fn a_line_goes_with_its_last_place() {
        let lines = WaitQueue::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in 0..20_000_u64 {
                        drop(lines.join(key % 8).expect("there is no bound"));
                    }
                });
            }
        });
        assert!(is_empty(&lines));
    }

    #[test]
    fn all_lines_together_have_a_bound() {
        let lines = WaitQueue::bounded(3);
        let first = lines.join("a");
        let others = [lines.join("a"), lines.join("b")];
        assert!(first.is_some() && others.iter().all(Option::is_some));
        assert!(lines.join("a").is_none() && lines.join("c").is_none());
        drop(first);
        let again = lines.join("c");
        assert!(again.is_some(), "a place that was given up is free");
        assert!(lines.join("c").is_none());
        drop((others, again));
        assert!(is_empty(&lines));
        assert!(WaitQueue::bounded(0).join("a").is_none());
    }

    /// However many threads push, never more than the bound are inside, and no place is lost.
    #[test]
    fn the_bound_holds_for_threads() {
        let lines = WaitQueue::bounded(3);
        thread::scope(|scope| {
            for thread in 0..8_u64 {
                let lines = &lines;
                scope.spawn(move || {
                    for round in 0..5_000 {
                        let place = lines.join((thread + round) % 4);
                        assert!(lines.lock().places <= 3);
                        drop(place);
                    }
                });
            }
        });
        assert!(is_empty(&lines));
    }

    #[tokio::test]
    async fn turns_come_in_order_and_who_gives_up_leaves_the_line() {
        let lines = Arc::new(WaitQueue::bounded(8));
        let order = Arc::new(Mutex::new(Vec::new()));
        let place = lines.join("key").expect("a place");
        let turn = place.turn().await;
        let (mut tasks, mut handles) = (JoinSet::new(), Vec::new());
        for n in 0..7 {
            let (lines, order) = (lines.clone(), order.clone());
            handles.push(tasks.spawn(async move {
                let place = lines.join("key").expect("a place");
                let _turn = place.turn().await;
                order.lock().expect("no panic").push(n);
            }));
            yield_now().await;
        }
        assert!(lines.join("key").is_none(), "all places are taken");
        // The next, one in the middle, and the last.
        [0, 3, 6].into_iter().for_each(|n: usize| handles[n].abort());
        while lines.lock().places > 5 {
            yield_now().await;
        }
        assert!(lines.join("key").is_some(), "theirs are free");
        drop(turn);
        drop(place);
        while tasks.join_next().await.is_some() {}
        assert_eq!(*order.lock().expect("no panic"), [1, 2, 4, 5]);
        assert!(is_empty(&lines));
    }
}

//! Requests that keep coming, and what came of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use slidegate::store::redis::RedisError;
use slidegate::{Limit, Redis, Space};
use slidegate_testkit::servers::wait_for;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::redis::cross_slot::{Subject, ask, remaining};

/// More than ever comes.
pub(crate) const QUOTA: u32 = 10_000_000;
/// Requests under way at a time, of each sort.
const AT_ONCE: usize = 8;

pub(crate) fn plenty() -> Limit {
    Limit::per_hour(QUOTA)
}

/// Requests of one sort that come until this is told to stop. Each costs every subject one unit.
pub(crate) struct Load {
    state: Arc<State>,
    tasks: Vec<JoinHandle<()>>,
}

struct State {
    store: Redis,
    space: Space,
    subjects: Vec<Subject>,
    stops: AtomicBool,
    admitted: AtomicU64,
    errors: Mutex<Vec<RedisError>>,
}

/// What came of all requests of one sort.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) admitted: u64,
    /// Those that may or may not have been charged.
    pub(crate) errors: Vec<RedisError>,
    /// What every subject was charged.
    pub(crate) charged: Vec<u64>,
}

impl Load {
    /// `name` tells it from other loads on the same subjects.
    pub(crate) fn start(runtime: &Runtime, store: &Redis, name: &str, subjects: &[&Subject]) -> Self {
        let state = Arc::new(State {
            store: store.clone(),
            space: Space::named(name),
            subjects: subjects.iter().copied().cloned().collect(),
            stops: AtomicBool::new(false),
            admitted: AtomicU64::new(0),
            errors: Mutex::default(),
        });
        let tasks = (0..AT_ONCE).map(|_| runtime.spawn(state.clone().keep_asking())).collect();
        Self { state, tasks }
    }

    pub(crate) fn admitted(&self) -> u64 {
        self.state.admitted.load(Ordering::SeqCst)
    }

    pub(crate) fn errors(&self) -> usize {
        self.state.errors.lock().len()
    }

    /// Until so many more were admitted: more than were under way at this time.
    pub(crate) fn goes_on(&self) {
        let enough = self.admitted() + 5 * AT_ONCE as u64;
        wait_for("requests that are admitted", || match self.admitted() {
            admitted if admitted >= enough => Ok(()),
            admitted => Err(format!("{admitted} of {enough}, {:?}", self.state.errors.lock().last())),
        });
    }

    /// Lets those under way come to their end, and looks at what is charged then.
    pub(crate) fn stop(self, runtime: &Runtime) -> Tally {
        self.state.stops.store(true, Ordering::SeqCst);
        runtime.block_on(async {
            for task in self.tasks {
                task.await.expect("a task that ends");
            }
            let mut charged = Vec::new();
            for subject in &self.state.subjects {
                let left = remaining(&self.state.store, self.state.space, subject).await;
                let used: Vec<u64> = left.into_iter().map(|left| u64::from(QUOTA) - left).collect();
                assert!(used.iter().all(|other| *other == used[0]), "limits of one subject differ: {used:?}");
                charged.push(used[0]);
            }
            let admitted = self.state.admitted.load(Ordering::SeqCst);
            Tally { admitted, errors: self.state.errors.lock().clone(), charged }
        })
    }
}

impl State {
    async fn keep_asking(self: Arc<Self>) {
        let costs: Vec<(&Subject, u64)> = self.subjects.iter().map(|subject| (subject, 1)).collect();
        while !self.stops.load(Ordering::SeqCst) {
            match ask(&self.store, self.space, &costs).await {
                Ok(verdict) => {
                    assert!(verdict.is_allowed(), "there is room for all: {verdict:?}");
                    self.admitted.fetch_add(1, Ordering::SeqCst);
                }
                Err(error) => {
                    self.errors.lock().push(error);
                    // Who is refused at once would ask at every moment.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        }
    }
}

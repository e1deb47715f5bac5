//! A contender that is asked through the whole library, by tasks of one thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use slidegate::Limit;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::ours::Limiter;
use super::question::subject;
use super::server::Server;
use super::turns::{Contender, Tally};

/// Number of subjects, and of concurrent checks.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// Number of subjects.
    pub subjects: u64,
    /// Number of concurrent tasks.
    pub at_once: usize,
}

/// A limiter, and the thread on which its tasks run.
pub struct Library {
    name: &'static str,
    runtime: Runtime,
    limiter: Arc<Limiter>,
    /// Keys of each task, in order.
    tasks: Vec<Arc<[String]>>,
}

impl Library {
    /// Connects.
    pub fn new(server: &Server, name: &'static str, limits: &[Limit], checks: Checks) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        let limiter = Arc::new(Limiter::new(&server.url(), limits));
        let subjects_of = |task: usize| {
            let ids = (task as u64..checks.subjects).step_by(checks.at_once);
            // Two contenders must not come with the same subjects.
            ids.map(|id| format!("{}:{}", checks.at_once, subject(id))).collect()
        };
        Self { name, runtime, limiter, tasks: (0..checks.at_once).map(subjects_of).collect() }
    }

    /// Checks the first subject of a task.
    pub fn check(&self, task: usize) -> bool {
        self.runtime.block_on(self.limiter.check(&self.tasks[task][0]))
    }
}

impl Contender for Library {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sweep(&mut self, tally: &mut Tally) {
        self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for subjects in &self.tasks {
                tasks.spawn(check_all(self.limiter.clone(), subjects.clone()));
            }
            for (admitted, trip) in tasks.join_all().await.into_iter().flatten() {
                tally.decisions += 1;
                tally.admitted += usize::from(admitted);
                tally.trips.push(trip);
            }
        });
    }
}

/// Checks one subject after the other: whether it may pass, and how long that took.
async fn check_all(limiter: Arc<Limiter>, subjects: Arc<[String]>) -> Vec<(bool, Duration)> {
    let mut checked = Vec::with_capacity(subjects.len());
    for subject in subjects.iter() {
        let start = Instant::now();
        let admitted = limiter.check(subject).await;
        checked.push((admitted, start.elapsed()));
    }
    checked
}

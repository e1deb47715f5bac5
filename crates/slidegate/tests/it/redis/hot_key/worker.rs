//! One of the processes: many connections that all ask for the same key.

use std::env;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use slidegate::store::redis::RedisConfig;
use slidegate::store::{Charge, ChargeRequest};
use slidegate::{Key, Redis, Source, Space, Store, Verdict};
use slidegate_testkit::cases::number;
use tempfile::{NamedTempFile, TempPath};
use tokio::task::JoinSet;

use super::answers::Answer;
use super::{CONNECTIONS, limit};

const SERVER: &str = "SLIDEGATE_HOT_SERVER";
const EACH: &str = "SLIDEGATE_HOT_EACH";
const ANSWERS: &str = "SLIDEGATE_HOT_ANSWERS";
const REMEMBERS: &str = "SLIDEGATE_HOT_REMEMBERS";

/// Whether a node may deny again by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denials {
    Uncached,
    Cached,
}

/// A process that runs, and the file that it writes its answers to.
pub(crate) struct Worker {
    child: Child,
    answers: TempPath,
}

/// Starts a copy of this program whose connections make so many requests each.
pub(crate) fn start(mut command: Command, url: &str, each: u64, denials: Denials) -> Worker {
    let answers = NamedTempFile::new().expect("a file").into_temp_path();
    command.env(SERVER, url).env(EACH, each.to_string()).env(ANSWERS, &answers).stdout(Stdio::null());
    if denials == Denials::Cached {
        command.env(REMEMBERS, "1");
    }
    Worker { child: command.spawn().expect("a program that can be run"), answers }
}

impl Worker {
    /// All answers that it got. It failed if any request did.
    pub(crate) fn answers(mut self) -> Vec<Answer> {
        let status = self.child.wait().expect("an end");
        assert!(status.success(), "a worker: {status}");
        Answer::read_all(&fs::read(&self.answers).expect("a file of answers"))
    }
}

/// The requests that a process makes.
pub(crate) struct Job {
    url: String,
    each: u64,
    denials: Denials,
    answers: PathBuf,
}

impl Job {
    /// The job of this process, if another one started it.
    pub(crate) fn of_this_process() -> Option<Self> {
        let url = env::var(SERVER).ok()?;
        let denials = if env::var_os(REMEMBERS).is_some() { Denials::Cached } else { Denials::Uncached };
        let answers = env::var_os(ANSWERS).expect("the path of a file").into();
        Some(Self { url, each: number(EACH).expect("how many"), denials, answers })
    }

    pub(crate) fn run(self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let answers = runtime.expect("a runtime").block_on(async {
            let mut tasks = JoinSet::new();
            for _ in 0..CONNECTIONS {
                tasks.spawn(ask(self.store(), self.each));
            }
            tasks.join_all().await
        });
        let mut output = BufWriter::new(File::create(self.answers).expect("a file of answers"));
        let mut answers = answers.into_iter().flatten();
        answers.try_for_each(|answer| answer.write(&mut output)).expect("an answer written");
        output.flush().expect("all answers written");
    }

    /// With a connection of its own. A busy machine is no failure.
    fn store(&self) -> Redis {
        let config = RedisConfig::parse(&self.url).expect("a URL");
        let config = config.timeout(Duration::from_secs(60)).connect_timeout(Duration::from_secs(60));
        Redis::new(&match self.denials {
            Denials::Uncached => config.deny_cache(Duration::ZERO),
            Denials::Cached => config,
        })
    }
}

async fn ask(store: Redis, requests: u64) -> Vec<Answer> {
    let (limits, key, mut answers) = ([limit()], Key::from("hot"), Vec::new());
    let charges = [Charge { space: Space::named(""), key: &key, limits: &limits, cost: 1 }];
    for _ in 0..requests {
        let from_ms = unix_ms();
        let call = ChargeRequest { now_ms: from_ms, holder: 0, charges: &charges };
        let verdict = store.decide(&call).await.expect("a decision");
        let answer = understand(&verdict, from_ms);
        answers.push(answer);
        if matches!(answer, Answer::Repeated { .. }) {
            // It cost nothing, and without a pause the rest of the requests would all fall into
            // this moment.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    answers
}

fn understand(verdict: &Verdict, from_ms: u64) -> Answer {
    let at_ms = verdict.decided_at_ms;
    match verdict.retry_after_ms() {
        None => Answer::Admitted { at_ms },
        Some(retry_after_ms) if verdict.source == Source::Cache => {
            Answer::Repeated { from_ms, to_ms: unix_ms(), retry_after_ms }
        }
        Some(retry_after_ms) => Answer::Denied { at_ms, retry_after_ms },
    }
}

/// As the server tells the time, which is on this machine.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a time after 1970").as_millis() as u64
}

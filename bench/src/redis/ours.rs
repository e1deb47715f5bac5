//! Slidegate, set up for the measurements against a server. Everything that the other files need of
//! it is here.

use std::rc::Rc;

use std::time::Duration;

use slidegate::store::redis::{RedisConfig, check_encoder::CheckEncoder};
use slidegate::{Limit, Redis};

use super::load::IN_FLIGHT;
use super::question::{Question, subject};
use super::resp::Reply;
use super::server::Server;

/// Timeout, long enough that a pause of a busy machine is no failure.
const PATIENCE: Duration = Duration::from_secs(5);

/// Contender with one call per decision, as from a node with one request at a time.
pub fn single(server: &Server, name: &'static str, limits: &[Limit]) -> Question {
    question(server, name, limits, 1)
}

/// Contender with one call for all requests in flight, as from a node with as many at a time.
pub fn coalesced(server: &Server, name: &'static str, limits: &[Limit]) -> Question {
    question(server, name, limits, IN_FLIGHT)
}

fn question(server: &Server, name: &'static str, limits: &[Limit], per_command: usize) -> Question {
    let encoder = Rc::new(CheckEncoder::new(&initials(name), limits));
    let mut connection = server.connect();
    connection.send(&encoder.load());
    connection.receive(1, |_| ());
    let reader = encoder.clone();
    let command = move |ids: &[u64]| {
        let subjects: Vec<String> = ids.iter().map(|id| subject(*id)).collect();
        let keys: Vec<_> = subjects.iter().map(|subject| subject.as_str().into()).collect();
        encoder.check(&keys)
    };
    let admitted = move |reply: Reply<'_>| match reply {
        Reply::Bytes(bytes) => reader.admitted(bytes).into_iter().filter(|admitted| *admitted).count(),
        other => panic!("{name}: {other:?} is no decision"),
    };
    Question { name, per_command, command: Box::new(command), admitted: Box::new(admitted) }
}

/// Name of the limiter, so that each contender has its own keys, no longer than those of the
/// textbook scripts.
fn initials(name: &str) -> String {
    name.split(' ').filter_map(|word| word.chars().next()).collect()
}

/// A limiter of the library. Without its fallback: a decision that the server had no part in must
/// not go unnoticed.
pub struct Limiter(slidegate::AsyncLimiter<Redis>);

impl Limiter {
    /// Limiter of these limits. It connects at its first check.
    pub fn new(url: &str, limits: &[Limit]) -> Self {
        let store =
            Redis::new(&RedisConfig::parse(url).expect("the server has an address").timeout(PATIENCE));
        let limiter = slidegate::Limiter::builder(limits.iter().copied()).store(store).build_async();
        Self(limiter.expect("the limits go together"))
    }

    /// Checks a key.
    pub async fn check(&self, key: &str) -> bool {
        self.0.check(key).await.expect("the server answers").is_allowed()
    }
}

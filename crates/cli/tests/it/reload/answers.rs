//! Requests all the time, and what must be true of their answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use slidegate_testkit::program::HttpRequest;

/// A policy that was right: from when to when it may have decided.
pub(crate) struct Generation {
    pub(crate) quota: u64,
    /// Before it was written.
    pub(crate) put_at: Instant,
    /// When it was first known to decide, and the one before it no more.
    pub(crate) active_at: Instant,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    sent_at: Instant,
    received_at: Instant,
    status: u16,
    /// `None`: no rule applied.
    quota: Option<u64>,
    /// What is counted of this client, and how many requests it has sent.
    used: u64,
    requests: u64,
}

pub(crate) struct Load {
    ends: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<Answered>>>,
}

impl Load {
    /// So many clients, each with a key of its own.
    pub(crate) fn start(server: SocketAddr, clients: u64) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let client = |number| {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                let going = || !ends.load(Ordering::Relaxed);
                (1..).take_while(|_| going()).map(|requests| ask(server, number, requests)).collect()
            })
        };
        let clients = (0..clients).map(client).collect();
        Self { ends, clients }
    }

    /// Every request has had an answer: one that fails panics in its client.
    pub(crate) fn stop(self) -> Vec<Answered> {
        self.ends.store(true, Ordering::Relaxed);
        self.clients
            .into_iter()
            .flat_map(|client| client.join().expect("all of its requests were answered"))
            .collect()
    }
}

fn ask(server: SocketAddr, client: u64, requests: u64) -> Answered {
    let body = format!(r#"{{"attributes":{{"ip":"198.51.100.{client}"}}}}"#);
    let sent_at = Instant::now();
    let reply = HttpRequest::post("/v1/check", &body).send(server);
    let received_at = Instant::now();
    let limit = reply.json()["limits"][0].clone();
    let number = |name: &str| limit[name].as_u64();
    let used = number("quota").zip(number("remaining")).map_or(0, |(quota, remaining)| quota - remaining);
    Answered { sent_at, received_at, status: reply.status, quota: number("quota"), used, requests }
}

/// What was written with a pause may have decided in part: of that time only the count is looked
/// at.
pub(crate) fn judge(answers: &[Answered], generations: &[Generation], paused: &[(Instant, Instant)]) {
    let mut uncounted = 0;
    for answer in answers {
        let Answered { sent_at, received_at, status, quota, used, requests } = *answer;
        let Some(index) = generations.iter().position(|one| Some(one.quota) == quota) else {
            // It takes a moment until what settled in part is put right.
            let since = |from: &Instant| received_at >= *from;
            let next = |from: &Instant| {
                generations.iter().map(|one| one.active_at).find(|active_at| active_at > from)
            };
            let was_paused = paused
                .iter()
                .any(|(from, _)| since(from) && next(from).is_none_or(|active_at| sent_at <= active_at));
            assert!(was_paused, "no policy that was right says this: {answer:?}");
            uncounted += u64::from(quota.is_none() || status != 200);
            continue;
        };
        assert_eq!(status, 200, "no quota is used up: {answer:?}");
        assert!(received_at >= generations[index].put_at, "it was not written yet: {answer:?}");
        let replaced_at = generations.get(index + 1).map(|next| next.active_at);
        assert!(
            replaced_at.is_none_or(|replaced_at| sent_at <= replaced_at),
            "it was replaced before: {answer:?}"
        );
        if uncounted == 0 {
            assert_eq!(used, requests, "all that was admitted is counted: {answer:?}");
        }
    }
}

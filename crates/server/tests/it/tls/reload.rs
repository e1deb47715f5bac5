//! Certificates that change while requests flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustls::ClientConfig;
use slidegate_testkit::certificates::{Authority, CertificateFiles, Pem, Usage};
use tokio::task::JoinHandle;

use crate::tls::client::{Client, Manner};
use crate::tls::service::{Clients, Service};

/// How new files come to be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Swap {
    InPlace,
    ByRename,
    /// As Kubernetes does it.
    ByLink,
    /// The first half of the certificate, long before the second.
    InHalves,
    /// The key, long before the certificate.
    KeyFirst,
}

const SWAPS: [Swap; 5] = [Swap::InPlace, Swap::ByRename, Swap::ByLink, Swap::InHalves, Swap::KeyFirst];

/// What is there before the right one.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    NoPem,
    NoFile,
    /// A certificate of another key.
    Mismatch,
    Empty,
}

/// For every way ten swaps, half of them by way of something that cannot be used.
const BEFORE: [Option<Wrong>; 10] = [
    None,
    Some(Wrong::NoPem),
    None,
    Some(Wrong::Mismatch),
    None,
    Some(Wrong::NoFile),
    Some(Wrong::Empty),
    None,
    Some(Wrong::NoPem),
    None,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_request_fails_while_certificates_change() {
    let runs: Vec<JoinHandle<(u64, u64)>> = SWAPS.map(|swap| tokio::spawn(run(swap))).into();
    let (mut requests, mut connections) = (0, 0);
    for run in runs {
        let counted = run.await.expect("all is well");
        requests += counted.0;
        connections += counted.1;
    }
    assert!(requests > 1_000 && connections > 500, "{requests} requests, {connections} connections");
}

/// Ten swaps of one kind; how many requests there were meanwhile, and how many connections.
async fn run(swap: Swap) -> (u64, u64) {
    let authority = Authority::new("authority");
    let mut current = authority.sign(Usage::Server, 1);
    let files = CertificateFiles::of(&current);
    if swap == Swap::ByLink {
        files.mount(1, &current);
    }
    let service = Service::start(&files, Clients::Anybody).await;
    let config = Manner::trusting(&authority).config();
    let load = Load::start(&service, &config).await;
    for (serial, before) in (2..).zip(BEFORE) {
        if let Some(wrong) = before {
            break_them(&files, swap, serial, wrong, &current);
            refuses(&service, &config, &current).await;
        }
        let next = authority.sign(Usage::Server, serial);
        let reloads = service.state().reloads;
        put(&files, swap, serial, &next, &service).await;
        service.until("it is taken", |state| state.reloads == reloads + 1).await;
        let client = Client::connect(service.address, config.clone()).await.expect("a handshake");
        assert!(client.has_presented(&next), "{swap:?} {serial}");
        assert_eq!(service.state().last_error, None);
        current = next;
    }
    assert_eq!(service.state().refused, 0);
    load.end().await
}

/// Invalid files are reported, and new connections get the previous certificate.
async fn refuses(service: &Service, config: &Arc<ClientConfig>, current: &Pem) {
    service.until("it is told", |state| state.last_error.is_some()).await;
    let client = Client::connect(service.address, config.clone()).await.expect("a handshake");
    assert!(client.has_presented(current));
    let message = service.state().last_error.expect("an error");
    assert!(message.contains("tls.crt") || message.contains("tls.key"), "{message}");
}

fn break_them(files: &CertificateFiles, swap: Swap, serial: u64, wrong: Wrong, current: &Pem) {
    let another = Authority::new("nobody").sign(Usage::Server, 1_000 + serial);
    let certificate = match wrong {
        Wrong::NoPem => "-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n".to_owned(),
        Wrong::Mismatch => another.certificate,
        Wrong::Empty => String::new(),
        Wrong::NoFile => {
            return std::fs::remove_file(files.path("tls.crt")).expect("a file");
        }
    };
    let broken = Pem { certificate, key: current.key.clone() };
    match swap {
        Swap::ByLink => files.mount(1_000 + serial, &broken),
        Swap::ByRename => files.replace("tls.crt", &broken.certificate),
        _ => files.write("tls.crt", &broken.certificate),
    }
}

async fn put(files: &CertificateFiles, swap: Swap, serial: u64, next: &Pem, service: &Service) {
    let failures = service.state().failures;
    match swap {
        Swap::InPlace => {
            files.write("tls.key", &next.key);
            files.write("tls.crt", &next.certificate);
        }
        Swap::ByRename => {
            files.replace("tls.crt", &next.certificate);
            files.replace("tls.key", &next.key);
        }
        Swap::ByLink => files.mount(serial, next),
        Swap::InHalves => {
            files.write("tls.key", &next.key);
            files.write("tls.crt", &next.certificate[..next.certificate.len() / 2]);
            service.until("a half is noticed", |state| state.failures > failures).await;
            files.write("tls.crt", &next.certificate);
        }
        Swap::KeyFirst => {
            files.write("tls.key", &next.key);
            service.until("a stranger's key is noticed", |state| state.failures > failures).await;
            files.write("tls.crt", &next.certificate);
        }
    }
}

/// Requests on connections that stay, and on ever new ones.
struct Load {
    ended: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    async fn start(service: &Service, config: &Arc<ClientConfig>) -> Self {
        let (ended, requests, connections) = <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let mut client = Client::connect(service.address, config.clone()).await.expect("a handshake");
            let (ended, requests) = (Arc::clone(&ended), Arc::clone(&requests));
            tasks.push(tokio::spawn(async move {
                while !ended.load(Ordering::Relaxed) {
                    assert_eq!(client.check().await.expect("an answer on an old connection"), 200);
                    requests.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        let (address, config) = (service.address, config.clone());
        let (until, counted) = (Arc::clone(&ended), Arc::clone(&connections));
        tasks.push(tokio::spawn(async move {
            while !until.load(Ordering::Relaxed) {
                let mut client = Client::connect(address, config.clone()).await.expect("a handshake");
                assert_eq!(client.check().await.expect("an answer on a new connection"), 200);
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }));
        Self { ended, requests, connections, tasks }
    }

    async fn end(self) -> (u64, u64) {
        self.ended.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("no request failed");
        }
        (self.requests.load(Ordering::Relaxed), self.connections.load(Ordering::Relaxed))
    }
}

/// What operators ask for does not wait for a look at the files.
#[tokio::test]
async fn they_are_read_again_on_request() {
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    let service = Service::start(&files, Clients::Anybody).await;
    assert_eq!(service.app.reload_certificates().await.expect("files that are right"), 0);

    let next = authority.sign(Usage::Server, 2);
    files.write("tls.key", &next.key);
    let errors = service.app.reload_certificates().await.expect_err("half of a pair");
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().starts_with("server.tls: the key in "), "{}", errors[0]);
    assert_eq!(
        service.state().last_error.map(|error| format!("server.tls: {error}")),
        Some(errors[0].to_string())
    );

    files.write("tls.crt", &next.certificate);
    assert_eq!(service.app.reload_certificates().await.expect("files that are right"), 1);
    let client = Client::connect(service.address, Manner::trusting(&authority).config()).await;
    assert!(client.expect("a handshake").has_presented(&next));
    let state = service.state();
    assert_eq!((state.setting, state.reloads, state.last_error), ("server.tls", 1, None));
    assert!(state.failures >= 1 && state.loaded_at_ms > 0 && state.not_after_ms.is_some());
}

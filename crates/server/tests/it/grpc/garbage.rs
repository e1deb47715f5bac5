//! Bytes that mean nothing: connections end, and the service does not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use slidegate_testkit::cases::Rng;
use slidegate_testkit::http2::{PREFACE, Raw, SETTINGS, frame, head};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::grpc::client::LIMIT;
use crate::grpc::service::Service;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Frames of all kinds, some of them as they should be.
fn bytes(rng: &Rng) -> Vec<u8> {
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for _ in 0..rng.between(1, 20) {
        let stream = rng.pick(&[0, 1, 1, 3, 3, 5, rng.next() as u32]);
        let (kind, flags) = (rng.below(11) as u8, rng.pick(&[0, 1, 4, 5, rng.next() as u8]));
        let payload = match rng.below(4) {
            0 => head(LIMIT),
            1 => vec![0; rng.below(20) as usize],
            _ => (0..rng.below(60)).map(|_| rng.next() as u8).collect(),
        };
        bytes.extend(frame(kind, flags, stream, &payload));
    }
    for _ in 0..rng.below(3) {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = rng.next() as u8;
    }
    bytes.truncate(rng.between(1, bytes.len() as u64) as usize);
    bytes
}

#[tokio::test]
async fn nothing_panics_and_nobody_stays() {
    // Of this test: its service is in the same thread, and others run beside it.
    let (usual, mine) = (std::panic::take_hook(), std::thread::current().id());
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(usize::from(std::thread::current().id() == mine), Ordering::Relaxed);
        usual(info);
    }));
    let service = Service::bounded("head_timeout: 5s, idle_timeout: 5s").await;
    for seed in 0..2_000 {
        let rng = Rng::new(Rng::new(seed).next());
        let mut raw = Raw::connect(service.address).await;
        // The connection may end before everything is sent.
        let _cut = raw.0.write_all(&bytes(&rng)).await;
        if rng.one_in(4) {
            let _gone = raw.0.shutdown().await;
            let read = timeout(Duration::from_secs(30), raw.0.read_to_end(&mut Vec::new())).await;
            let _reset = read.unwrap_or_else(|_| panic!("seed {seed}: no end"));
        }
    }
    service.answers_others().await;
    service.until_open(0).await;
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

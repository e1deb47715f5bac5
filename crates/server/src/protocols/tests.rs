//! Fixtures of the tests of connections.

use std::future::Future;
use std::sync::Arc;

use slidegate::{ManualClock, Memory};

use crate::config::Config;
use crate::config::listener::Listener;
use crate::net::connections::Progress;
use crate::net::serve::Caller;
use crate::runtime::Runtime;
use crate::runtime::backend::Backend;
use crate::runtime::decider::Decider;

pub(crate) type TestDecider = Arc<Decider<ManualClock>>;

/// Decider of a policy over a store in memory, at a fixed time.
pub(crate) fn decider(policy: &str) -> TestDecider {
    let config = Config::parse("test.yaml", policy).unwrap_or_else(|errors| panic!("{errors}"));
    let runtime = Runtime::over(config, Backend::Memory(Memory::default())).expect("settings");
    Arc::clone(runtime.clock(ManualClock::new(1_745_000_103_000)).decider())
}

/// Local client of a listener.
pub(crate) fn caller(listener: Listener) -> Caller {
    Caller { listener, peer: [127, 0, 0, 1].into(), certificate: None, is_surplus: false }
}

/// Drives a connection as listeners do: in turns.
pub(crate) async fn in_turns<F: Future<Output = ()>>(
    decider: TestDecider,
    progress: Arc<Progress>,
    serve: impl FnOnce(TestDecider, Arc<Progress>) -> F,
) {
    let served = serve(Arc::clone(&decider), Arc::clone(&progress));
    decider.network().turns.share(&progress, served).await;
}

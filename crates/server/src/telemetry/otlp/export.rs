//! Export to a collector: spans as they come, metrics at an interval, and the rest at shutdown.
//!
//! Spans and numbers do not wait for each other. A collector that is away costs nothing but what does not fit into the queue.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout, timeout_at};

use super::client::SendFailure;
use super::exporter::{Exporter, Tracer};
use super::measures::{self, Gather};
use super::messages::{OtlpSpan, ResourceSpans, Scope, ScopeSpans, TracesRequest};

/// Maximum number of spans in a message.
const MAX_BATCH: usize = 512;
/// Time that a batch waits for more spans.
const LINGER: Duration = Duration::from_secs(1);
/// Number of tries, and the pause after the first; it doubles with each further one.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause, whatever a collector asks for.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Time limit of the last messages at shutdown.
const LAST: Duration = Duration::from_secs(3);

/// Tracer under way.
pub(crate) struct Exporting(Option<(watch::Sender<()>, JoinHandle<()>)>);

/// Begins to export, if a collector is set.
pub(crate) fn begin(tracer: &Tracer, gather: Gather) -> Exporting {
    let Some((exporter, spans)) =
        tracer.0.as_ref().and_then(|exporter| Some((exporter, exporter.spans.take()?)))
    else {
        return Exporting(None);
    };
    let (stop, stopped) = watch::channel(());
    let exporter = Arc::clone(exporter);
    let sending = tokio::spawn(async move {
        tokio::join!(traces(&exporter, spans, stopped.clone()), metrics(&exporter, &gather, stopped));
    });
    Exporting(Some((stop, sending)))
}

impl Exporting {
    /// Sends what is left, and gives up if that takes long.
    pub(crate) async fn end(self) {
        let Some((stop, mut sending)) = self.0 else { return };
        drop(stop);
        if timeout(LAST, &mut sending).await.is_err() {
            sending.abort();
            tracing::warn!("telemetry: the collector did not accept the last batch within {LAST:?}");
        }
    }
}

/// Sends spans until it is told to stop, and then those that are left.
async fn traces(exporter: &Exporter, mut queue: mpsc::Receiver<OtlpSpan>, mut stopped: watch::Receiver<()>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    loop {
        tokio::select! {
            biased;
            _told = stopped.changed(), if !queue.is_closed() => queue.close(),
            some = fill(&mut queue, &mut batch) => if some == 0 { return },
        }
        // What was taken before it was told to stop is still in the batch.
        if batch.len() < MAX_BATCH && queue.is_closed() {
            let room = MAX_BATCH - batch.len();
            queue.recv_many(&mut batch, room).await;
        }
        if !batch.is_empty() {
            deliver(exporter, std::mem::take(&mut batch), &mut stopped).await;
        }
    }
}

/// Waits for a span, and then a while for others. How many there are now; none if there will be none.
async fn fill(queue: &mut mpsc::Receiver<OtlpSpan>, batch: &mut Vec<OtlpSpan>) -> usize {
    if batch.is_empty() && queue.recv_many(batch, MAX_BATCH).await == 0 {
        return 0;
    }
    let until = Instant::now() + LINGER;
    while batch.len() < MAX_BATCH {
        let room = MAX_BATCH - batch.len();
        match timeout_at(until, queue.recv_many(batch, room)).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    batch.len()
}

/// Tries until the collector takes it, it never will, or it was tried often enough.
async fn deliver(exporter: &Exporter, spans: Vec<OtlpSpan>, stopped: &mut watch::Receiver<()>) {
    let count = spans.len() as u64;
    let message = TracesRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(exporter.resource.clone()),
            scope_spans: vec![ScopeSpans { scope: Some(Scope::own()), spans }],
        }],
    };
    let mut pause = FIRST_PAUSE;
    for left in (0..TRIES).rev() {
        match exporter.client.send("traces", &message).await {
            Ok(response) => {
                let partial = response.partial_success.unwrap_or_default();
                let rejected = u64::try_from(partial.rejected).unwrap_or_default().min(count);
                exporter.spans.count_sent(count - rejected);
                if rejected != 0 {
                    exporter.spans.count_dropped(rejected);
                    exporter.log_failure(
                        "traces",
                        &format!("it rejects {rejected} spans: {}", partial.error_message),
                    );
                }
                return;
            }
            Err(SendFailure::ForGood(why)) => {
                exporter.log_failure("traces", &why);
                break;
            }
            Err(SendFailure::ForNow { why, retry_after }) => {
                exporter.log_failure("traces", &why);
                // Whoever is told to stop tries no further.
                if left == 0 || stopped.has_changed().is_err() {
                    break;
                }
                let wait = retry_after.map_or(pause, |asked| asked.clamp(pause, MAX_PAUSE));
                tokio::select! {
                    () = sleep(wait) => {}
                    _told = stopped.changed() => {}
                }
                pause *= 2;
            }
        }
    }
    exporter.spans.count_dropped(count);
}

/// Sends numbers every while, and once more at the end. What is not taken is not sent again: the next ones have it all.
async fn metrics(exporter: &Exporter, gather: &Gather, mut stopped: watch::Receiver<()>) {
    let mut ticks = interval_at(Instant::now() + exporter.metrics_every, exporter.metrics_every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let ends = tokio::select! {
            _at = ticks.tick() => false,
            _told = stopped.changed() => true,
        };
        let message = measures::message(gather, exporter, SystemTime::now());
        match exporter.client.send("metrics", &message).await {
            Ok(response) => {
                let partial = response.partial_success.unwrap_or_default();
                if partial.rejected != 0 {
                    let why = format!("it rejects {} numbers: {}", partial.rejected, partial.error_message);
                    exporter.log_failure("metrics", &why);
                }
            }
            Err(SendFailure::ForNow { why, .. } | SendFailure::ForGood(why)) => {
                exporter.log_failure("metrics", &why);
            }
        }
        if ends {
            return;
        }
    }
}

//! Export to a collector: spans as they come, metrics at an interval, and the rest at shutdown.
//!
//! Spans and metrics do not wait for each other. An unavailable collector costs only the spans that
//! do not fit into the queue.

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

/// Handle of the export task.
pub(crate) struct ExportHandle(Option<(watch::Sender<()>, JoinHandle<()>)>);

/// Starts the export, if a collector is set.
pub(crate) fn begin(tracer: &Tracer, gather: Gather) -> ExportHandle {
    let Some((exporter, spans)) =
        tracer.0.as_ref().and_then(|exporter| Some((exporter, exporter.spans.take()?)))
    else {
        return ExportHandle(None);
    };
    let (stop, stopped) = watch::channel(());
    let exporter = Arc::clone(exporter);
    let sending = tokio::spawn(async move {
        tokio::join!(traces(&exporter, spans, stopped.clone()), metrics(&exporter, &gather, stopped));
    });
    ExportHandle(Some((stop, sending)))
}

impl ExportHandle {
    /// Sends the rest, within a time limit.
    pub(crate) async fn end(self) {
        let Some((stop, mut sending)) = self.0 else { return };
        drop(stop);
        if timeout(LAST, &mut sending).await.is_err() {
            sending.abort();
            tracing::warn!("telemetry: the collector did not accept the last batch within {LAST:?}");
        }
    }
}

/// Sends spans until shutdown, and then the rest.
async fn traces(exporter: &Exporter, mut queue: mpsc::Receiver<OtlpSpan>, mut stopped: watch::Receiver<()>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    loop {
        tokio::select! {
            biased;
            _ = stopped.changed(), if !queue.is_closed() => queue.close(),
            count = fill(&mut queue, &mut batch) => if count == 0 { return },
        }
        // Spans that were taken before the shutdown are still in the batch.
        if batch.len() < MAX_BATCH && queue.is_closed() {
            let room = MAX_BATCH - batch.len();
            queue.recv_many(&mut batch, room).await;
        }
        if !batch.is_empty() {
            deliver(exporter, std::mem::take(&mut batch), &mut stopped).await;
        }
    }
}

/// Waits for a span, and then a while for others. Returns their number; 0 at the end of the queue.
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

/// Sends a batch, with retries after temporary failures.
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
                        &format!("{rejected} spans rejected: {}", partial.error_message),
                    );
                }
                return;
            }
            Err(SendFailure::Permanent(why)) => {
                exporter.log_failure("traces", &why);
                break;
            }
            Err(SendFailure::Temporary { why, retry_after }) => {
                exporter.log_failure("traces", &why);
                // No retries after shutdown has begun.
                if left == 0 || stopped.has_changed().is_err() {
                    break;
                }
                let wait = retry_after.map_or(pause, |time| time.clamp(pause, MAX_PAUSE));
                tokio::select! {
                    () = sleep(wait) => {}
                    _ = stopped.changed() => {}
                }
                pause *= 2;
            }
        }
    }
    exporter.spans.count_dropped(count);
}

/// Sends metrics at an interval, and once more at shutdown. Failures are not retried: the next
/// message has the same counters.
async fn metrics(exporter: &Exporter, gather: &Gather, mut stopped: watch::Receiver<()>) {
    let mut ticks = interval_at(Instant::now() + exporter.metrics_every, exporter.metrics_every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_last = tokio::select! {
            _ = ticks.tick() => false,
            _ = stopped.changed() => true,
        };
        let message = measures::message(gather, exporter, SystemTime::now());
        match exporter.client.send("metrics", &message).await {
            Ok(response) => {
                let partial = response.partial_success.unwrap_or_default();
                if partial.rejected != 0 {
                    let why = format!("{} data points rejected: {}", partial.rejected, partial.error_message);
                    exporter.log_failure("metrics", &why);
                }
            }
            Err(SendFailure::Temporary { why, .. } | SendFailure::Permanent(why)) => {
                exporter.log_failure("metrics", &why);
            }
        }
        if is_last {
            return;
        }
    }
}

//! Sends a batch and distributes its reply.

use redis::Cmd;

use super::batching::{BatchKey, CallBatch};
use super::connection::{Connection, WireCommand};
use super::job::{Job, Redirection, ScriptRef};
use super::reply::{self, AttemptError, RetryStep};

/// End of a batch.
#[derive(Debug)]
pub(super) struct BatchEnd {
    pub(super) kind: Option<BatchKey>,
    /// True if the server answered that it is not a primary.
    pub(super) demoted: bool,
}

/// Sends a batch and distributes its reply.
pub(super) async fn send_batch(connection: Connection, batch: CallBatch) -> BatchEnd {
    let CallBatch { kind, jobs } = batch;
    let Some(call) = call(&jobs) else { return BatchEnd { kind, demoted: false } };
    let reply = match connection.send(&call).await {
        Ok(value) => reply::read(value, &connection.address),
        Err(failure) => Err(failure.into()),
    };
    let demoted = matches!(&reply, Err(AttemptError::Again { step: RetryStep::Demoted, .. }));
    distribute(jobs, reply);
    BatchEnd { kind, demoted }
}

/// `EVALSHA sha numkeys keys… head… arguments…`, with the keys and arguments of all requests one
/// after the other.
fn call(jobs: &[Job]) -> Option<WireCommand> {
    let first = jobs.first()?;
    let script = &first.invocation.script;
    let mut command = Cmd::new();
    match first.form {
        ScriptRef::Sha => command.arg("EVALSHA").arg(&script.sha),
        ScriptRef::Text => command.arg("EVAL").arg(&script.text),
    };
    command.arg(jobs.iter().map(|job| job.invocation.keys.len()).sum::<usize>());
    let keys = jobs.iter().flat_map(|job| &job.invocation.keys);
    let arguments = jobs.iter().flat_map(|job| &job.invocation.arguments);
    for bytes in keys.chain(&first.invocation.head).chain(arguments) {
        command.arg(bytes.as_slice());
    }
    Some(match first.manner {
        Redirection::Ordinary => WireCommand::Plain(command),
        Redirection::Asking => WireCommand::Asking(command),
    })
}

fn distribute(jobs: Vec<Job>, reply: Result<Vec<u8>, AttemptError>) {
    let record_bytes = jobs.first().and_then(|job| job.invocation.script.record_bytes);
    let parts = match record_bytes {
        Some(record_bytes) => reply.and_then(|reply| reply::split(&reply, record_bytes, jobs.len())),
        None => reply.map(|reply| vec![reply]),
    };
    match parts {
        Ok(parts) => jobs.into_iter().zip(parts).for_each(|(job, part)| job.answer(Ok(part))),
        Err(setback) => jobs.into_iter().for_each(|job| job.answer(Err(setback.clone()))),
    }
}

//! Leases of logs, by scripts of their own.

use std::time::Duration;

use slidegate_core::{LeaseClose, LeaseGrant, LeaseReply, LeaseRequest, Prepayment, Verdict};
use slidegate_store::{ChargeRequest, LeaseSubject, ReserveRequest};
use tokio::time::Instant;

use super::error::RedisError;
use super::invocation::Invocation;
use super::keys::{KeyOwner, KeyUse};
use super::plan::{Plan, SlotGroup};
use super::script::ScriptPurpose;
use super::{Inner, Redis, read, text};

/// Minimum timeout: nobody waits for these calls, and a lease ends without them.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of a grant: limit, free units and epoch in 7 bytes each, the time in 6.
const GRANT_BYTES: usize = 3 * 7 + 6;

impl Redis {
    /// Prepayments count if all keys are in one slot. Otherwise the request is charged without
    /// them.
    pub(super) async fn decide_prepaid_on_server(
        &self,
        call: &ChargeRequest<'_>,
        prepayments: &[Option<Prepayment>],
    ) -> Result<Verdict, RedisError> {
        let request = ReserveRequest::without_refunds(*call);
        let plan = self.0.plan(&request)?;
        let prepayments = plan.prepayments(prepayments);
        match (plan.groups.as_slice(), prepayments.as_slice()) {
            ([group], [prepayments]) if prepayments.iter().any(Option::is_some) => {
                self.0.decide_group_prepaid(&plan, group, prepayments).await
            }
            _ => self.decide_on_server(&request).await.map(|admission| admission.verdict),
        }
    }
}

impl Inner {
    async fn decide_group_prepaid(
        &self,
        plan: &Plan,
        group: &SlotGroup,
        prepayments: &[Option<Prepayment>],
    ) -> Result<Verdict, RedisError> {
        let mut invocation = self.invoke(ScriptPurpose::Prepaid, plan, group, Vec::new());
        for prepayment in prepayments {
            let prepayment = prepayment.unwrap_or(Prepayment { node: 0, sequence: 0, units: 0 });
            let Prepayment { node, sequence, units } = prepayment;
            invocation.arguments.extend([node.to_le_bytes().to_vec(), text(sequence), text(units)]);
        }
        let reply = self.link.call(invocation, self.deadline()).await?;
        Ok(plan.verdict(&[read(&reply, group)?]))
    }

    pub(super) async fn lease(
        &self,
        subject: &LeaseSubject<'_>,
        request: &LeaseRequest,
        now_ms: u64,
    ) -> Result<LeaseReply, RedisError> {
        let LeaseRequest { node, sequence, hold, want, demand, length_ms } = *request;
        let numbers = [sequence, hold, want, demand, length_ms].map(text);
        let own = [node.to_le_bytes().to_vec()].into_iter().chain(numbers).collect();
        let reply = self.call_lease(ScriptPurpose::Lease, subject, own, now_ms).await?;
        match reply.as_slice() {
            b"stale" => Ok(LeaseReply::Stale),
            b"full" => Ok(LeaseReply::Full { sequence }),
            bytes => read_grant(bytes, sequence).map(LeaseReply::Grant).ok_or_else(|| unreadable(bytes)),
        }
    }

    pub(super) async fn close_lease(
        &self,
        subject: &LeaseSubject<'_>,
        close: &LeaseClose,
        now_ms: u64,
    ) -> Result<bool, RedisError> {
        let mut own = vec![close.node.to_le_bytes().to_vec(), text(close.sequence)];
        own.extend(close.uses.iter().flat_map(|used| [text(used.age_ms), text(used.units)]));
        let reply = self.call_lease(ScriptPurpose::CloseLease, subject, own, now_ms).await?;
        match reply.as_slice() {
            b"closed" => Ok(true),
            b"stale" => Ok(false),
            bytes => Err(unreadable(bytes)),
        }
    }

    /// Calls a script on the key of a lease. `own` are the arguments of its purpose.
    async fn call_lease(
        &self,
        purpose: ScriptPurpose,
        subject: &LeaseSubject<'_>,
        own: Vec<Vec<u8>>,
        now_ms: u64,
    ) -> Result<Vec<u8>, RedisError> {
        let owner = KeyOwner::new(&self.prefix, subject.key());
        let keys = vec![owner.key(subject.space(), KeyUse::State(subject.limit().id()))];
        let cached = self.scripts.choose(purpose, &[*subject.limit()]);
        let mut head = own;
        self.push_time(&mut head, now_ms);
        head.extend(cached.numbers);
        let (script, slot, arguments) = (cached.script, owner.slot, Vec::new());
        let deadline = Instant::now() + self.timeout.max(PATIENCE);
        let invocation = Invocation { script, slot, head, keys, arguments };
        Ok(self.link.call(invocation, deadline).await?)
    }
}

fn read_grant(bytes: &[u8], sequence: u64) -> Option<LeaseGrant> {
    if bytes.len() != GRANT_BYTES {
        return None;
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let [limit, free, epoch, at_ms] = [0..7, 7..14, 14..21, 21..27].map(|range| number(&bytes[range]));
    Some(LeaseGrant { sequence, limit, free, epoch, at_ms })
}

fn unreadable(reply: &[u8]) -> RedisError {
    RedisError::Protocol(format!("{} bytes, expected the answer to a lease", reply.len()))
}

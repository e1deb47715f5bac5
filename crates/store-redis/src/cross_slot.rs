//! Requests with a ticket: those on several slots of a Cluster, and those under an idempotency key.
//!
//! A script cannot access keys of several slots. So slots are charged one after the other, in the
//! order of their numbers, and charges are undone if a later slot denies. Meanwhile another request
//! may be denied that would have fitted, and if the process ends in between, its charges stay until
//! they leave their windows.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::error::{CallFailure, RedisError};
use super::invocation::Invocation;
use super::keys::KeyOwner;
use super::link::SlotRouting;
use super::plan::{Plan, SlotGroup};
use super::script::ScriptPurpose;
use super::script_reply::ScriptReply;
use super::{Inner, Redis, TOO_MANY_OPEN, read, text};
use slidegate_store::Key;
use slidegate_store::idempotency::{MAX_IDEMPOTENCY_MS, digest, lifetime_ms};
use slidegate_store::random;
use slidegate_store::{Charge, ChargeRequest, IdempotentOutcome, ReserveRequest, Store};

/// First and longest pause before an undo is sent again; the pause doubles each time.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// Outcome of charging one group.
enum GroupOutcome {
    Decided(ScriptReply),
    /// Reply, and the id under which it was charged.
    Replayed(ScriptReply, [u8; 8]),
    Conflict,
    /// A subject has too many open permits.
    Full,
}

/// Ticket: the record of a request under an id, by which it is repeated or undone.
#[derive(Clone, Debug)]
struct ChargeTicket {
    id: Vec<u8>,
    /// Owner of its key, if not that of each group.
    owner: Option<KeyOwner>,
    /// Digest of the charges in all slots, which distinguishes requests under one id.
    digest: [u8; 8],
    /// Random id of the attempt.
    attempt: [u8; 8],
    lifetime_ms: u64,
}

impl ChargeTicket {
    /// Ticket of a request under a unique id.
    fn new() -> Self {
        let (id, lifetime_ms) = (random::<16>().to_vec(), MAX_IDEMPOTENCY_MS);
        Self { id, owner: None, digest: [0; 8], attempt: random(), lifetime_ms }
    }

    fn idempotent(idempotency_key: &[u8], charges: &[Charge<'_>], owner: Option<KeyOwner>) -> Self {
        let id = [b"once ", idempotency_key].concat();
        let digest = *digest(charges).first_chunk().expect("a digest has 16 bytes");
        Self { id, owner, digest, attempt: random(), lifetime_ms: lifetime_ms(charges) }
    }
}

impl Redis {
    /// Decides a request that its sender may send again.
    pub(super) async fn charge_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> Result<IdempotentOutcome, RedisError> {
        let (plan, call) = (self.0.plan(request)?, &request.charge);
        self.expect_undo(call);
        // Without slots, all requests under one key share one ticket. In a Cluster it has to be in
        // the slot of the charge: charges in other slots do not find it.
        let together = self.0.link.slots() == SlotRouting::Together;
        let owner = together.then(|| KeyOwner::new(&self.0.prefix, &Key::from("once")));
        let ticket = ChargeTicket::idempotent(idempotency_key, call.charges, owner);
        let charged = self.spawn(&plan, ticket).await?;
        // Groups are charged in turn, and the first identifies the request.
        let holder = match charged.first() {
            Some(GroupOutcome::Replayed(_, holder)) => Some(u64::from_le_bytes(*holder)),
            _ => None,
        };
        let mut rows = Vec::with_capacity(charged.len());
        for charged in charged {
            match charged {
                GroupOutcome::Decided(row) | GroupOutcome::Replayed(row, _) => rows.push(row),
                GroupOutcome::Conflict => return Ok(IdempotentOutcome::Conflict),
                GroupOutcome::Full => return Ok(IdempotentOutcome::Decided(plan.too_many_open())),
            }
        }
        let admission = plan.admission(&rows);
        Ok(match holder {
            Some(holder) if admission.is_admitted() => IdempotentOutcome::Replayed { admission, holder },
            _ => IdempotentOutcome::Decided(admission),
        })
    }

    /// Announces that charges may be undone, so that a denial by them may end early.
    pub(super) fn expect_undo(&self, call: &ChargeRequest<'_>) {
        call.charges.iter().for_each(|charge| self.expect_refunds(charge.space));
    }

    /// Decides a request in several slots; `None`, and nothing is charged, if a subject has too
    /// many open permits.
    pub(super) async fn decide_cross_slot(
        &self,
        plan: &Plan,
    ) -> Result<Option<Vec<ScriptReply>>, RedisError> {
        if plan.is_peek() {
            let rows = join_all(plan.groups.iter().map(|group| self.0.decide_group(plan, group))).await;
            return rows.into_iter().collect::<Result<_, _>>().map(Some);
        }
        let row = |charged| match charged {
            GroupOutcome::Decided(row) | GroupOutcome::Replayed(row, _) => Ok(Some(row)),
            GroupOutcome::Full => Ok(None),
            GroupOutcome::Conflict => Err(RedisError::Protocol("a ticket of another request".to_owned())),
        };
        self.spawn(plan, ChargeTicket::new()).await?.into_iter().map(row).collect()
    }

    /// Charges all groups in a task of its own: a caller that stops waiting must not leave a
    /// request half charged.
    async fn spawn(&self, plan: &Plan, ticket: ChargeTicket) -> Result<Vec<GroupOutcome>, RedisError> {
        let (inner, plan) = (self.0.clone(), plan.clone());
        let task = tokio::spawn(async move { inner.charge_all(&plan, &ticket).await });
        task.await.map_err(|error| RedisError::Lost(error.to_string()))?
    }
}

impl Inner {
    /// Charges every group in turn. If one denies, the charges of the others are undone.
    async fn charge_all(
        self: &Arc<Self>,
        plan: &Plan,
        ticket: &ChargeTicket,
    ) -> Result<Vec<GroupOutcome>, RedisError> {
        let deadline = self.deadline();
        let mut charged = Vec::with_capacity(plan.groups.len());
        let mut of_another = None;
        for (index, group) in plan.groups.iter().enumerate() {
            let plan = of_another.as_ref().unwrap_or(plan);
            let invocation = self.with_ticket(ScriptPurpose::Ticketed, plan, group, ticket);
            let answer = match self.link.call(invocation, deadline).await {
                Ok(reply) => read_outcome(&reply, group).map_err(CallFailure::MayHaveRun),
                Err(failure) => Err(failure),
            };
            match answer {
                Err(failure) => {
                    // A call that certainly did not run needs no undo.
                    let last = index + usize::from(matches!(failure, CallFailure::MayHaveRun(_)));
                    self.forget(plan, &plan.groups[..last], ticket);
                    return Err(failure.into());
                }
                Ok(refusal @ (GroupOutcome::Conflict | GroupOutcome::Full)) => {
                    let charged = plan.groups[..index].iter();
                    join_all(charged.map(|group| self.undo(plan, group, ticket, deadline))).await;
                    return Ok(vec![refusal]);
                }
                Ok(GroupOutcome::Decided(row)) if !row.is_admitted() => {
                    return self.withdraw(plan, ticket, (index, row), deadline).await;
                }
                Ok(admitted) => {
                    // The rest of a repeated request is charged under the first id: both have one
                    // permit.
                    if let GroupOutcome::Replayed(_, holder) = admitted
                        && index == 0
                    {
                        let mut same = plan.clone();
                        same.holder = holder;
                        of_another = Some(same);
                    }
                    charged.push(admitted);
                }
            }
        }
        Ok(charged)
    }

    /// Undoes the groups before the one that denied, and peeks at those after it.
    async fn withdraw(
        self: &Arc<Self>,
        plan: &Plan,
        ticket: &ChargeTicket,
        (denied, row): (usize, ScriptReply),
        deadline: Instant,
    ) -> Result<Vec<GroupOutcome>, RedisError> {
        // To undo a group that was never charged is a peek.
        let undo = async |(index, group): (usize, &SlotGroup)| match index {
            _ if index == denied => Ok(row.clone()),
            _ => self.undo(plan, group, ticket, deadline).await,
        };
        let rows = join_all(plan.groups.iter().enumerate().map(undo)).await;
        rows.into_iter().map(|row| row.map(GroupOutcome::Decided)).collect()
    }

    /// Undoes the request in a group; returns its state, as a peek does.
    async fn undo(
        self: &Arc<Self>,
        plan: &Plan,
        group: &SlotGroup,
        ticket: &ChargeTicket,
        deadline: Instant,
    ) -> Result<ScriptReply, RedisError> {
        let invocation = self.with_ticket(ScriptPurpose::Undo, plan, group, ticket);
        let reply = self.link.call(invocation, deadline).await;
        if reply.is_err() {
            self.forget(plan, std::slice::from_ref(group), ticket);
        }
        read(&reply?, group)
    }

    /// Undoes the request in these groups in the background.
    fn forget(self: &Arc<Self>, plan: &Plan, groups: &[SlotGroup], ticket: &ChargeTicket) {
        for group in groups {
            let undo = self.with_ticket(ScriptPurpose::Undo, plan, group, ticket);
            tokio::spawn(self.clone().insist(undo, ticket.lifetime_ms));
        }
    }

    /// Sends an undo until the server answers or the ticket expires. It is idempotent, so that even
    /// a call that may have run is sent again.
    async fn insist(self: Arc<Self>, undo: Invocation, lifetime_ms: u64) {
        let (end, [mut pause, longest]) = (Instant::now() + Duration::from_millis(lifetime_ms), PAUSES);
        while Instant::now() < end {
            if self.link.call(undo.clone(), self.deadline()).await.is_ok() {
                return;
            }
            sleep(pause).await;
            pause = (2 * pause).min(longest);
        }
        tracing::warn!("a request was not taken back: what it charged stays until it has left its windows");
    }

    fn with_ticket(
        &self,
        purpose: ScriptPurpose,
        plan: &Plan,
        group: &SlotGroup,
        ticket: &ChargeTicket,
    ) -> Invocation {
        let mut own = vec![ticket.digest.to_vec(), text(ticket.lifetime_ms), ticket.attempt.to_vec()];
        if purpose == ScriptPurpose::Undo {
            own.push(plan.holder.to_vec());
        }
        let mut invocation = self.invoke(purpose, plan, group, own);
        let owner = ticket.owner.as_ref().unwrap_or(&group.owner);
        invocation.keys.insert(0, owner.ticket(&ticket.id));
        invocation
    }
}

fn read_outcome(reply: &[u8], group: &SlotGroup) -> Result<GroupOutcome, RedisError> {
    match reply {
        b"conflict" => Ok(GroupOutcome::Conflict),
        TOO_MANY_OPEN => Ok(GroupOutcome::Full),
        // An attempt is undone only by its own caller.
        b"undone" => Err(RedisError::Protocol("the request was already undone".to_owned())),
        _ => match reply.strip_prefix(b"replayed") {
            Some(stored) => {
                let (holder, row) = stored.split_first_chunk().ok_or_else(too_short)?;
                Ok(GroupOutcome::Replayed(read(row, group)?, *holder))
            }
            None => read(reply, group).map(GroupOutcome::Decided),
        },
    }
}

fn too_short() -> RedisError {
    RedisError::Protocol("truncated ticket".to_owned())
}

//! Requests with a ticket: those on several slots of a Cluster, and those under an idempotency key.
//!
//! No script reaches beyond a slot. So slots are charged one after the other, in the order of their
//! numbers, and what was charged is taken back if a later one refuses. Meanwhile another request
//! may be refused that would have fitted, and if the process ends in between, what it charged stays
//! until it has left its windows.

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

/// The pause before a server that did not answer is told again to undo something; it doubles up to
/// the other.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// Outcome of charging one group.
enum GroupOutcome {
    Decided(ScriptReply),
    /// And the id under which it was charged.
    Replayed(ScriptReply, [u8; 8]),
    Conflict,
    /// A subject has no room for its permit.
    Full,
}

/// Ticket: the record of a request under an id, by which it is repeated or undone.
#[derive(Clone, Debug)]
struct ChargeTicket {
    id: Vec<u8>,
    /// Whose key it is, if not that of every group.
    owner: Option<KeyOwner>,
    /// Tells requests under one id apart: all that is asked, in other slots too.
    asked: [u8; 8],
    /// Tells attempts under one id apart.
    attempt: [u8; 8],
    lifetime_ms: u64,
}

impl ChargeTicket {
    /// For a request under an id that no other has.
    fn new() -> Self {
        let (id, lifetime_ms) = (random::<16>().to_vec(), MAX_IDEMPOTENCY_MS);
        Self { id, owner: None, asked: [0; 8], attempt: random(), lifetime_ms }
    }

    fn once(idempotency_key: &[u8], charges: &[Charge<'_>], owner: Option<KeyOwner>) -> Self {
        let id = [b"once ", idempotency_key].concat();
        let asked = *digest(charges).first_chunk().expect("a digest has 16 bytes");
        Self { id, owner, asked, attempt: random(), lifetime_ms: lifetime_ms(charges) }
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
        // Where slots do not matter, all requests under one key find one ticket, whomever they
        // charge. In a Cluster it has to lie where the charge is: other charges elsewhere do not
        // find it.
        let together = self.0.link.slots() == SlotRouting::Together;
        let owner = together.then(|| KeyOwner::new(&self.0.prefix, &Key::from("once")));
        let ticket = ChargeTicket::once(idempotency_key, call.charges, owner);
        let charged = self.spawn(&plan, ticket).await?;
        // Groups are charged in turn, and the first says whose request it is.
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

    /// What is charged under a ticket may be taken back, so that a denial by it may end early.
    pub(super) fn expect_undo(&self, call: &ChargeRequest<'_>) {
        call.charges.iter().for_each(|charge| self.expect_refunds(charge.space));
    }

    /// Decides a request in several slots; `None` if a subject has no room for its permit, and
    /// nothing was charged.
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

    /// In a task of its own: a caller that stops waiting must not leave a request half charged.
    async fn spawn(&self, plan: &Plan, ticket: ChargeTicket) -> Result<Vec<GroupOutcome>, RedisError> {
        let (inner, plan) = (self.0.clone(), plan.clone());
        let task = tokio::spawn(async move { inner.charge_all(&plan, &ticket).await });
        task.await.map_err(|error| RedisError::Lost(error.to_string()))?
    }
}

impl Inner {
    /// Charges every group in turn; where one refuses, the others are as if they had not been
    /// asked.
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
                    // What surely did not run needs no undoing.
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
                    // Where the same request came before, the rest of it is charged under the same
                    // id: both have one permit.
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

    /// Takes back what the groups before the one that refused were charged, and asks those after it
    /// what they would have said.
    async fn withdraw(
        self: &Arc<Self>,
        plan: &Plan,
        ticket: &ChargeTicket,
        (refused, row): (usize, ScriptReply),
        deadline: Instant,
    ) -> Result<Vec<GroupOutcome>, RedisError> {
        // A group that was never charged loses nothing by being told to forget.
        let ask = async |(index, group): (usize, &SlotGroup)| match index {
            _ if index == refused => Ok(row.clone()),
            _ => self.undo(plan, group, ticket, deadline).await,
        };
        let rows = join_all(plan.groups.iter().enumerate().map(ask)).await;
        rows.into_iter().map(|row| row.map(GroupOutcome::Decided)).collect()
    }

    /// Has a group forget the request, and say where it stands.
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

    /// Has these groups forget the request, in the background: nobody waits for that.
    fn forget(self: &Arc<Self>, plan: &Plan, groups: &[SlotGroup], ticket: &ChargeTicket) {
        for group in groups {
            let undo = self.with_ticket(ScriptPurpose::Undo, plan, group, ticket);
            tokio::spawn(self.clone().insist(undo, ticket.lifetime_ms));
        }
    }

    /// Has a request forgotten by a server that may not answer, as soon as it does, while there is
    /// something to forget. Twice is the same as once here, so that even what may have run is sent
    /// again.
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
        let mut own = vec![ticket.asked.to_vec(), text(ticket.lifetime_ms), ticket.attempt.to_vec()];
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
        // An attempt is undone only by the one who makes it.
        b"undone" => Err(RedisError::Protocol("the request was already undone".to_owned())),
        _ => match reply.strip_prefix(b"replayed") {
            Some(kept) => {
                let (holder, row) = kept.split_first_chunk().ok_or_else(too_short)?;
                Ok(GroupOutcome::Replayed(read(row, group)?, *holder))
            }
            None => read(reply, group).map(GroupOutcome::Decided),
        },
    }
}

fn too_short() -> RedisError {
    RedisError::Protocol("truncated ticket".to_owned())
}

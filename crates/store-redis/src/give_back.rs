//! Units given back without a permit, by slot.

use futures_util::future::join_all;
use slidegate_core::Verdict;

use super::error::RedisError;
use super::plan::{Plan, SlotGroup};
use super::script::ScriptPurpose;
use super::script_reply::ScriptReply;
use super::{Inner, read};
use slidegate_store::{ChargeRequest, ReserveRequest};

impl Inner {
    /// Gives units back in every slot. Denials of such a space are not cached. If one slot does not
    /// answer, the others are not undone, since that might deny requests that fit.
    pub(super) async fn give_back(&self, call: &ChargeRequest<'_>) -> Result<Verdict, RedisError> {
        let plan = self.plan(&ReserveRequest::without_refunds(*call))?;
        let rows = join_all(plan.groups.iter().map(|group| self.give_back_to(&plan, group))).await;
        let rows = rows.into_iter().collect::<Result<Vec<ScriptReply>, RedisError>>()?;
        Ok(plan.verdict(&rows))
    }

    async fn give_back_to(&self, plan: &Plan, group: &SlotGroup) -> Result<ScriptReply, RedisError> {
        let invocation = self.invoke(ScriptPurpose::GiveBack, plan, group, Vec::new());
        let reply = self.link.call(invocation, self.deadline()).await?;
        read(&reply, group)
    }
}

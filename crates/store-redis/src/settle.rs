//! Settlements and refunds, by subject.

use futures_util::future::join_all;
use slidegate_core::{Limit, MAX_QUOTA, Receipt};

use super::error::RedisError;
use super::invocation::Invocation;
use super::keys::{KeyOwner, KeyUse};
use super::script::ScriptPurpose;
use super::script_reply::NO_NUMBER;
use super::{Inner, text};
use slidegate_store::{ChargeRecord, SettleOutcome, Settlement, settle_limit};

impl Inner {
    /// Settles every subject by itself, even if one fails. A settlement that was interrupted
    /// continues when it is repeated.
    pub(super) async fn settle(&self, settlement: &Settlement<'_>) -> Result<Vec<SettleOutcome>, RedisError> {
        let each = settlement.subjects.iter().map(|charged| self.settle_one(settlement, charged));
        join_all(each).await.into_iter().collect()
    }

    async fn settle_one(
        &self,
        settlement: &Settlement<'_>,
        charged: &ChargeRecord<'_>,
    ) -> Result<SettleOutcome, RedisError> {
        let reply = self.link.call(self.settle_call(settlement, charged), self.deadline()).await?;
        match reply.as_slice() {
            b"settled" => Ok(SettleOutcome::Settled),
            b"expired" => Ok(SettleOutcome::Expired),
            b"spent" => Ok(SettleOutcome::AlreadySpent),
            b"void" => Ok(SettleOutcome::Void),
            _ => Err(RedisError::Protocol(format!("{} bytes, expected a settlement", reply.len()))),
        }
    }

    fn settle_call(&self, settlement: &Settlement<'_>, charged: &ChargeRecord<'_>) -> Invocation {
        let owner = KeyOwner::new(&self.prefix, &charged.key);
        let receipts = charged.receipts.iter();
        let (limits, receipts): (Vec<Limit>, Vec<Receipt>) =
            receipts.filter_map(|(id, receipt)| Some((settle_limit(*id)?, *receipt))).unzip();
        let cached = self.scripts.choose(ScriptPurpose::Settle, &limits);
        let mut head = vec![settlement.id.to_le_bytes().to_vec(), text(charged.release_ms())];
        head.extend([settlement.cost, settlement.slots].map(|units| text(units.min(MAX_QUOTA))));
        head.push(charged.grant.generation.to_le_bytes().to_vec());
        head.push(text(charged.grant.number.unwrap_or(NO_NUMBER)));
        self.push_time(&mut head, settlement.now_ms);
        head.extend(cached.numbers);
        let mut keys = vec![owner.key(charged.space, KeyUse::OpenPermits)];
        keys.extend(limits.iter().map(|limit| owner.key(charged.space, KeyUse::State(limit.id()))));
        let arguments = receipts.iter().flat_map(|receipt| [text(receipt.stamp_ms), text(receipt.cost)]);
        Invocation { script: cached.script, slot: owner.slot, head, keys, arguments: arguments.collect() }
    }
}

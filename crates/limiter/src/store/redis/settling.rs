//! Refunds and settlements: subject by subject.

use slidegate_core::{Limit, MAX_QUOTA, Receipt};

use super::error::RedisError;
use super::invocation::Invocation;
use super::keys::{Owner, Use};
use super::script::Purpose;
use super::{Inner, text};
use crate::key::{Key, Space};
use crate::store::{SettleOutcome, Settlement, stand_in};

/// What a permit recorded for one subject.
struct Subject<'a> {
    space: Space,
    key: &'a Key<'a>,
    receipts: Vec<(Limit, Receipt)>,
}

impl Inner {
    /// A permit that was used is refused by its first subject, so that nothing is settled twice.
    pub(super) async fn settle(&self, settlement: &Settlement<'_>) -> Result<SettleOutcome, RedisError> {
        let mut outcome = SettleOutcome::Expired;
        for subject in subjects(settlement) {
            let reply = self.link.call(self.settle_call(settlement, &subject), self.deadline()).await?;
            match reply.as_slice() {
                b"settled" => outcome = SettleOutcome::Settled,
                b"expired" => {}
                b"spent" => return Ok(SettleOutcome::AlreadySpent),
                b"full" => return Ok(SettleOutcome::TooManySpent),
                _ => return Err(RedisError::Protocol(format!("{} bytes that settle nothing", reply.len()))),
            }
        }
        Ok(outcome)
    }

    fn settle_call(&self, settlement: &Settlement<'_>, subject: &Subject<'_>) -> Invocation {
        let owner = Owner::new(&self.prefix, subject.key);
        let limits: Vec<Limit> = subject.receipts.iter().map(|(limit, _)| *limit).collect();
        let chosen = self.scripts.choose(Purpose::Settle, &limits);
        let release_ms = subject.receipts.iter().map(|(limit, receipt)| receipt.release_ms(limit)).max();
        let cost = settlement.cost.min(MAX_QUOTA);
        let mut head = vec![settlement.id.to_le_bytes().to_vec(), text(release_ms.unwrap_or(0)), text(cost)];
        self.push_time(&mut head, settlement.now_ms);
        head.extend(chosen.numbers);
        let mut keys = vec![owner.key(subject.space, Use::Spent)];
        keys.extend(limits.iter().map(|limit| owner.key(subject.space, Use::State(limit.id()))));
        let receipts = subject.receipts.iter();
        let arguments =
            receipts.flat_map(|(_, receipt)| [text(receipt.stamp_ms), text(receipt.cost)]).collect();
        Invocation { script: chosen.script, slot: owner.slot, head, keys, arguments }
    }
}

/// Charges of one request may have met on a subject.
fn subjects<'a>(settlement: &'a Settlement<'_>) -> Vec<Subject<'a>> {
    let mut subjects: Vec<Subject<'a>> = Vec::with_capacity(settlement.subjects.len());
    for charged in &settlement.subjects {
        let receipts = charged.receipts.iter().filter_map(|(id, receipt)| Some((stand_in(*id)?, *receipt)));
        match subjects.iter_mut().find(|known| known.space == charged.space && *known.key == charged.key) {
            Some(known) => known.receipts.extend(receipts),
            None => {
                let (space, key, receipts) = (charged.space, &charged.key, receipts.collect());
                subjects.push(Subject { space, key, receipts });
            }
        }
    }
    subjects
}

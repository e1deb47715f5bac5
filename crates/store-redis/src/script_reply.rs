//! Reply of a script: parses bytes into decisions.

use slidegate_core::{Decision, Grant, Limit, Outcome};

use super::script::{REPLY_HEAD_BYTES, REPLY_LIMIT_BYTES, REPLY_PERMIT_BYTES};

/// Reply to one request.
#[derive(Clone, Debug)]
pub(super) struct ScriptReply {
    pub(super) decided_at_ms: u64,
    pub(super) decisions: Vec<Decision>,
    /// Opened permits.
    pub(super) grants: Vec<Grant>,
}

/// Number of a permit that has none: one for in-flight slots.
pub(super) const NO_NUMBER: u64 = (1 << 48) - 1;

impl ScriptReply {
    /// True if every limit admitted it.
    pub(super) fn is_admitted(&self) -> bool {
        self.decisions.iter().all(|decision| decision.outcome == Outcome::Fits)
    }

    /// Reply to these costs under these limits; `None` if the bytes are invalid.
    pub(super) fn read(bytes: &[u8], costs: &[(Limit, u64)]) -> Option<Self> {
        let (head, limits) = bytes.split_at_checked(REPLY_HEAD_BYTES)?;
        let (limits, permits) = limits.split_at_checked(REPLY_LIMIT_BYTES * costs.len())?;
        let (permits, cut) = permits.as_chunks::<REPLY_PERMIT_BYTES>();
        if !cut.is_empty() {
            return None;
        }
        if head[0] > 1 {
            return match costs {
                [(limit, _)] if permits.is_empty() => Some(Self::of_log(bytes, limit)),
                _ => None,
            };
        }
        let (decided_at_ms, admitted) = (number(&head[1..]), head[0] == 1);
        let rows = limits.chunks(REPLY_LIMIT_BYTES).zip(costs);
        let decisions = rows.map(|(row, (limit, cost))| decision(row, limit, *cost, admitted)).collect();
        let grants = permits.iter().map(grant).collect();
        Some(Self { decided_at_ms, decisions, grants })
    }

    /// Admission from the head of its log: the last write, the units of all entries, the newest
    /// stamp.
    fn of_log(head: &[u8], limit: &Limit) -> Self {
        let [decided_at_ms, total, stamp_ms] = [5..11, 11..18, 18..24].map(|range| number(&head[range]));
        let remaining = limit.quota().saturating_sub(total);
        let reset_after_ms = (stamp_ms + limit.window_ms()).saturating_sub(decided_at_ms);
        let decision = Decision { outcome: Outcome::Fits, remaining, reset_after_ms, stamp_ms };
        Self { decided_at_ms, decisions: vec![decision], grants: Vec::new() }
    }
}

fn decision(row: &[u8], limit: &Limit, cost: u64, admitted: bool) -> Decision {
    let [remaining, reset_after_ms, when_ms] = [0..7, 7..13, 13..19].map(|range| number(&row[range]));
    let outcome = if admitted || cost <= remaining {
        Outcome::Fits
    } else if cost > limit.ceiling() {
        Outcome::Never
    } else {
        Outcome::RetryAfter(when_ms)
    };
    Decision { outcome, remaining, reset_after_ms, stamp_ms: if admitted { when_ms } else { 0 } }
}

fn grant(bytes: &[u8; REPLY_PERMIT_BYTES]) -> Grant {
    let (generation, number) = (self::number(&bytes[..8]), self::number(&bytes[8..]));
    Grant { generation, number: (number != NO_NUMBER).then_some(number) }
}

/// Number of up to eight bytes, little-endian.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

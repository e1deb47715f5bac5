//! Scripts, generated from the parts in `lua/`: the decision on a request is straight-line code
//! with its limits as numbers.
//!
//! Making a function, a table or a long list of arguments takes Lua longer than most of a decision.
//! So a part is not a function but a piece of text, which is inserted once for every limit. In it,
//! names that end in `_` belong to the limit: they get its number, or (`quota_`, `window_`,
//! `extra_`, `margin_`) become the numbers themselves. `WRITE` in a part stands for the part of
//! that name.

mod parts;
mod writer;

use slidegate_core::{Limit, LimitKind, MAX_LEASE_USES};

use super::invocation::Script;
use writer::ScriptWriter;

const PRELUDE: &str = include_str!("lua/prelude.lua");
const INJECTED: &str = include_str!("lua/injected.lua");

const NOTES: &str = include_str!("lua/notes.lua");
const FORGET: &str = include_str!("lua/forget.lua");

/// Maximum debt: up to it sums are exact.
const DEBT: &str = "4503599627370496";
const FOREIGN: &str =
    "'slidegate: upgrade this node or delete the key, which is in a format that it does not know: '";
/// Head of a reply: whether it was admitted, and the time. For an admission by a single log, the
/// reply is the head of its value instead, whose first byte is neither 0 nor 1.
pub(super) const REPLY_HEAD_BYTES: usize = 1 + 6;
/// Part of a reply per limit: remaining in 7 bytes, reset in 6, and in 6 the stamp of an admission
/// or the wait of a denial.
pub(super) const REPLY_LIMIT_BYTES: usize = REPLY_STAMP + 6;
/// Part of a reply per permit, behind the limits: generation in 8 bytes, number in 6.
pub(super) const REPLY_PERMIT_BYTES: usize = 8 + 6;
/// Offset of the stamp.
const REPLY_STAMP: usize = 7 + 6;

/// Purpose of a script.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ScriptPurpose {
    /// Decides any number of requests with a cost of 1, as most have; then the cost is not an
    /// argument.
    Check,
    /// Decides any number of requests.
    Decide,
    /// Decides one request, and opens its permits.
    Reserve,
    /// Decides one request, opens permits, and stores the answer under an id.
    Ticketed,
    /// Undoes the charge under an id, and peeks.
    Undo,
    /// Replaces the recorded charge of a permit for a subject.
    Settle,
    /// Gives units back for any number of requests, and peeks.
    GiveBack,
    /// Decides one request, with prepaid units of leases.
    Prepaid,
    /// Records the request of a node for a lease of a log.
    Lease,
    /// Ends the lease of a node.
    CloseLease,
}

impl ScriptPurpose {
    /// True if it takes permits: to open them, or to close those of a request that is undone.
    pub(super) fn opens_permits(self) -> bool {
        matches!(self, Self::Reserve | Self::Ticketed | Self::Undo)
    }

    /// True if one call may answer several requests.
    pub(super) fn is_for_several(self) -> bool {
        matches!(self, Self::Check | Self::Decide | Self::GiveBack)
    }
}

/// Clock of a script.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ScriptClock {
    Server,
    /// An argument of every call: for tests.
    Injected,
}

/// Form of the limits in a script.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LimitNumbers {
    /// Part of its text.
    Literal,
    /// Arguments: for more sets of limits than a server should have scripts for.
    Arguments,
}

/// Four numbers of a limit, in the order of their names in a part.
pub(super) fn numbers(limit: &Limit) -> [u64; 4] {
    let extra = match limit.kind() {
        LimitKind::Log { resolution_ms } => resolution_ms,
        LimitKind::Gcra { burst } => burst,
        LimitKind::Counter | LimitKind::Fixed | LimitKind::InFlight => 0,
    };
    [limit.quota(), limit.window_ms(), extra, (limit.window_ms() / 8).max(1)]
}

/// Script for these limits.
pub(super) fn write(
    limits: &[Limit],
    purpose: ScriptPurpose,
    time: ScriptClock,
    numbers: LimitNumbers,
) -> Script {
    let mut writer = ScriptWriter::new(limits, purpose, numbers);
    // Arguments before those of the requests: the purpose's own, the time, the limits' numbers.
    let mut head = match purpose {
        ScriptPurpose::Check
        | ScriptPurpose::Decide
        | ScriptPurpose::GiveBack
        | ScriptPurpose::Reserve
        | ScriptPurpose::Prepaid => 0,
        ScriptPurpose::Ticketed => 3,
        ScriptPurpose::Undo => 4,
        ScriptPurpose::Settle | ScriptPurpose::Lease => 6,
        ScriptPurpose::CloseLease => 2 + 2 * MAX_LEASE_USES,
    };
    match time {
        ScriptClock::Server => writer.add(PRELUDE),
        ScriptClock::Injected => {
            head += 1;
            writer.add(&INJECTED.replace("NOW", &head.to_string()));
        }
    }
    head = writer.read_numbers(head);
    writer.add_functions();
    match purpose {
        ScriptPurpose::Check | ScriptPurpose::Decide | ScriptPurpose::GiveBack => writer.answer_all(head),
        ScriptPurpose::Reserve => writer.reserve(head),
        ScriptPurpose::Ticketed => writer.decide_idempotent(head),
        ScriptPurpose::Undo => writer.undo(head),
        ScriptPurpose::Settle => writer.settle(head),
        ScriptPurpose::Prepaid => writer.decide_prepaid(head),
        ScriptPurpose::Lease => writer.lease("lease"),
        ScriptPurpose::CloseLease => writer.lease("close"),
    }
    let several = purpose.is_for_several();
    let expires = if time == ScriptClock::Server { "true" } else { "false" };
    let undo = if purpose == ScriptPurpose::Undo { "true" } else { "false" };
    // A ticket stores an answer that does not depend on the kind.
    let alone = if limits.len() == 1 && several { "true" } else { "false" };
    let constants =
        [("ALONE", alone), ("EXPIRES", expires), ("UNDO", undo), ("DEBT", DEBT), ("FOREIGN", FOREIGN)];
    let text = constants.iter().fold(writer.text, |text, (name, value)| text.replace(name, value));
    Script::new(text, several.then_some(REPLY_HEAD_BYTES + REPLY_LIMIT_BYTES * limits.len()))
}

/// Script of the notes. Its second argument is the time.
pub(super) fn write_notes(time: ScriptClock) -> Script {
    let prelude = match time {
        ScriptClock::Server => PRELUDE.to_owned(),
        ScriptClock::Injected => INJECTED.replace("NOW", "2"),
    };
    Script::new(prelude + NOTES, None)
}

/// Script that deletes a subject.
pub(super) fn write_forget() -> Script {
    Script::new(FORGET.to_owned(), None)
}

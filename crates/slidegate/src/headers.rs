//! HTTP headers of an answer. Milliseconds become seconds here, always rounded up.

use slidegate_core::{Limit, Summary, Wait};

use crate::gate::{Answer, LimitAnswer};

/// Largest integer of a structured field: 15 digits. A larger quota is written as this.
pub(crate) const MAX_INTEGER: u64 = 999_999_999_999_999;
const SECOND_MS: u64 = 1_000;
/// Maximum length of a list of limits. Some gateways have room for 4 KiB of headers, and discard a
/// response with more.
const MAX_LIST_BYTES: usize = 1_024;
/// Maximum length of an item without its name.
const MAX_ITEM_BYTES: usize = 48;
/// Unit of [`Headers::retry_jitter`]: hundredths of a percent.
const WHOLE: u64 = 10_000;

/// Style of the headers of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Style {
    /// `RateLimit-Policy` and `RateLimit`, structured fields of
    /// draft-ietf-httpapi-ratelimit-headers-11.
    #[default]
    Draft,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`: the numbers of the request,
    /// as in its [`Summary`].
    Legacy,
    /// The same as `X-RateLimit-…`.
    XRateLimit(Reset),
    /// Only `Retry-After`.
    None,
}

/// Unit of `X-RateLimit-Reset`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Reset {
    /// In seconds from now.
    #[default]
    Delta,
    /// In seconds since 1970.
    Epoch,
}

/// Headers of answers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Headers {
    /// Style.
    pub style: Style,
    /// Spread of `Retry-After` in hundredths of a percent, later only, so that clients that were
    /// refused together do not come back together.
    pub retry_jitter: u32,
}

impl Headers {
    /// Calls `put` with every header of an answer. `random` is called only where `Retry-After` is
    /// spread. Of limits of a batch with the same name, which are of one rule, the one with the
    /// least remaining is listed.
    pub fn write(
        &self,
        answer: &Answer,
        random: impl FnOnce() -> u64,
        mut put: impl FnMut(&'static str, &str),
    ) {
        // As if there were no limits: no wait would help.
        if answer.is_blocked() {
            return;
        }
        let mut text = String::with_capacity(128);
        let summary = answer.summary();
        match self.style {
            Style::Draft => write_draft(answer, &summary, &mut text, &mut put),
            Style::Legacy => write_summary((answer, &summary), &LEGACY, Reset::Delta, &mut text, &mut put),
            Style::XRateLimit(reset) => {
                write_summary((answer, &summary), &X_RATELIMIT, reset, &mut text, &mut put);
            }
            Style::None => {}
        }
        if let Some(wait_ms) = summary.wait.exact_ms() {
            put("retry-after", show(&mut text, seconds(self.spread(wait_ms, random))));
        }
    }

    /// Seconds of `Retry-After` for a wait without an [`Answer`].
    #[inline]
    pub fn retry_after_s(&self, wait_ms: u64, random: impl FnOnce() -> u64) -> u64 {
        seconds(self.spread(wait_ms, random))
    }

    /// Wait with its spread.
    fn spread(&self, wait_ms: u64, random: impl FnOnce() -> u64) -> u64 {
        match wait_ms.saturating_mul(u64::from(self.retry_jitter)) / WHOLE {
            0 => wait_ms,
            longest => wait_ms + random() % (longest + 1),
        }
    }
}

/// Seconds, rounded up: a client that comes a moment too early would be refused again.
pub(crate) fn seconds(ms: u64) -> u64 {
    ms.div_ceil(SECOND_MS)
}

fn show(text: &mut String, number: u64) -> &str {
    text.clear();
    push(text, number.min(MAX_INTEGER));
    text
}

fn push(text: &mut String, number: u64) {
    text.push_str(itoa::Buffer::new().format(number));
}

fn write_draft(
    answer: &Answer,
    summary: &Summary,
    text: &mut String,
    put: &mut impl FnMut(&'static str, &str),
) {
    let listed = ListedLimits::new(answer);
    write_policies(answer, &listed, text);
    if text.is_empty() {
        return;
    }
    put("ratelimit-policy", text);
    if answer.verdict().source.has_numbers() {
        write_states(answer, (&listed, summary.wait), text);
        put("ratelimit", text);
    }
}

/// Writes the value of `RateLimit-Policy`.
pub(crate) fn write_policies(answer: &Answer, listed: &ListedLimits, text: &mut String) {
    text.clear();
    for limit in listed.limits(answer) {
        begin_item(text, limit.name);
        push_policy(text, &limit.limit);
    }
}

/// Writes the value of `RateLimit`.
pub(crate) fn write_states(answer: &Answer, (listed, until): (&ListedLimits, Wait), text: &mut String) {
    text.clear();
    for limit in listed.limits(answer) {
        begin_item(text, limit.name);
        push_state(text, until, &limit);
    }
}

/// Limits that a list has room for, a bit for each: all of them, or the tightest.
pub(crate) struct ListedLimits(u64);

impl ListedLimits {
    const ALL: Self = Self(u64::MAX);

    #[inline]
    pub(crate) fn new(answer: &Answer) -> Self {
        let bytes: usize = answer.limits().map(|limit| limit.name.len() + MAX_ITEM_BYTES).sum();
        if bytes <= MAX_LIST_BYTES && answer.items().len() == 1 { Self::ALL } else { Self::tightest(answer) }
    }

    #[cfg(feature = "http")]
    pub(crate) fn is_all(&self) -> bool {
        let Self(bits) = *self;
        bits == u64::MAX
    }

    /// Each name once. Limits that refuse come before those that admit, then those with the least
    /// remaining.
    #[cold]
    fn tightest(answer: &Answer) -> Self {
        let ranked = answer.limits().enumerate().map(|(index, limit)| {
            let admits = limit.wait() == Wait::None;
            (admits, limit.decision.remaining, index, limit.name)
        });
        let mut ranked: Vec<(bool, u64, usize, &str)> = ranked.take(u64::BITS as usize).collect();
        ranked.sort_unstable();
        let (mut bits, mut bytes) = (0, 0);
        for (at, (_, _, index, name)) in ranked.iter().enumerate() {
            if ranked[..at].iter().any(|(.., listed)| listed == name) {
                continue;
            }
            bytes += name.len() + MAX_ITEM_BYTES;
            if bytes > MAX_LIST_BYTES {
                break;
            }
            bits |= 1 << index;
        }
        Self(bits)
    }

    /// The limits in the order of the answer.
    pub(crate) fn limits<'a>(&self, answer: &'a Answer) -> impl Iterator<Item = LimitAnswer<'a>> {
        let Self(bits) = *self;
        // More than 64 do not fit a list.
        let listed =
            move |(index, limit): (usize, _)| (bits.checked_shr(index as u32)? & 1 != 0).then_some(limit);
        answer.limits().enumerate().filter_map(listed)
    }
}

/// Begins an item. Names need no escapes between quotes.
fn begin_item(text: &mut String, name: &str) {
    let separator = if text.is_empty() { "\"" } else { ", \"" };
    text.extend([separator, name, "\""]);
}

fn push_policy(text: &mut String, limit: &Limit) {
    text.push_str(";q=");
    push(text, limit.quota().min(MAX_INTEGER));
    if limit.needs_id() {
        text.push_str(";qu=\"concurrent-requests\"");
    } else if limit.window_ms() >= SECOND_MS {
        text.push_str(";w=");
        push(text, seconds(limit.window_ms()));
    }
}

/// Writes `r` and `t`. `t` must not be later than `Retry-After`: on a refusal it is the wait, and
/// is left out where a limit that would admit resets later. No time helps a request that can never
/// fit.
fn push_state(text: &mut String, until: Wait, limit: &LimitAnswer<'_>) {
    text.push_str(";r=");
    push(text, limit.decision.remaining.min(MAX_INTEGER));
    let reset_ms = limit.decision.reset_after_ms;
    let delay_ms = match (limit.wait(), until) {
        (_, Wait::Never) | (Wait::Within(_) | Wait::Never, _) => None,
        (Wait::After(wait_ms), _) => Some(wait_ms),
        (Wait::None, Wait::After(until_ms)) => Some(reset_ms).filter(|ms| *ms <= until_ms),
        (Wait::None, Wait::None | Wait::Within(_)) => Some(reset_ms),
    };
    if let Some(ms) = delay_ms {
        text.push_str(";t=");
        push(text, seconds(ms));
    }
}

/// Names of limit, remaining and reset.
type Names = [&'static str; 3];
const LEGACY: Names = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
const X_RATELIMIT: Names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// Writes the styles with room for one limit: the numbers of the request.
fn write_summary(
    (answer, summary): (&Answer, &Summary),
    [limit_name, remaining_name, reset_name]: &Names,
    reset: Reset,
    text: &mut String,
    put: &mut impl FnMut(&'static str, &str),
) {
    let Some([quota, remaining, reset]) = summary_numbers(answer, summary, reset) else { return };
    put(limit_name, show(text, quota));
    put(remaining_name, show(text, remaining));
    put(reset_name, show(text, reset));
}

/// Limit, remaining and reset of a request, as far as they are known.
#[inline]
pub(crate) fn summary_numbers(answer: &Answer, summary: &Summary, reset: Reset) -> Option<[u64; 3]> {
    let Summary { quota, remaining, reset_after_ms, .. } = *summary;
    let after_ms = reset_after_ms?;
    let reset = match reset {
        Reset::Delta => seconds(after_ms),
        Reset::Epoch => seconds(answer.verdict().decided_at_ms + after_ms),
    };
    Some([quota?, remaining?, reset].map(|number| number.min(MAX_INTEGER)))
}

//! HTTP headers of an answer. Milliseconds become seconds here, always rounded up.

use slidegate_core::{Limit, Summary, Verdict, Wait};
use smallvec::SmallVec;

use crate::gate::{Answer, BatchAnswer, LimitAnswer};

/// Structured fields have integers of at most 15 digits; a larger quota is shown as this.
const MAX_INTEGER: u64 = 999_999_999_999_999;
const SECOND_MS: u64 = 1_000;
/// The longest list of limits in a header. Gateways have room for 4 KiB of headers, some of them, and take an answer with more for none.
const MAX_LIST_BYTES: usize = 1_024;
/// What an item of a list has besides its name, at most.
const MAX_ITEM_BYTES: usize = 48;
/// [`Headers::retry_jitter`] counts hundredths of a percent.
const WHOLE: u64 = 10_000;

/// Which headers an answer gets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Style {
    /// `RateLimit-Policy` and `RateLimit`, structured fields of draft-ietf-httpapi-ratelimit-headers-11.
    #[default]
    Draft,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`: the numbers of the request, as its [`Summary`] has them.
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

/// Writes the headers of answers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Headers {
    /// Which ones.
    pub style: Style,
    /// By how much `Retry-After` is spread, in hundredths of a percent, later only: so that those who were refused together do not
    /// come back together.
    pub retry_jitter: u32,
}

impl Headers {
    /// Gives every header of an answer to `put`. `random` is asked only where `Retry-After` is spread.
    pub fn write(&self, answer: &Answer, random: impl FnOnce() -> u64, put: impl FnMut(&'static str, &str)) {
        self.write_numbers(answer, random, put);
    }

    /// The same for requests that were decided together. Of limits that have one name, because they are of one rule, the one with
    /// the least remaining is told.
    pub fn write_all(
        &self,
        answers: &BatchAnswer,
        random: impl FnOnce() -> u64,
        put: impl FnMut(&'static str, &str),
    ) {
        // As if there were no limits: no wait would help.
        if !answers.is_barred() {
            self.write_numbers(&BatchNumbers::new(answers), random, put);
        }
    }

    fn write_numbers(
        &self,
        answer: &impl AnswerNumbers,
        random: impl FnOnce() -> u64,
        mut put: impl FnMut(&'static str, &str),
    ) {
        let mut text = String::with_capacity(128);
        match self.style {
            Style::Draft => write_draft(answer, &mut text, &mut put),
            Style::Legacy => write_summary(answer, &LEGACY, Reset::Delta, &mut text, &mut put),
            Style::XRateLimit(reset) => write_summary(answer, &X_RATELIMIT, reset, &mut text, &mut put),
            Style::None => {}
        }
        if let Some(wait_ms) = answer.summary().wait.exact_ms() {
            put("retry-after", show(&mut text, seconds(self.spread(wait_ms, random))));
        }
    }

    /// What `Retry-After` says of such a wait, where there is no [`Answer`].
    pub fn retry_after_s(&self, wait_ms: u64, random: impl FnOnce() -> u64) -> u64 {
        seconds(self.spread(wait_ms, random))
    }

    /// Up to so much later.
    fn spread(&self, wait_ms: u64, random: impl FnOnce() -> u64) -> u64 {
        match wait_ms.saturating_mul(u64::from(self.retry_jitter)) / WHOLE {
            0 => wait_ms,
            longest => wait_ms + random() % (longest + 1),
        }
    }
}

/// Source of the numbers in headers: one answer, or those of a batch.
trait AnswerNumbers {
    fn verdict(&self) -> &Verdict;
    fn summary(&self) -> Summary;
    fn limits(&self) -> impl Iterator<Item = LimitAnswer<'_>>;
}

impl AnswerNumbers for Answer {
    fn verdict(&self) -> &Verdict {
        self.verdict()
    }

    fn summary(&self) -> Summary {
        self.summary()
    }

    fn limits(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        self.limits()
    }
}

/// The limits of several requests, each name once.
struct BatchNumbers<'a> {
    answers: &'a BatchAnswer,
    limits: SmallVec<[LimitAnswer<'a>; 4]>,
}

impl<'a> BatchNumbers<'a> {
    fn new(answers: &'a BatchAnswer) -> Self {
        let mut limits: SmallVec<[LimitAnswer<'a>; 4]> = SmallVec::new();
        for limit in answers.each().flat_map(|one| one.limits()) {
            match limits.iter_mut().find(|known| known.name == limit.name) {
                Some(known) if limit.decision.remaining < known.decision.remaining => *known = limit,
                Some(_) => {}
                None => limits.push(limit),
            }
        }
        Self { answers, limits }
    }
}

impl AnswerNumbers for BatchNumbers<'_> {
    fn verdict(&self) -> &Verdict {
        self.answers.verdict()
    }

    fn summary(&self) -> Summary {
        self.answers.summary()
    }

    fn limits(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        self.limits.iter().copied()
    }
}

/// Rounded up: who comes a moment earlier than promised would be refused again.
fn seconds(ms: u64) -> u64 {
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

fn write_draft(answer: &impl AnswerNumbers, text: &mut String, put: &mut impl FnMut(&'static str, &str)) {
    text.clear();
    let listed = Listed::new(answer);
    for limit in listed.limits(answer) {
        begin_item(text, limit.name);
        push_policy(text, &limit.limit);
    }
    if text.is_empty() {
        return;
    }
    put("ratelimit-policy", text);
    if answer.verdict().source.is_known() {
        text.clear();
        let wait = answer.summary().wait;
        for limit in listed.limits(answer) {
            begin_item(text, limit.name);
            push_state(text, wait, &limit);
        }
        put("ratelimit", text);
    }
}

/// Limits that a list has room for, a bit for each: all of them, or the tightest.
struct Listed(u64);

impl Listed {
    #[inline]
    fn new(answer: &impl AnswerNumbers) -> Self {
        let bytes: usize = answer.limits().map(|limit| limit.name.len() + MAX_ITEM_BYTES).sum();
        if bytes <= MAX_LIST_BYTES { Self(u64::MAX) } else { Self::tightest(answer) }
    }

    /// Those that refuse before those that admit, and then those with the least remaining.
    #[cold]
    fn tightest(answer: &impl AnswerNumbers) -> Self {
        let ranked = answer.limits().enumerate().map(|(index, limit)| {
            let admits = limit.wait() == Wait::None;
            (admits, limit.decision.remaining, index, limit.name.len() + MAX_ITEM_BYTES)
        });
        let mut ranked: Vec<(bool, u64, usize, usize)> = ranked.take(u64::BITS as usize).collect();
        ranked.sort_unstable();
        let (mut bits, mut bytes) = (0, 0);
        for (_, _, index, of_item) in ranked {
            bytes += of_item;
            if bytes > MAX_LIST_BYTES {
                break;
            }
            bits |= 1 << index;
        }
        Self(bits)
    }

    /// In the order of the answer.
    fn limits<'a>(&self, answer: &'a impl AnswerNumbers) -> impl Iterator<Item = LimitAnswer<'a>> {
        let Self(bits) = *self;
        // More than 64 do not fit a list.
        let listed =
            move |(index, limit): (usize, _)| (bits.checked_shr(index as u32)? & 1 != 0).then_some(limit);
        answer.limits().enumerate().filter_map(listed)
    }
}

/// Names are made of what may stand between quotes.
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

/// `t` must not be later than `Retry-After`: on a refusal it is the wait, and is left out where a limit that would admit resets
/// later. No time helps a request that can never fit.
fn push_state(text: &mut String, until: Wait, limit: &LimitAnswer<'_>) {
    text.push_str(";r=");
    push(text, limit.decision.remaining.min(MAX_INTEGER));
    let reset_ms = limit.decision.reset_after_ms;
    let known_ms = match (limit.wait(), until) {
        (_, Wait::Never) | (Wait::Within(_) | Wait::Never, _) => None,
        (Wait::After(wait_ms), _) => Some(wait_ms),
        (Wait::None, Wait::After(until_ms)) => Some(reset_ms).filter(|ms| *ms <= until_ms),
        (Wait::None, Wait::None | Wait::Within(_)) => Some(reset_ms),
    };
    if let Some(ms) = known_ms {
        text.push_str(";t=");
        push(text, seconds(ms));
    }
}

/// The names of limit, remaining and reset.
type Names = [&'static str; 3];
const LEGACY: Names = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
const X_RATELIMIT: Names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// These have room for one limit: the numbers of the request.
fn write_summary(
    answer: &impl AnswerNumbers,
    [limit_name, remaining_name, reset_name]: &Names,
    reset: Reset,
    text: &mut String,
    put: &mut impl FnMut(&'static str, &str),
) {
    let Summary { quota, remaining, reset_after_ms, .. } = answer.summary();
    let (Some(quota), Some(remaining), Some(after_ms)) = (quota, remaining, reset_after_ms) else { return };
    let reset = match reset {
        Reset::Delta => seconds(after_ms),
        Reset::Epoch => seconds(answer.verdict().decided_at_ms + after_ms),
    };
    put(limit_name, show(text, quota));
    put(remaining_name, show(text, remaining));
    put(reset_name, show(text, reset));
}

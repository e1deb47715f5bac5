//! Attributes of a span: the deciding rule and the outcome. Never the subject.

use slidegate::{Answer, GateError, LimitAnswer, Source, Summary, Verdict};

use super::messages::KeyValue;
use super::trace::SpanOutcome;

const OUTCOME: &str = "slidegate.outcome";
const RULE: &str = "slidegate.rule";
/// Rule in observe mode that would have denied.
const WOULD_DENY: &str = "slidegate.would_deny";

pub(super) fn answer<E: std::error::Error>(answer: &Result<Answer, GateError<E>>) -> SpanOutcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return failed(error),
    };
    if answer.is_blocked() {
        return SpanOutcome::outcome("barred").text_if(RULE, answer.blocked().map(|(rule, _)| rule));
    }
    let summary = answer.summary();
    // The first limit that denies, or else the one with the least remaining.
    let decisive = answer
        .limits()
        .find(LimitAnswer::is_violated)
        .or_else(|| answer.limits().nth(summary.tightest.unwrap_or(0)));
    let outcome = match answer.is_allowed() {
        false => "denied",
        true if answer.replayed() => "replayed",
        true if answer.limits().next().is_none() && answer.observed().next().is_none() => "unlimited",
        true => "allowed",
    };
    let would = answer.observed().find(LimitAnswer::is_violated);
    let span = SpanOutcome::outcome(outcome).decided(decisive, answer.verdict().source, &summary);
    span.text_if(WOULD_DENY, would.and_then(|limit| limit.rule))
}

/// Outcome of a batch: a rule that denies because the store is unavailable is a failure.
pub(super) fn batch<E: std::error::Error>(batch: &Result<Answer, GateError<E>>) -> SpanOutcome {
    match batch.as_ref().ok().and_then(Answer::unanswered) {
        Some(rule) => {
            let error = Some("the store is unavailable".to_owned());
            SpanOutcome { error, ..SpanOutcome::outcome("failed").text(RULE, rule) }
        }
        None => answer(batch),
    }
}

pub(super) fn verdict<E: std::error::Error>(verdict: &Result<Verdict, E>) -> SpanOutcome {
    match verdict {
        Ok(verdict) => {
            let outcome = if verdict.is_allowed() { "allowed" } else { "denied" };
            let span = SpanOutcome::outcome(outcome).source(verdict.source);
            span.number_if("slidegate.retry_after_ms", verdict.retry_after_ms())
        }
        Err(error) => store_failed(error),
    }
}

fn failed<E: std::error::Error>(error: &GateError<E>) -> SpanOutcome {
    match error {
        // Errors of the caller.
        GateError::Request(_) | GateError::Conflict => SpanOutcome::outcome("invalid"),
        GateError::Full => {
            SpanOutcome { error: Some(GateError::<E>::Full.to_string()), ..SpanOutcome::outcome("failed") }
        }
        GateError::TooManyPermits { .. } => SpanOutcome::outcome("denied"),
        GateError::Store(error) => store_failed(error),
    }
}

fn store_failed(error: &impl std::error::Error) -> SpanOutcome {
    SpanOutcome { error: Some(error.to_string()), ..SpanOutcome::outcome("failed") }
}

impl SpanOutcome {
    fn outcome(outcome: &str) -> Self {
        Self::default().text(OUTCOME, outcome)
    }

    fn text(mut self, key: &str, text: &str) -> Self {
        self.attributes.push(KeyValue::text(key, text));
        self
    }

    fn text_if(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    fn number_if(mut self, key: &str, number: Option<u64>) -> Self {
        self.attributes.extend(number.map(|number| KeyValue::number(key, number)));
        self
    }

    /// Attributes of the decisive limit, and the numbers of the request.
    fn decided(self, limit: Option<LimitAnswer<'_>>, source: Source, summary: &Summary) -> Self {
        let Some(limit) = limit else { return self };
        self.text_if(RULE, limit.rule)
            .text("slidegate.limit", limit.name)
            .source(source)
            .number_if("slidegate.remaining", summary.remaining)
            .number_if("slidegate.retry_after_ms", summary.wait.exact_ms())
    }

    fn source(self, source: Source) -> Self {
        self.text("slidegate.source", source.name())
    }
}

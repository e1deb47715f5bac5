//! What a span tells of a decision: the rule that mattered, and what came of it. Never whose request it was.

use slidegate::{Answer, Answers, GateError, LimitAnswer, Outcome, Source, Verdict};

use super::messages::KeyValue;
use super::trace::Told;

const OUTCOME: &str = "slidegate.outcome";
const RULE: &str = "slidegate.rule";
/// An observing rule that would have refused.
const WOULD_DENY: &str = "slidegate.would_deny";

pub(super) fn answer<E: std::error::Error>(answer: &Result<Answer, GateError<E>>) -> Told {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return failed(error),
    };
    if let Some((rule, _)) = answer.barred() {
        return Told::outcome("barred").text(RULE, rule);
    }
    let tightest = answer.tightest();
    let outcome = match answer.is_allowed() {
        false => "denied",
        true if answer.replayed() => "replayed",
        true if tightest.is_none() && answer.observed().next().is_none() => "unlimited",
        true => "allowed",
    };
    let would = answer.observed().find(refuses);
    Told::outcome(outcome).limit(tightest).text_if(WOULD_DENY, would.and_then(|limit| limit.rule))
}

pub(super) fn answers<E: std::error::Error>(answers: &Result<Answers, GateError<E>>) -> Told {
    let answers = match answers {
        Ok(answers) => answers,
        Err(error) => return failed(error),
    };
    if let Some(rule) = answers.unanswered() {
        let error = Some("the store does not answer".to_owned());
        return Told { error, ..Told::outcome("failed").text(RULE, rule) };
    }
    let barred = answers.each().find_map(|one| one.barred());
    if answers.is_barred() {
        return Told::outcome("barred").text_if(RULE, barred.map(|(rule, _)| rule));
    }
    let limits = || answers.each().filter_map(|one| one.tightest());
    // The first that refuses, or else the one with least left.
    let tightest = limits().find(refuses).or_else(|| limits().min_by_key(|limit| limit.decision.remaining));
    let outcome = match answers.is_allowed() {
        false => "denied",
        true if tightest.is_none() && answers.each().all(|one| one.observed().next().is_none()) => {
            "unlimited"
        }
        true => "allowed",
    };
    let would = answers.each().flat_map(|one| one.observed()).find(refuses);
    Told::outcome(outcome).limit(tightest).text_if(WOULD_DENY, would.and_then(|limit| limit.rule))
}

pub(super) fn verdict<E: std::error::Error>(verdict: &Result<Verdict, E>) -> Told {
    match verdict {
        Ok(verdict) => {
            let outcome = if verdict.is_allowed() { "allowed" } else { "denied" };
            let told = Told::outcome(outcome).source(verdict.source);
            told.number_if("slidegate.retry_after_ms", verdict.retry_after_ms())
        }
        Err(error) => store_failed(error),
    }
}

fn failed<E: std::error::Error>(error: &GateError<E>) -> Told {
    match error {
        // The caller's mistake, as the answer tells it.
        GateError::Request(_) | GateError::Conflict => Told::outcome("invalid"),
        GateError::Store(error) => store_failed(error),
    }
}

fn store_failed(error: &impl std::error::Error) -> Told {
    Told { error: Some(error.to_string()), ..Told::outcome("failed") }
}

fn refuses(limit: &LimitAnswer<'_>) -> bool {
    limit.decision.outcome != Outcome::Fits
}

impl Told {
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

    fn limit(self, limit: Option<LimitAnswer<'_>>) -> Self {
        let Some(limit) = limit else { return self };
        let remaining = limit.is_known().then_some(limit.decision.remaining);
        self.text_if(RULE, limit.rule)
            .text("slidegate.limit", limit.name)
            .source(limit.source)
            .number_if("slidegate.remaining", remaining)
            .number_if("slidegate.retry_after_ms", limit.retry_after_ms())
    }

    fn source(self, source: Source) -> Self {
        let source = match source {
            Source::Store => "store",
            Source::Cache => "cache",
            Source::Local => "local",
            Source::Assumed => "assumed",
        };
        self.text("slidegate.source", source)
    }
}

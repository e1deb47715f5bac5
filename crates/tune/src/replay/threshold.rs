//! Thresholds of `--fail-if`, such as `login.denied > 0.1%`.

use std::fmt;
use std::str::FromStr;

use super::report::{ReplayReport, RuleReplay, ThresholdReport};

/// Condition on a number of the report: `[RULE.]METRIC OPERATOR NUMBER[%]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Threshold {
    text: String,
    rule: Option<String>,
    metric: ThresholdMetric,
    operator: Operator,
    bound: Bound,
}

/// Number of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThresholdMetric {
    Denied,
    WouldDeny,
    Blocked,
    Touched,
    NewlyDenied,
    NewlyAllowed,
}

const METRICS: [(&str, ThresholdMetric); 6] = [
    ("denied", ThresholdMetric::Denied),
    ("would_deny", ThresholdMetric::WouldDeny),
    ("blocked", ThresholdMetric::Blocked),
    ("touched", ThresholdMetric::Touched),
    ("newly_denied", ThresholdMetric::NewlyDenied),
    ("newly_allowed", ThresholdMetric::NewlyAllowed),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    More,
    AtLeast,
    Less,
    AtMost,
}

/// Longer ones first: they start like the shorter ones.
const OPERATORS: [(&str, Operator); 4] =
    [(">=", Operator::AtLeast), ("<=", Operator::AtMost), (">", Operator::More), ("<", Operator::Less)];

/// Value on the right.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bound {
    Count(f64),
    Percent(f64),
}

/// Error of a threshold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ThresholdError {
    /// No operator.
    #[error("no comparison in `{0}`: write a condition such as `login.denied > 0.1%` or `denied >= 100`")]
    NoOperator(String),
    /// Unknown number.
    #[error(
        "unknown number `{0}`: use `denied`, `would_deny`, `blocked`, `touched`, `newly_denied` or `newly_allowed`, with a rule in front of it as in `login.denied`"
    )]
    UnknownMetric(String),
    /// Not a number.
    #[error("invalid bound `{0}`: write a count such as `100`, or a percentage such as `0.1%`")]
    InvalidBound(String),
    /// The policy has no such rule.
    #[error("unknown rule `{rule}` in `{condition}`: the policy has {rules}")]
    UnknownRule {
        /// The rule.
        rule: String,
        /// The condition.
        condition: String,
        /// Rules of the policy.
        rules: String,
    },
    /// Needs another policy.
    #[error("`{0}` compares with another policy: name it with --against")]
    NeedsAgainst(String),
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let found = OPERATORS.iter().find_map(|(sign, operator)| {
            text.split_once(sign).map(|(left, right)| (left.trim(), *operator, right.trim()))
        });
        let (left, operator, right) =
            found.ok_or_else(|| ThresholdError::NoOperator(text.trim().to_owned()))?;
        // Names of rules may have dots.
        let (rule, name) = match left.rsplit_once('.') {
            Some((rule, name)) => (Some(rule.to_owned()), name),
            None => (None, left),
        };
        let metric = METRICS.iter().find(|(other, _)| *other == name).map(|(_, metric)| *metric);
        let metric = metric.ok_or_else(|| ThresholdError::UnknownMetric(left.to_owned()))?;
        Ok(Self { text: text.trim().to_owned(), rule, metric, operator, bound: right.parse()? })
    }
}

impl FromStr for Bound {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let (digits, percent) = match text.strip_suffix('%') {
            Some(digits) => (digits.trim_end(), true),
            None => (text, false),
        };
        let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = digits.parse::<f64>().ok().filter(|_| is_decimal);
        let number = number.ok_or_else(|| ThresholdError::InvalidBound(text.to_owned()))?;
        Ok(if percent { Self::Percent(number) } else { Self::Count(number) })
    }
}

/// The condition as it was given.
impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Threshold {
    /// Checks that the rule exists, and that another policy is there to compare with.
    pub fn check(&self, rules: &[&str], against: Option<&str>) -> Result<(), ThresholdError> {
        if let Some(rule) = self.rule.as_deref().filter(|rule| !rules.contains(rule)) {
            let rules: Vec<String> = rules.iter().take(20).map(|name| format!("`{name}`")).collect();
            let (rule, condition) = (rule.to_owned(), self.text.clone());
            return Err(ThresholdError::UnknownRule { rule, condition, rules: rules.join(", ") });
        }
        match self.metric {
            ThresholdMetric::NewlyDenied | ThresholdMetric::NewlyAllowed if against.is_none() => {
                Err(ThresholdError::NeedsAgainst(self.text.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Evaluates the condition. Of a range, the end counts that makes it hold.
    pub fn evaluate(&self, report: &ReplayReport) -> ThresholdReport {
        let (count, all) = self.count(report);
        let (value, bound) = match self.bound {
            Bound::Count(bound) => (count, bound),
            Bound::Percent(bound) => (if all > 0.0 { 100.0 * count / all } else { 0.0 }, bound),
        };
        let holds = match self.operator {
            Operator::More => value > bound,
            Operator::AtLeast => value >= bound,
            Operator::Less => value < bound,
            Operator::AtMost => value <= bound,
        };
        ThresholdReport { condition: self.text.clone(), value, holds }
    }

    /// The count, and what a percentage is of: requests, or subjects.
    fn count(&self, report: &ReplayReport) -> (f64, f64) {
        let rules: Vec<&RuleReplay> = match &self.rule {
            Some(name) => report.rules.iter().filter(|rule| rule.name == *name).collect(),
            None => report.rules.iter().collect(),
        };
        let all = &report.requests;
        let of_rule = |count: fn(&RuleReplay) -> u64| {
            (rules.iter().map(|rule| count(rule)).sum(), rules.iter().map(|rule| rule.requests).sum())
        };
        let (count, base): (u64, u64) = match (self.metric, &self.rule) {
            (ThresholdMetric::Denied, None) => (all.denied, all.decided),
            (ThresholdMetric::WouldDeny, None) => (all.would_deny, all.decided),
            (ThresholdMetric::Blocked, None) => (all.blocked, all.decided),
            (ThresholdMetric::Denied, Some(_)) => of_rule(|rule| rule.denied),
            (ThresholdMetric::WouldDeny, Some(_)) => of_rule(|rule| rule.would_deny),
            (ThresholdMetric::Blocked, Some(_)) => of_rule(|rule| rule.blocked),
            (ThresholdMetric::Touched, _) => {
                let is_upper = matches!(self.operator, Operator::More | Operator::AtLeast);
                let end = |rule: &&RuleReplay| if is_upper { rule.touched.high } else { rule.touched.low };
                (rules.iter().map(end).sum(), rules.iter().map(|rule| rule.subjects).sum())
            }
            (ThresholdMetric::NewlyDenied | ThresholdMetric::NewlyAllowed, rule) => {
                let base = rule.as_ref().map_or(all.decided, |_| of_rule(|rule| rule.requests).0);
                (self.changed(report), base)
            }
        };
        (count as f64, base as f64)
    }

    fn changed(&self, report: &ReplayReport) -> u64 {
        let Some(against) = &report.against else { return 0 };
        let (all, by) = match self.metric {
            ThresholdMetric::NewlyAllowed => (against.newly_allowed, &against.newly_allowed_by),
            _ => (against.newly_denied, &against.newly_denied_by),
        };
        match &self.rule {
            None => all,
            Some(name) => by.iter().filter(|count| count.rule == *name).map(|count| count.requests).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(text: &str) -> Threshold {
        text.parse().expect("a condition")
    }

    #[test]
    fn conditions_are_read() {
        let rows = [
            (
                "login.denied > 0.1%",
                Some("login"),
                ThresholdMetric::Denied,
                Operator::More,
                Bound::Percent(0.1),
            ),
            ("denied>=100", None, ThresholdMetric::Denied, Operator::AtLeast, Bound::Count(100.0)),
            (
                "v1.search.touched <= 3 %",
                Some("v1.search"),
                ThresholdMetric::Touched,
                Operator::AtMost,
                Bound::Percent(3.0),
            ),
            ("newly_denied > 0", None, ThresholdMetric::NewlyDenied, Operator::More, Bound::Count(0.0)),
            ("would_deny < 1", None, ThresholdMetric::WouldDeny, Operator::Less, Bound::Count(1.0)),
        ];
        for (text, rule, metric, operator, bound) in rows {
            let read = threshold(text);
            assert_eq!(
                (read.rule.as_deref(), read.metric, read.operator, read.bound),
                (rule, metric, operator, bound)
            );
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_fix() {
        let rows = [
            ("login.denied", "write a condition such as"),
            ("login.refused > 1", "use `denied`, `would_deny`"),
            ("login > 1", "unknown number `login`"),
            ("denied > a lot", "invalid bound `a lot`"),
            ("denied > -1", "invalid bound `-1`"),
            ("denied > inf", "invalid bound `inf`"),
            ("denied > ", "invalid bound ``"),
        ];
        for (text, expected) in rows {
            let error = text.parse::<Threshold>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let unknown = threshold("logn.denied > 1").check(&["login"], None).expect_err("unknown").to_string();
        assert!(unknown.contains("unknown rule `logn`") && unknown.contains("`login`"), "{unknown}");
        let alone = threshold("newly_denied > 1").check(&[], None).expect_err("alone").to_string();
        assert!(alone.contains("--against"), "{alone}");
        assert_eq!(threshold("newly_denied > 1").check(&[], Some("old.yaml")), Ok(()));
    }
}

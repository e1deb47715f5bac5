//! Converter for RLAAS: `rate-limiter` of a Spring application becomes the rule of `GET
//! /check?userId=`.

use miette::Report;
use slidegate::policy::file::Span;

use super::WindowOption;
use super::comments::preamble;
use super::source::SourceFile;
use super::warnings::Warnings;
use crate::policy_writer::quote::excerpt;
use crate::policy_writer::{PolicyDraft, PolicyItem, Quota, RuleDraft, ValueTest, WindowKind};

mod documents;
mod properties;

use properties::Property;

const MEANING: &str =
    "GET /check?userId=alice uses the rule `rlaas`: it returns 200 or 429, with the fields of RLAAS.";
const RULE: &str = "rlaas";
const USER: &str = "userId";
/// Longest window: 1,000 days.
const MAX_WINDOW_S: u64 = slidegate::MAX_WINDOW_MS / 1_000;

pub(super) fn convert(
    source: &SourceFile,
    windows: WindowOption,
    warnings: &mut Warnings,
) -> Result<PolicyDraft, Report> {
    let found = properties::read(source, warnings)?;
    let settings = RlaasSettings::read(source, &found, warnings)?;
    let window = match (settings.algorithm, windows) {
        (WindowKind::Fixed, WindowOption::Preserve) => WindowKind::Fixed,
        _ => WindowKind::Sliding,
    };
    let quota = Quota { count: settings.max_requests, window_ms: settings.window_s * 1_000, window };
    let present = (USER.to_owned(), ValueTest::present());
    let rule = RuleDraft {
        comments: vec![settings.origin],
        name: RULE.to_owned(),
        // A rule that denies everything needs a condition; with a limit, the key is enough.
        matches: if quota.count == 0 { vec![present] } else { Vec::new() },
        key: vec![USER.to_owned()],
        limits: if quota.count == 0 { Vec::new() } else { vec![quota] },
        allow: Vec::new(),
        skip_missing: true,
        observe: false,
    };
    let algorithm = match (settings.algorithm, window) {
        (WindowKind::Sliding, _) => "sliding-window-algo is a log, the default algorithm of Slidegate.",
        (_, WindowKind::Fixed) => {
            "fixed-window-algo: for a sliding window remove `algorithm: fixed`, or convert with --sliding."
        }
        (_, WindowKind::Sliding) => "The window slides; fixed-window-algo is `algorithm: fixed` here.",
    };
    let preamble = preamble("rlaas", &source.name, &[MEANING, algorithm]);
    Ok(PolicyDraft { preamble, items: vec![PolicyItem::Rule(rule)] })
}

/// Settings of RLAAS.
struct RlaasSettings {
    algorithm: WindowKind,
    window_s: u64,
    max_requests: u64,
    /// Lines in the file, for a comment.
    origin: String,
}

impl RlaasSettings {
    fn read(source: &SourceFile, found: &[Property], warnings: &mut Warnings) -> Result<Self, Report> {
        let (mut algorithm, mut window_s, mut max_requests) = (WindowKind::Sliding, None, None);
        let mut lines = Vec::new();
        for property in found {
            let Some(name) = property.name.strip_prefix("ratelimiter.") else { continue };
            lines.push(source.line(property.at));
            match name {
                "usealgo" => algorithm = algorithm_of(source, property)?,
                "windowsize" => window_s = Some(window_of(source, property)?),
                "maxrequests" => max_requests = Some(number(source, property)?),
                _ => {
                    let what = format!("unknown property `{}` is omitted", excerpt(&property.spelling));
                    warnings.warn(property.at, what, "RLAAS has use-algo, window-size and max-requests");
                }
            }
        }
        let at = found.iter().find(|one| one.is_limiter()).map(|one| one.at);
        let Some(at) = at else {
            let remedy =
                "RLAAS has rate-limiter.use-algo, rate-limiter.window-size and rate-limiter.max-requests";
            return Err(source.error(Span::default(), "missing `rate-limiter`", remedy));
        };
        let missing = |name: &str| {
            let remedy = format!("add it, for example `{name}: 60`, if the application sets it elsewhere");
            source.error(at, format!("missing `{name}` of `rate-limiter`"), remedy)
        };
        let window_s = window_s.ok_or_else(|| missing("window-size"))?;
        let max_requests = max_requests.ok_or_else(|| missing("max-requests"))?;
        let (first, last) = (lines.iter().min(), lines.iter().max());
        let origin = match (first, last) {
            (Some(first), Some(last)) if first != last => format!("rate-limiter (lines {first} to {last})"),
            (first, _) => format!("rate-limiter (line {})", first.copied().unwrap_or(1)),
        };
        Ok(Self { algorithm, window_s, max_requests, origin })
    }
}

fn algorithm_of(source: &SourceFile, property: &Property) -> Result<WindowKind, Report> {
    match property.value.as_str() {
        "sliding-window-algo" => Ok(WindowKind::Sliding),
        "fixed-window-algo" => Ok(WindowKind::Fixed),
        other => {
            let what = format!("invalid algorithm `{}`", excerpt(other));
            Err(source.error(property.value_at, what, "write sliding-window-algo or fixed-window-algo"))
        }
    }
}

fn window_of(source: &SourceFile, property: &Property) -> Result<u64, Report> {
    match number(source, property)? {
        window_s @ 1..=MAX_WINDOW_S => Ok(window_s),
        other => {
            let what = format!("invalid window of {other} s");
            Err(source.error(property.value_at, what, "write 1 to 86400000 seconds (1,000 days)"))
        }
    }
}

fn number(source: &SourceFile, property: &Property) -> Result<u64, Report> {
    /// Largest quota.
    const MOST: u64 = slidegate::MAX_QUOTA;
    match property.value.parse() {
        Ok(number @ 0..=MOST) => Ok(number),
        _ => {
            let what = format!(
                "invalid `{}`: `{}` is not a whole number in range",
                excerpt(&property.spelling),
                excerpt(&property.value)
            );
            Err(source.error(property.value_at, what, format!("write a whole number, at most {MOST}")))
        }
    }
}

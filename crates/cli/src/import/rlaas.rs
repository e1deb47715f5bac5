//! RLAAS: `rate-limiter` of a Spring application as the rule that `GET /check?userId=` asks.

use miette::Report;
use slidegate::policy::file::Span;

use super::policy_writer::{Item, Quota, Rule, Test, Window, Windows, Written};
use super::quote::shown;
use super::source::Source;
use super::warnings::Warnings;

mod documents;
mod properties;

use properties::Property;

const RULE: &str = "rlaas";
const USER: &str = "userId";
/// What a window may be at most: 1,000 days.
const MAX_WINDOW_S: u64 = slidegate::MAX_WINDOW_MS / 1_000;

pub(super) fn convert(source: &Source, windows: Windows, warnings: &mut Warnings) -> Result<Written, Report> {
    let found = properties::read(source, warnings)?;
    let settings = Settings::read(source, &found, warnings)?;
    let window = match (settings.algorithm, windows) {
        (Window::Fixed, Windows::AsTheyAre) => Window::Fixed,
        _ => Window::Slides,
    };
    let quota = Quota { count: settings.max_requests, window_s: settings.window_s, window };
    let present = (USER.to_owned(), Test::present());
    let rule = Rule {
        comments: vec![settings.origin],
        name: RULE.to_owned(),
        // A rule that refuses does so for whoever it is for; with a limit the key says it.
        matches: if quota.count == 0 { vec![present] } else { Vec::new() },
        key: vec![USER.to_owned()],
        limits: if quota.count == 0 { Vec::new() } else { vec![quota] },
        allow: Vec::new(),
        skip_missing: true,
        observe: false,
    };
    let mut head = vec![
        format!("Made by `slidegate import rlaas` from {}.", shown(&source.name)),
        String::new(),
        "The rule `rlaas` answers GET /check?userId=alice with 200 or 429 and the fields that RLAAS has."
            .to_owned(),
    ];
    head.push(match (settings.algorithm, window) {
        (Window::Slides, _) => "sliding-window-algo is the log of Slidegate, which is what a limit is without `algorithm`.".to_owned(),
        (_, Window::Fixed) => {
            "fixed-window-algo: leave `algorithm: fixed` out (or convert with --sliding) for a window that slides.".to_owned()
        }
        (_, Window::Slides) => "The window slides; fixed-window-algo is `algorithm: fixed` here.".to_owned(),
    });
    Ok(Written { head, items: vec![Item::Rule(rule)] })
}

struct Settings {
    algorithm: Window,
    window_s: u64,
    max_requests: u64,
    /// Where they stand, for a comment.
    origin: String,
}

impl Settings {
    fn read(source: &Source, found: &[Property], warnings: &mut Warnings) -> Result<Self, Report> {
        let (mut algorithm, mut window_s, mut max_requests) = (Window::Slides, None, None);
        let mut lines = Vec::new();
        for property in found {
            let Some(name) = property.name.strip_prefix("ratelimiter.") else { continue };
            lines.push(source.line(property.at));
            match name {
                "usealgo" => algorithm = algorithm_of(source, property)?,
                "windowsize" => window_s = Some(window_of(source, property)?),
                "maxrequests" => max_requests = Some(number(source, property)?),
                _ => {
                    let what = format!("RLAAS is not known to have `{}`", shown(&property.written));
                    warnings.warn(
                        property.at,
                        what,
                        "it has use-algo, window-size and max-requests; this is left out",
                    );
                }
            }
        }
        let at = found.iter().find(|one| one.is_limiter()).map(|one| one.at);
        let Some(at) = at else {
            let remedy =
                "it has rate-limiter.use-algo, rate-limiter.window-size and rate-limiter.max-requests";
            return Err(source.mistake(Span::default(), "there is no `rate-limiter` in this file", remedy));
        };
        let lacks = |name: &str| {
            let remedy = format!("add it, as in `{name}: 60`, if the application sets it elsewhere");
            source.mistake(at, format!("`rate-limiter` has no `{name}`"), remedy)
        };
        let window_s = window_s.ok_or_else(|| lacks("window-size"))?;
        let max_requests = max_requests.ok_or_else(|| lacks("max-requests"))?;
        let (first, last) = (lines.iter().min(), lines.iter().max());
        let origin = match (first, last) {
            (Some(first), Some(last)) if first != last => format!("rate-limiter (lines {first} to {last})"),
            (first, _) => format!("rate-limiter (line {})", first.copied().unwrap_or(1)),
        };
        Ok(Self { algorithm, window_s, max_requests, origin })
    }
}

fn algorithm_of(source: &Source, property: &Property) -> Result<Window, Report> {
    match property.value.as_str() {
        "sliding-window-algo" => Ok(Window::Slides),
        "fixed-window-algo" => Ok(Window::Fixed),
        other => {
            let what = format!("`{}` is no algorithm of RLAAS", shown(other));
            Err(source.mistake(property.value_at, what, "write sliding-window-algo or fixed-window-algo"))
        }
    }
}

fn window_of(source: &Source, property: &Property) -> Result<u64, Report> {
    match number(source, property)? {
        window_s @ 1..=MAX_WINDOW_S => Ok(window_s),
        other => {
            let what = format!("a window of {other} s");
            Err(source.mistake(property.value_at, what, "write 1 to 86400000 seconds, which are 1,000 days"))
        }
    }
}

fn number(source: &Source, property: &Property) -> Result<u64, Report> {
    /// What a limit can count.
    const MOST: u64 = slidegate::MAX_QUOTA;
    match property.value.parse() {
        Ok(number @ 0..=MOST) => Ok(number),
        _ => {
            let what =
                format!("`{}` does not work as `{}`", shown(&property.value), shown(&property.written));
            Err(source.mistake(property.value_at, what, format!("write a whole number, {MOST} at most")))
        }
    }
}

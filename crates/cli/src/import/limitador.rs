//! Limitador: limits with conditions and variables as rules with conditions and keys.

use std::collections::{BTreeSet, HashMap};

use miette::Report;
use slidegate::policy::file::Span;
use slidegate::store::MAX_LIMITS;
use slidegate::{MAX_QUOTA, MAX_WINDOW_MS};

use super::attribute;
use super::names::Names;
use super::policy_writer::{Item, Quota, Rule, Test, Window, Windows, Written, origin};
use super::quote::shown;
use super::source::Source;
use super::warnings::Warnings;

mod condition;
mod limits;
mod token;
mod translate;

use limits::Limit;
use translate::Said;

const BY_HAND: &str =
    "it is in the policy as a comment: say the condition otherwise, or ask it where the request is made";

pub(super) fn convert(source: &Source, windows: Windows, warnings: &mut Warnings) -> Result<Written, Report> {
    let limits = limits::read(source, warnings)?;
    let mut groups = Groups {
        source,
        window: if windows == Windows::Sliding { Window::Slides } else { Window::Fixed },
        names: Names::default(),
        notes: BTreeSet::new(),
        known: HashMap::new(),
        together: HashMap::new(),
        items: Vec::new(),
    };
    for limit in &limits {
        groups.add(limit, warnings);
    }
    let mut head = head(&source.name, windows);
    head.extend(groups.notes);
    Ok(Written { head, items: groups.items })
}

fn head(name: &str, windows: Windows) -> Vec<String> {
    let mut head = vec![
        format!("Made by `slidegate import limitador` from {}.", shown(name)),
        String::new(),
        "A namespace is the attribute `domain` of a request: of a call by Envoy it is its domain, and over POST /v1/check the caller".to_owned(),
        "gives it. `descriptors[0].user` is the attribute `user`: each descriptor of a call is a request of its own.".to_owned(),
        "A request without a variable of a limit is not counted by it (`missing: skip`); an empty value is none.".to_owned(),
    ];
    head.push(match windows {
        Windows::AsTheyAre => {
            "Windows are aligned to the clock; in Limitador they begin with the first request. Both let up to twice the quota".to_owned()
        }
        Windows::Sliding => {
            "Windows slide; in Limitador they begin with the first request, and let up to twice the quota through around".to_owned()
        }
    });
    head.push(match windows {
        Windows::AsTheyAre => {
            "through around their edges: leave `algorithm: fixed` out (or convert with --sliding) for windows that slide.".to_owned()
        }
        Windows::Sliding => "their edges.".to_owned(),
    });
    head
}

/// Limits of one namespace, with the same conditions and variables, are a rule.
struct Groups<'s> {
    source: &'s Source,
    window: Window,
    names: Names,
    notes: BTreeSet<String>,
    /// Where the rule of a group is among the items.
    known: HashMap<String, usize>,
    /// How many limits a namespace has: as many may apply to one request.
    together: HashMap<String, usize>,
    items: Vec<Item>,
}

impl Groups<'_> {
    fn add(&mut self, limit: &Limit, warnings: &mut Warnings) {
        let mut said = translate::of(limit, warnings);
        let seconds = limit.seconds;
        if seconds == 0 || seconds > MAX_WINDOW_MS / 1_000 {
            said.unsaid.push((
                limit.at,
                format!("a window has 1 to {} seconds, not {seconds}", MAX_WINDOW_MS / 1_000),
            ));
        }
        self.notes.append(&mut said.notes);
        let line = self.source.line(limit.at);
        let what = format!("{} in {seconds} s", limit.max_value);
        let mut comment =
            origin(&limit.name.as_deref().map_or(what.clone(), |name| format!("{name}: {what}")), line);
        let most = limit.max_value.min(MAX_QUOTA);
        if most < limit.max_value {
            comment.push_str(", which is more than can be counted");
        }
        let quota = Quota { count: most, window_s: seconds, window: self.window };
        if !said.unsaid.is_empty() {
            return self.leave_out(limit, said, quota, &comment, warnings);
        }
        self.count(limit, warnings);
        match self.known.get(&said.signature()) {
            Some(index) => self.join(*index, quota, comment),
            None => {
                self.known.insert(said.signature(), self.items.len());
                let rule = self.rule(limit, said, quota, comment);
                self.items.push(Item::Rule(rule));
            }
        }
    }

    fn count(&mut self, limit: &Limit, warnings: &mut Warnings) {
        let limits = self.together.entry(limit.namespace.clone()).or_default();
        *limits += 1;
        if *limits == MAX_LIMITS + 1 {
            let what = format!(
                "the namespace has more than {MAX_LIMITS} limits, and at most {MAX_LIMITS} are decided together"
            );
            let remedy =
                "a request to which more apply is an error: see that their conditions exclude each other";
            warnings.warn(limit.at, what, remedy);
        }
    }

    fn rule(&mut self, limit: &Limit, said: Said, quota: Quota, comment: String) -> Rule {
        let own = limit.name.clone().unwrap_or_else(|| said.summary());
        let mut rule = Rule {
            comments: vec![comment],
            name: self.names.take(&format!("{}-{own}", limit.namespace)),
            matches: vec![("domain".to_owned(), Test::Is(vec![limit.namespace.clone()]))],
            skip_missing: !said.key.is_empty(),
            key: said.key,
            limits: vec![quota],
            allow: said.allow,
            observe: false,
        };
        rule.matches.extend(said.matches);
        refuse_if_nothing_fits(&mut rule);
        rule
    }

    /// Of two limits with one window the smaller one decides.
    fn join(&mut self, index: usize, quota: Quota, comment: String) {
        let Some(Item::Rule(rule)) = self.items.get_mut(index) else { return };
        rule.comments.push(comment);
        if rule.limits.is_empty() {
            return;
        }
        match rule.limits.iter_mut().find(|known| known.window_s == quota.window_s) {
            Some(known) => known.count = known.count.min(quota.count),
            None => rule.limits.push(quota),
        }
        refuse_if_nothing_fits(rule);
    }

    fn leave_out(&mut self, limit: &Limit, said: Said, quota: Quota, comment: &str, warnings: &mut Warnings) {
        let unsaid: Vec<(Span, String)> = said.unsaid.clone();
        let mut rule = self.rule(limit, said, quota, format!("LEFT OUT: {comment}"));
        for (at, why) in unsaid {
            rule.comments.push(format!("  {why}."));
            warnings.warn(at, format!("this limit is left out: {why}"), BY_HAND);
        }
        self.items.push(Item::LeftOut(rule));
    }
}

/// A quota of 0 refuses all that the rule is for, and so whoever has what its key asks.
fn refuse_if_nothing_fits(rule: &mut Rule) {
    if rule.limits.iter().all(|quota| quota.count > 0) {
        return;
    }
    rule.limits.clear();
    for name in std::mem::take(&mut rule.key) {
        let is_asked = rule.matches.iter().any(|(known, _)| *known == name);
        if !is_asked && let Ok(present) = attribute::test(&name, attribute::Asked::Present) {
            rule.matches.push((name, present.test));
        }
    }
}

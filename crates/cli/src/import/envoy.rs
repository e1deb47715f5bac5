//! envoyproxy/ratelimit: a tree of descriptors as rules that are never two of them for one request.
//!
//! That program walks down the tree with a descriptor: at each level the entry's key with its value, then the first wildcard of
//! the file that fits, then the key alone. It never goes back up, and only the depth at which the descriptor ends counts. So a rule is
//! for descriptors of exactly its keys, and does not limit those for which a sibling, at any level, comes first.

use std::collections::{BTreeSet, HashSet};

use miette::Report;

use super::attribute::{self, Asked, Said};
use super::names::Names;
use super::policy_writer::{Item, Quota, Rule, Test, Window, Windows, Written, origin};
use super::quote::shown;
use super::source::Source;
use super::warnings::Warnings;

mod config;
mod preamble;
mod precedence;

use config::{Config, Descriptor, Limit, Value};

const RENAME: &str =
    "give the entry another key in Envoy's rate limit actions and here, or write the rule by hand";

pub(super) fn convert(source: &Source, windows: Windows, warnings: &mut Warnings) -> Result<Written, Report> {
    let Config { domain, descriptors } = config::read(source)?;
    let mut named = HashSet::new();
    names_of_limits(&descriptors, &mut named);
    let mut walk = Walk {
        source,
        windows,
        warnings,
        domain: &domain,
        named,
        names: Names::default(),
        meanings: BTreeSet::new(),
        items: Vec::new(),
    };
    walk.level(&descriptors, &mut Vec::new());
    let mut head = preamble::head(&source.name, windows);
    head.extend(walk.meanings.into_iter().map(str::to_owned));
    Ok(Written { head, items: walk.items })
}

fn names_of_limits<'c>(descriptors: &'c [Descriptor], names: &mut HashSet<&'c str>) {
    for descriptor in descriptors {
        names.extend(descriptor.limit.as_ref().map(|limit| limit.name.as_str()));
        names_of_limits(&descriptor.below, names);
    }
}

struct Walk<'c> {
    source: &'c Source,
    windows: Windows,
    warnings: &'c mut Warnings,
    domain: &'c str,
    /// What limits are called, and so can be replaced by.
    named: HashSet<&'c str>,
    names: Names,
    meanings: BTreeSet<&'static str>,
    items: Vec<Item>,
}

/// A level of the way down to a descriptor.
struct Step<'c> {
    descriptor: &'c Descriptor,
    /// What its value has to be; `None`: anything.
    test: Option<Test>,
    /// Values for which a sibling comes first.
    allow: Vec<(String, Test)>,
}

impl<'c> Walk<'c> {
    fn level(&mut self, siblings: &'c [Descriptor], path: &mut Vec<Step<'c>>) {
        for (index, descriptor) in siblings.iter().enumerate() {
            let is_there = |other: &Descriptor| said(other, path).is_ok();
            let Some(first) = precedence::before(siblings, index, is_there) else {
                let (what, line) = (way(path, descriptor), self.source.line(descriptor.at));
                self.note(format!("{}: never reached, since a wildcard comes first.", origin(&what, line)));
                continue;
            };
            match self.step(descriptor, &first, path) {
                Ok(step) => {
                    path.push(step);
                    self.descriptor(descriptor, path);
                    self.level(&descriptor.below, path);
                    path.pop();
                }
                Err(why) => {
                    let behind = precedence::behind(siblings, index, is_there);
                    self.left_out(descriptor, path, &why, behind);
                }
            }
        }
    }

    /// Tells why, and whose its values are now: what was unlimited may be limited there.
    fn left_out(
        &mut self,
        descriptor: &Descriptor,
        path: &[Step<'_>],
        why: &str,
        behind: Option<&Descriptor>,
    ) {
        let what = way(path, descriptor);
        let mut comment = format!(
            "LEFT OUT: {}, with all below it: {why}.",
            origin(&what, self.source.line(descriptor.at))
        );
        let mut warning = format!("`{}` is left out, with all below it: {why}", shown(&what));
        if let Some(behind) = behind {
            let (other, line) = (shown(&way(path, behind)), self.source.line(behind.at));
            comment.push_str(&format!(" Its values now fall under {other} (line {line})."));
            warning.push_str(&format!("; its values now fall under `{other}` (line {line})"));
        }
        self.note(comment);
        self.warnings.warn(descriptor.at, warning, RENAME);
    }

    fn note(&mut self, note: String) {
        self.items.push(Item::Note(note));
    }

    fn step(
        &mut self,
        descriptor: &'c Descriptor,
        first: &[&Descriptor],
        path: &[Step<'_>],
    ) -> Result<Step<'c>, String> {
        let key = &descriptor.key;
        let said = said(descriptor, path)?;
        if let Some((what, remedy)) = said.as_ref().and_then(|said| said.warning.clone()) {
            self.warnings.warn(descriptor.at, what, remedy);
        }
        self.meanings.extend(attribute::meaning(key));
        let tests = first.iter().filter_map(|other| attribute::test(key, asked(&other.value)?).ok());
        let test = said.map(|said| said.test);
        Ok(Step { descriptor, test, allow: precedence::together(key, tests.map(|said| said.test)) })
    }

    /// What is said of the descriptor at the end of a path.
    fn descriptor(&mut self, descriptor: &'c Descriptor, path: &[Step<'_>]) {
        let line = self.source.line(descriptor.at);
        let origin = origin(&way(&path[..path.len() - 1], descriptor), line);
        match &descriptor.limit {
            None if descriptor.below.is_empty() => self.note(format!("{origin}: has no limit, and passes.")),
            None => {}
            Some(Limit { quota: None, .. }) => self.note(format!("{origin}: unlimited, and passes.")),
            Some(Limit { quota: Some((0, _)), .. }) if descriptor.only_observes() => {
                self.note(format!("{origin}: refuses everything, but in shadow mode, and so passes."));
            }
            Some(limit @ Limit { quota: Some((count, window_s)), .. }) => {
                let window = match self.windows {
                    Windows::AsTheyAre => Window::Fixed,
                    Windows::Sliding => Window::Slides,
                };
                let quota = Quota { count: *count, window_s: *window_s, window };
                let comments = self.comments(descriptor, limit, origin);
                let rule = self.rule(path, comments, quota);
                self.items.push(Item::Rule(rule));
            }
        }
    }

    fn rule(&mut self, path: &[Step<'_>], comments: Vec<String>, quota: Quota) -> Rule {
        let keys: Vec<&str> = path.iter().map(|step| step.descriptor.key.as_str()).collect();
        let is = |text: &str| Test::Is(vec![text.to_owned()]);
        let mut matches =
            vec![("domain".to_owned(), is(self.domain)), ("descriptor".to_owned(), is(&keys.join(",")))];
        matches
            .extend(path.iter().filter_map(|step| Some((step.descriptor.key.clone(), step.test.clone()?))));
        let own = path.iter().map(|step| step.descriptor);
        let own = own.filter(|one| !one.is_shared && !matches!(one.value, Value::Exact(_)));
        let parts = path.iter().map(|step| match &step.descriptor.value {
            Value::Exact(value) | Value::Prefix(value) => format!("-{}_{value}", step.descriptor.key),
            Value::Any => format!("-{}", step.descriptor.key),
        });
        let last = path.last().map(|step| step.descriptor);
        Rule {
            comments,
            name: self.names.take(&format!("{}{}", self.domain, parts.collect::<String>())),
            matches,
            key: own.map(|one| one.key.clone()).collect(),
            limits: if quota.count == 0 { Vec::new() } else { vec![quota] },
            allow: path.iter().flat_map(|step| step.allow.clone()).collect(),
            skip_missing: false,
            observe: last.is_some_and(Descriptor::only_observes),
        }
    }

    fn comments(&mut self, descriptor: &Descriptor, limit: &Limit, origin: String) -> Vec<String> {
        let mut comments = vec![origin];
        if !descriptor.of_metrics.is_empty() {
            let fields = descriptor.of_metrics.join(" and ");
            comments.push(format!("Left out: {fields}, for metrics only."));
        }
        if let Some(at) = descriptor.quota_mode {
            comments.push("quota_mode: it counts and refuses nobody.".to_owned());
            let what = "`quota_mode` lets requests pass, as here, but also tells Envoy in metadata which quota is used up";
            self.warnings.warn(
                at,
                what,
                "read it from the metrics, or remove `mode: observe` to refuse such requests",
            );
        }
        if let Some(at) = descriptor.metadata {
            let what = "`metadata` is not sent back to Envoy";
            self.warnings.warn(at, what, "set it in Envoy's route, if something reads it");
        }
        for (name, at) in &limit.replaces {
            let shown = shown(name);
            if !self.named.contains(name.as_str()) {
                comments.push(format!("Replaces `{shown}`, which no limit of this file is called."));
                continue;
            }
            comments.push(format!("In a call with both, `{shown}` is not replaced: both limits apply."));
            let what = format!(
                "`replaces: {shown}` has no equal: in a call with descriptors for both, both limits apply"
            );
            let remedy = "let Envoy send one of both descriptors, or both keys in one descriptor with a limit of its own";
            self.warnings.warn(*at, what, remedy);
        }
        comments
    }
}

/// How a policy asks for the value of a descriptor; `None`: it does not. The error says why it cannot.
fn said(descriptor: &Descriptor, path: &[Step<'_>]) -> Result<Option<Said>, String> {
    let key = &descriptor.key;
    attribute::check_name(key)?;
    if path.iter().any(|step| step.descriptor.key == *key) {
        return Err(format!("a request has one attribute `{key}`, not two"));
    }
    if key.ends_with('*') && descriptor.value == Value::Any {
        return Err("a rule cannot have a wildcard in the name of an attribute".to_owned());
    }
    asked(&descriptor.value).map(|asked| attribute::test(key, asked)).transpose()
}

/// What a value has to be; `None`: anything.
fn asked(value: &Value) -> Option<Asked<'_>> {
    match value {
        Value::Exact(value) => Some(Asked::Is(value)),
        Value::Prefix(value) => Some(Asked::StartsWith(value)).filter(|_| !value.is_empty()),
        Value::Any => None,
    }
}

/// The way to a descriptor, as people would say it: `tool=hammer, user`.
fn way(path: &[Step<'_>], last: &Descriptor) -> String {
    let all = path.iter().map(|step| step.descriptor).chain([last]);
    let said = all.map(|one| match &one.value {
        Value::Exact(value) => format!("{}={value}", one.key),
        Value::Prefix(value) => format!("{}={value}*", one.key),
        Value::Any => one.key.clone(),
    });
    said.collect::<Vec<_>>().join(", ")
}

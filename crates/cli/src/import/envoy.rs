//! Converter for envoyproxy/ratelimit: a tree of descriptors becomes rules of which at most one
//! applies to a descriptor.
//!
//! That program walks down the tree with a descriptor: at each level it takes the entry's key with
//! its value, then the first matching wildcard of the file, then the key alone. It does not
//! backtrack, and only the depth at which the descriptor ends counts. So a rule matches descriptors
//! of exactly its keys, and does not limit those for which a sibling, at any level, takes
//! precedence.

use std::collections::{BTreeSet, HashSet};

use miette::Report;

use super::WindowOption;
use super::attribute::{self, AttributeTest, TranslatedTest};
use super::comments::{origin, preamble};
use super::source::SourceFile;
use super::warnings::Warnings;
use crate::policy_writer::names::RuleNames;
use crate::policy_writer::quote::excerpt;
use crate::policy_writer::{PolicyDraft, PolicyItem, Quota, RuleDraft, ValueTest, WindowKind};

mod config;
mod precedence;

use config::{DescriptorNode, EnvoyConfig, EnvoyLimit, ValuePattern};

const MEANING: [&str; 3] = [
    "Each descriptor of a call is a request. Its entries are attributes, and there are two more: `domain`, and",
    "`descriptor`, the comma-separated keys of its entries in order. Over POST /v1/check the caller sets both.",
    "A descriptor without a rule passes. A call is denied as a whole, and denied calls are not counted.",
];
const FIXED_WINDOWS: [&str; 2] = [
    "Windows are aligned to the clock, as in envoyproxy/ratelimit, and admit up to twice the quota around their",
    "edges. For sliding windows remove `algorithm: fixed`, or convert with --sliding.",
];
const SLIDING_WINDOWS: [&str; 2] = [
    "Windows slide: no minute, hour or day has more than the quota. In envoyproxy/ratelimit they are aligned to",
    "the clock, which is `algorithm: fixed` here.",
];
const RENAME: &str =
    "rename the entry's key in Envoy's rate limit actions and here, or write the rule by hand";

pub(super) fn convert(
    source: &SourceFile,
    windows: WindowOption,
    warnings: &mut Warnings,
) -> Result<PolicyDraft, Report> {
    let EnvoyConfig { domain, descriptors } = config::read(source)?;
    let mut limit_names = HashSet::new();
    collect_limit_names(&descriptors, &mut limit_names);
    let mut converter = Converter {
        source,
        windows,
        warnings,
        domain: &domain,
        limit_names,
        names: RuleNames::default(),
        meanings: BTreeSet::new(),
        items: Vec::new(),
    };
    converter.level(&descriptors, &mut Vec::new());
    let windows = if windows == WindowOption::Sliding { SLIDING_WINDOWS } else { FIXED_WINDOWS };
    let mut preamble = preamble("envoy", &source.name, &[&MEANING[..], &windows].concat());
    preamble.extend(converter.meanings.into_iter().map(str::to_owned));
    Ok(PolicyDraft { preamble, items: converter.items })
}

fn collect_limit_names<'c>(descriptors: &'c [DescriptorNode], names: &mut HashSet<&'c str>) {
    for descriptor in descriptors {
        names.extend(descriptor.limit.as_ref().map(|limit| limit.name.as_str()));
        collect_limit_names(&descriptor.children, names);
    }
}

/// State of a conversion.
struct Converter<'c> {
    source: &'c SourceFile,
    windows: WindowOption,
    warnings: &'c mut Warnings,
    domain: &'c str,
    /// Names of limits, to which `replaces` refers.
    limit_names: HashSet<&'c str>,
    names: RuleNames,
    meanings: BTreeSet<&'static str>,
    items: Vec<PolicyItem>,
}

/// Level of the path to a descriptor.
struct PathStep<'c> {
    descriptor: &'c DescriptorNode,
    /// Test of its value; `None` means any value.
    test: Option<ValueTest>,
    /// Values for which a sibling takes precedence.
    allow: Vec<(String, ValueTest)>,
}

impl<'c> Converter<'c> {
    fn level(&mut self, siblings: &'c [DescriptorNode], path: &mut Vec<PathStep<'c>>) {
        for (index, descriptor) in siblings.iter().enumerate() {
            let is_converted = |other: &DescriptorNode| translate(other, path).is_ok();
            let Some(first) = precedence::before(siblings, index, is_converted) else {
                let (what, line) = (render_path(path, descriptor), self.source.line(descriptor.at));
                self.note(format!(
                    "{}: never reached, because a wildcard takes precedence.",
                    origin(&what, line)
                ));
                continue;
            };
            match self.step(descriptor, &first, path) {
                Ok(step) => {
                    path.push(step);
                    self.descriptor(descriptor, path);
                    self.level(&descriptor.children, path);
                    path.pop();
                }
                Err(why) => {
                    let next = precedence::next(siblings, index, is_converted);
                    self.omit(descriptor, path, &why, next);
                }
            }
        }
    }

    /// Omits a descriptor, with a warning that also names the sibling to which its values fall: it
    /// may limit what was unlimited.
    fn omit(
        &mut self,
        descriptor: &DescriptorNode,
        path: &[PathStep<'_>],
        why: &str,
        next: Option<&DescriptorNode>,
    ) {
        let what = render_path(path, descriptor);
        let mut comment = format!(
            "OMITTED: {}, with everything below it: {why}.",
            origin(&what, self.source.line(descriptor.at))
        );
        let mut warning = format!("`{}` is omitted, with everything below it: {why}", excerpt(&what));
        if let Some(next) = next {
            let (other, line) = (excerpt(&render_path(path, next)), self.source.line(next.at));
            comment.push_str(&format!(" Its values now fall under {other} (line {line})."));
            warning.push_str(&format!("; its values now fall under `{other}` (line {line})"));
        }
        self.note(comment);
        self.warnings.warn(descriptor.at, warning, RENAME);
    }

    fn note(&mut self, note: String) {
        self.items.push(PolicyItem::Note(note));
    }

    fn step(
        &mut self,
        descriptor: &'c DescriptorNode,
        first: &[&DescriptorNode],
        path: &[PathStep<'_>],
    ) -> Result<PathStep<'c>, String> {
        let key = &descriptor.key;
        let translated = translate(descriptor, path)?;
        for (what, remedy) in translated.iter().flat_map(|translated| &translated.warnings) {
            self.warnings.warn(descriptor.at, what, remedy);
        }
        self.meanings.extend(attribute::meaning(key));
        let tests =
            first.iter().filter_map(|other| attribute::test(key, &attribute_test(&other.value)?).ok());
        let test = translated.map(|translated| translated.test);
        Ok(PathStep { descriptor, test, allow: precedence::alternatives(key, tests.map(|one| one.test)) })
    }

    /// Converts the descriptor at the end of a path to a rule or a note.
    fn descriptor(&mut self, descriptor: &'c DescriptorNode, path: &[PathStep<'_>]) {
        let line = self.source.line(descriptor.at);
        let origin = origin(&render_path(&path[..path.len() - 1], descriptor), line);
        match &descriptor.limit {
            None if descriptor.children.is_empty() => self.note(format!("{origin}: no limit, so it passes.")),
            None => {}
            Some(EnvoyLimit { quota: None, .. }) => self.note(format!("{origin}: unlimited, so it passes.")),
            Some(EnvoyLimit { quota: Some((0, _)), .. }) if descriptor.is_observe_mode() => {
                self.note(format!("{origin}: denies everything, but in shadow mode, so it passes."));
            }
            Some(limit @ EnvoyLimit { quota: Some((count, window_s)), .. }) => {
                let window = match self.windows {
                    WindowOption::Preserve => WindowKind::Fixed,
                    WindowOption::Sliding => WindowKind::Sliding,
                };
                let quota = Quota { count: *count, window_ms: *window_s * 1_000, window };
                let comments = self.comments(descriptor, limit, origin);
                let rule = self.rule(path, comments, quota);
                self.items.push(PolicyItem::Rule(rule));
            }
        }
    }

    fn rule(&mut self, path: &[PathStep<'_>], comments: Vec<String>, quota: Quota) -> RuleDraft {
        let keys: Vec<&str> = path.iter().map(|step| step.descriptor.key.as_str()).collect();
        let is = |text: &str| ValueTest::Is(vec![text.to_owned()]);
        let mut matches =
            vec![("domain".to_owned(), is(self.domain)), ("descriptor".to_owned(), is(&keys.join(",")))];
        matches
            .extend(path.iter().filter_map(|step| Some((step.descriptor.key.clone(), step.test.clone()?))));
        let key = path.iter().map(|step| step.descriptor);
        let key = key.filter(|one| !one.is_shared && !matches!(one.value, ValuePattern::Exact(_)));
        let parts = path.iter().map(|step| match &step.descriptor.value {
            ValuePattern::Exact(value) | ValuePattern::Prefix(value) => {
                format!("-{}_{value}", step.descriptor.key)
            }
            ValuePattern::Any => format!("-{}", step.descriptor.key),
        });
        let last = path.last().map(|step| step.descriptor);
        RuleDraft {
            comments,
            name: self.names.unique(&format!("{}{}", self.domain, parts.collect::<String>())),
            matches,
            key: key.map(|one| one.key.clone()).collect(),
            limits: if quota.count == 0 { Vec::new() } else { vec![quota] },
            allow: path.iter().flat_map(|step| step.allow.clone()).collect(),
            skip_missing: false,
            observe: last.is_some_and(DescriptorNode::is_observe_mode),
        }
    }

    fn comments(&mut self, descriptor: &DescriptorNode, limit: &EnvoyLimit, origin: String) -> Vec<String> {
        let mut comments = vec![origin];
        if !descriptor.metric_fields.is_empty() {
            let fields = descriptor.metric_fields.join(" and ");
            comments.push(format!("Omitted: {fields}, for metrics only."));
        }
        if let Some(at) = descriptor.quota_mode {
            comments.push("quota_mode: it counts and denies nothing.".to_owned());
            let what = "`quota_mode` admits requests, as here, but also reports exceeded quotas to Envoy in metadata";
            self.warnings.warn(
                at,
                what,
                "use the metrics instead, or remove `mode: observe` to deny such requests",
            );
        }
        if let Some(at) = descriptor.metadata {
            let what = "`metadata` is not sent back to Envoy";
            self.warnings.warn(at, what, "set it in Envoy's route if something reads it");
        }
        for (name, at) in &limit.replaces {
            let is_in_file = self.limit_names.contains(name.as_str());
            let name = excerpt(name);
            if !is_in_file {
                comments.push(format!("Replaces `{name}`, but no limit in this file has that name."));
                continue;
            }
            comments.push(format!(
                "`{name}` is not replaced: both limits apply to a call with both descriptors."
            ));
            let what = format!(
                "`replaces: {name}` has no equivalent: both limits apply to a call with both descriptors"
            );
            let remedy = "make Envoy send only one of the descriptors, or both keys in one descriptor with its own limit";
            self.warnings.warn(*at, what, remedy);
        }
        comments
    }
}

/// Test of a descriptor's value in a policy; `None` means any value. The error says why a policy
/// cannot express it.
fn translate(descriptor: &DescriptorNode, path: &[PathStep<'_>]) -> Result<Option<TranslatedTest>, String> {
    let key = &descriptor.key;
    attribute::check_name(key)?;
    if path.iter().any(|step| step.descriptor.key == *key) {
        return Err(format!("a request cannot have two attributes `{key}`"));
    }
    if key.ends_with('*') && descriptor.value == ValuePattern::Any {
        return Err("an attribute name cannot have a wildcard".to_owned());
    }
    attribute_test(&descriptor.value).map(|test| attribute::test(key, &test)).transpose()
}

/// Test of a value; `None` means any value.
fn attribute_test(value: &ValuePattern) -> Option<AttributeTest> {
    match value {
        ValuePattern::Exact(value) => Some(AttributeTest::Is(vec![value.clone()])),
        ValuePattern::Prefix(value) if !value.is_empty() => {
            Some(AttributeTest::StartsWith(vec![value.clone()]))
        }
        ValuePattern::Prefix(_) | ValuePattern::Any => None,
    }
}

/// Path to a descriptor as text: `tool=hammer, user`.
fn render_path(path: &[PathStep<'_>], last: &DescriptorNode) -> String {
    let all = path.iter().map(|step| step.descriptor).chain([last]);
    let parts = all.map(|one| match &one.value {
        ValuePattern::Exact(value) => format!("{}={value}", one.key),
        ValuePattern::Prefix(value) => format!("{}={value}*", one.key),
        ValuePattern::Any => one.key.clone(),
    });
    parts.collect::<Vec<_>>().join(", ")
}

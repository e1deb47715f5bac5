//! Compiler: turns a file into a policy, and reports the errors in its meaning.

use std::collections::HashMap;

use super::diagnostics::{Diagnostics, InvalidValue};
use super::file::{self, File, Span};
use super::limit_set::LimitSet;
use super::path_readings::PathRules;
use super::request_view::{METHOD, PATH};
use super::rule::Rule;
use super::template::Template;
use super::trie::Trie;
use super::{BuiltIns, Policy};

mod conditions;
mod key;
mod limits;
mod rule;

pub(super) use rule::FileContext;

/// Names that are used in a file, for checks across rules.
pub(super) struct UsedNames {
    /// Whether all rules were read. If not, conditions may be missing that were reported.
    has_all_rules: bool,
    /// Position of the name of each rule.
    rules: HashMap<String, Span>,
    /// Rule of each limit, by the name of the limit.
    limits: HashMap<Box<str>, Box<str>>,
}

impl UsedNames {
    /// Names of compiled rules.
    pub(super) fn of(rules: &[Rule]) -> Self {
        let named =
            rules.iter().flat_map(|rule| rule.limit_sets.iter().map(move |limit_set| (rule, limit_set)));
        let limits = named.flat_map(|(rule, limit_set)| {
            limit_set.names().iter().map(|name| (name.clone(), rule.name.clone()))
        });
        Self { has_all_rules: true, rules: HashMap::new(), limits: limits.collect() }
    }
}

/// Conditions of a temporary override of a rule with these templates.
pub(super) fn conditions_of(
    written: &file::Conditions,
    templates: &[Template],
    paths: PathRules,
    diagnostics: &Diagnostics,
) -> super::condition::Predicates {
    conditions::of(written, conditions::RuleContext { templates, paths }, diagnostics)
}

/// Limit set of a temporary override of a rule.
pub(super) fn limit_set_of(
    written: &file::Spanned<Vec<file::LimitEntry>>,
    rule: &Rule,
    used: &mut UsedNames,
    diagnostics: &Diagnostics,
) -> LimitSet {
    let of = limits::LimitContext { name: &rule.name, refundable: rule.entry.refundable };
    limits::compile(written, of, used, diagnostics)
}

/// Compiles a file and reports all errors. Without errors the result can be used.
pub(super) fn compile(file: File, has_all_rules: bool, diagnostics: &Diagnostics) -> Policy {
    let File { paths, ipv6_prefix, rules } = file;
    if let Some(bits) = ipv6_prefix.value.filter(|bits| !(1..=128).contains(bits)) {
        let message = format!("invalid IPv6 prefix length {bits}");
        diagnostics.report(ipv6_prefix.at, message, "use 1 to 128; 64 is common");
    }
    let ipv6_prefix = ipv6_prefix.value.unwrap_or(64);
    let mut used = UsedNames { has_all_rules, rules: HashMap::new(), limits: HashMap::new() };
    let path_rules = PathRules { ignore_case: paths.ignore_case };
    let context = FileContext { ipv6_prefix, paths: path_rules };
    let rules = rules.into_iter().map(|rule| rule::compile(rule, context, &mut used, diagnostics));
    policy(rules.collect(), context)
}

pub(super) fn policy(rules: Box<[Rule]>, context: FileContext) -> Policy {
    let (mut trie, mut anywhere) = (Trie::default(), Vec::new());
    for (index, rule) in rules.iter().enumerate() {
        let number = index as u32;
        let has_path =
            rule.entry.matches.0.iter().any(|condition| condition.attribute == super::request_view::PATH);
        if !has_path {
            anywhere.push(number);
        }
        rule.templates.iter().for_each(|template| trie.insert(template, number));
    }
    let by_name = rules.iter().enumerate().map(|(index, rule)| (rule.name.clone(), index)).collect();
    let FileContext { ipv6_prefix, paths } = context;
    let reads = |name| rules.iter().any(|rule| rule.reads(name));
    let built_ins = BuiltIns { method: reads(METHOD), path: reads(PATH), host: reads("host") };
    let is_plain = matches!(&*rules, [rule] if rule.is_for_all() && rule.is_plain());
    Policy {
        rules,
        trie,
        anywhere: anywhere.into(),
        by_name,
        paths,
        built_ins,
        ipv6_prefix,
        has_routes: false,
        is_plain,
    }
}

/// Values of the valid strings. The invalid ones are reported, or were.
fn each<T>(
    texts: &[file::Spanned<String>],
    diagnostics: &Diagnostics,
    make: impl Fn(&str) -> Result<T, InvalidValue>,
) -> Vec<T> {
    let made = texts.iter().filter_map(|spot| match make(spot.value.as_deref()?) {
        Ok(made) => Some(made),
        Err(error) => {
            error.report(spot.at, diagnostics);
            None
        }
    });
    made.collect()
}

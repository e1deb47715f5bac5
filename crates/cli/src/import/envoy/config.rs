//! Configuration file of envoyproxy/ratelimit, validated as that program validates it.

use std::collections::HashMap;

use miette::Report;
use slidegate::policy::file::Span;
use slidegate::policy::yaml::{Entry, Node};

use super::super::source::SourceFile;
use crate::policy_writer::quote::excerpt;

/// A domain and its descriptors.
pub(super) struct EnvoyConfig {
    pub(super) domain: String,
    pub(super) descriptors: Vec<DescriptorNode>,
}

/// Descriptor in the tree.
#[derive(Default, Debug)]
pub(super) struct DescriptorNode {
    pub(super) at: Span,
    pub(super) key: String,
    pub(super) value: ValuePattern,
    pub(super) limit: Option<EnvoyLimit>,
    pub(super) children: Vec<DescriptorNode>,
    pub(super) is_shadow: bool,
    /// Location of `quota_mode` and of `metadata`, which have no equivalent.
    pub(super) quota_mode: Option<Span>,
    pub(super) metadata: Option<Span>,
    /// Whether all values of a wildcard share one count.
    pub(super) is_shared: bool,
    /// Fields that only change metrics.
    pub(super) metric_fields: Vec<&'static str>,
}

impl DescriptorNode {
    /// Whether it counts requests and denies none.
    pub(super) fn is_observe_mode(&self) -> bool {
        self.is_shadow || self.quota_mode.is_some()
    }
}

/// Pattern of an entry's value.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) enum ValuePattern {
    Exact(String),
    /// Written with a trailing `*`.
    Prefix(String),
    #[default]
    Any,
}

/// `rate_limit` of a descriptor.
#[derive(Debug)]
pub(super) struct EnvoyLimit {
    /// Requests and seconds; `None` means unlimited.
    pub(super) quota: Option<(u64, u64)>,
    pub(super) name: String,
    pub(super) replaces: Vec<(String, Span)>,
}

pub(super) fn read(source: &SourceFile) -> Result<EnvoyConfig, Report> {
    let documents = source.documents()?;
    let root = match &*documents {
        [] => {
            return Err(source.error(
                Span::default(),
                "the file is empty",
                "it needs `domain` and `descriptors`",
            ));
        }
        [root] => root,
        [_, second, ..] => {
            let remedy = "convert one domain at a time, and combine the rules";
            return Err(source.error(second.head(), "more than one document", remedy));
        }
    };
    let (mut domain, mut descriptors) = (String::new(), Vec::new());
    for Entry { key, key_at, value } in source.mapping(root, "the file")? {
        match key.as_str() {
            "domain" => source.text(value, key)?.clone_into(&mut domain),
            "descriptors" => descriptors = level(source, value)?,
            _ => return Err(unknown(source, *key_at, key, "domain, descriptors")),
        }
    }
    if domain.is_empty() {
        return Err(source.error(
            root.head(),
            "missing `domain`",
            "add `domain: name` before the descriptors",
        ));
    }
    Ok(EnvoyConfig { domain, descriptors })
}

fn unknown(source: &SourceFile, at: Span, key: &str, fields: &str) -> Report {
    let what = format!("unknown field `{}`", excerpt(key));
    source.error(at, what, format!("envoyproxy/ratelimit has {fields} here"))
}

/// Descriptors of one level: every key and value once.
fn level(source: &SourceFile, node: &Node) -> Result<Vec<DescriptorNode>, Report> {
    let mut first_at: HashMap<String, Span> = HashMap::new();
    let mut found = Vec::new();
    for item in source.list(node, "`descriptors`")? {
        let descriptor = descriptor(source, item)?;
        // As that program looks it up: `a_b` and `a` with the value `b` are the same.
        let composite = match &descriptor.value {
            ValuePattern::Exact(value) => format!("{}_{value}", descriptor.key),
            ValuePattern::Prefix(value) => format!("{}_{value}*", descriptor.key),
            ValuePattern::Any => descriptor.key.clone(),
        };
        if let Some(first) = first_at.insert(composite.clone(), descriptor.at) {
            let line = source.line(first);
            let what = format!("duplicate descriptor `{}`: first on line {line}", excerpt(&composite));
            return Err(source.error(descriptor.at, what, "remove one of them"));
        }
        found.push(descriptor);
    }
    Ok(found)
}

fn descriptor(source: &SourceFile, node: &Node) -> Result<DescriptorNode, Report> {
    let mut read = DescriptorNode { at: node.head(), ..DescriptorNode::default() };
    let mut shared_at = Span::default();
    for Entry { key, key_at, value } in source.mapping(node, "a descriptor")? {
        match key.as_str() {
            "key" => source.text(value, key)?.clone_into(&mut read.key),
            "value" => read.value = test(source.text(value, key)?),
            "rate_limit" if value.is_null() => {}
            "rate_limit" => read.limit = Some(limit(source, value)?),
            "descriptors" => read.children = level(source, value)?,
            "shadow_mode" => read.is_shadow = source.flag(value, key)?,
            "quota_mode" => read.quota_mode = source.flag(value, key)?.then_some(*key_at),
            "metadata" => read.metadata = Some(*key_at),
            "share_threshold" => {
                read.is_shared = source.flag(value, key)?;
                shared_at = *key_at;
            }
            "detailed_metric" if source.flag(value, key)? => read.metric_fields.push("detailed_metric"),
            "value_to_metric" if source.flag(value, key)? => read.metric_fields.push("value_to_metric"),
            "detailed_metric" | "value_to_metric" => {}
            _ => {
                let fields = "key, value, rate_limit, descriptors, shadow_mode, quota_mode, share_threshold, \
                             detailed_metric, value_to_metric, metadata";
                return Err(unknown(source, *key_at, key, fields));
            }
        }
    }
    if read.key.is_empty() {
        return Err(source.error(read.at, "missing `key` of a descriptor", "add `key: name`"));
    }
    if read.is_shared && !matches!(read.value, ValuePattern::Prefix(_)) {
        let what = "`share_threshold` requires a value that ends in `*`";
        return Err(source.error(shared_at, what, "remove it, or write a wildcard"));
    }
    Ok(read)
}

fn test(value: &str) -> ValuePattern {
    match value.strip_suffix('*') {
        _ if value.is_empty() => ValuePattern::Any,
        Some(prefix) => ValuePattern::Prefix(prefix.to_owned()),
        None => ValuePattern::Exact(value.to_owned()),
    }
}

fn limit(source: &SourceFile, node: &Node) -> Result<EnvoyLimit, Report> {
    let (mut count, mut unit, mut is_unlimited) = (0, None, false);
    let (mut name, mut replaces) = (String::new(), Vec::new());
    for Entry { key, key_at, value } in source.mapping(node, "a rate limit")? {
        match key.as_str() {
            "requests_per_unit" => {
                count = source.number(value, key)?;
                if count > u64::from(u32::MAX) {
                    let what = format!("`requests_per_unit` {count} is too large for envoyproxy/ratelimit");
                    return Err(source.error(value.at, what, format!("write at most {}", u32::MAX)));
                }
            }
            "unit" => unit = Some((source.text(value, key)?, value.at)).filter(|(unit, _)| !unit.is_empty()),
            "unlimited" => is_unlimited = source.flag(value, key)?,
            "name" => source.text(value, key)?.clone_into(&mut name),
            "replaces" => replaces = replaced(source, value)?,
            _ => {
                let fields = "unit, requests_per_unit, unlimited, name, replaces";
                return Err(unknown(source, *key_at, key, fields));
            }
        }
    }
    if let Some((_, at)) = replaces.iter().find(|(other, _)| *other == name) {
        return Err(source.error(*at, "a limit cannot replace itself", "name another limit"));
    }
    let quota = match (is_unlimited, unit) {
        (true, None) => None,
        (true, Some((_, at))) => {
            return Err(source.error(at, "an unlimited limit cannot have a unit", "remove one of them"));
        }
        (false, Some((unit, at))) => Some((count, seconds(source, unit, at)?)),
        (false, None) => {
            return Err(source.error(node.head(), "missing `unit`", "add, for example, `unit: minute`"));
        }
    };
    Ok(EnvoyLimit { quota, name, replaces })
}

fn replaced(source: &SourceFile, node: &Node) -> Result<Vec<(String, Span)>, Report> {
    let mut names = Vec::new();
    for item in source.list(node, "`replaces`")? {
        let mut name = "";
        for Entry { key, key_at, value } in source.mapping(item, "an item of `replaces`")? {
            match key.as_str() {
                "name" => name = source.text(value, key)?,
                _ => return Err(unknown(source, *key_at, key, "name")),
            }
        }
        if name.is_empty() {
            return Err(source.error(item.head(), "missing `name` in `replaces`", "write `- name: limit`"));
        }
        names.push((name.to_owned(), item.head()));
    }
    Ok(names)
}

/// Seconds of a unit. In envoyproxy/ratelimit a month has 30 days, and a year 365.
fn seconds(source: &SourceFile, unit: &str, at: Span) -> Result<u64, Report> {
    const DAY_S: u64 = 86_400;
    Ok(match unit.to_ascii_lowercase().as_str() {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => DAY_S,
        "week" => 7 * DAY_S,
        "month" => 30 * DAY_S,
        "year" => 365 * DAY_S,
        _ => {
            let what = format!("invalid unit `{}`", excerpt(unit));
            return Err(source.error(at, what, "write second, minute, hour, day, week, month or year"));
        }
    })
}

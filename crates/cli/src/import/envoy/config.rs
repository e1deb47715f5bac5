//! A file of envoyproxy/ratelimit, checked as that program checks it.

use std::collections::HashMap;

use miette::Report;
use slidegate::policy::file::Span;

use super::super::quote::shown;
use super::super::source::Source;
use super::super::tree::{self, Entry, Node};

pub(super) struct Config {
    pub(super) domain: String,
    pub(super) descriptors: Vec<Descriptor>,
}

#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) at: Span,
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) limit: Option<Limit>,
    pub(super) below: Vec<Descriptor>,
    pub(super) is_shadow: bool,
    /// Where `quota_mode` and `metadata` stand: what they ask for is not answered.
    pub(super) quota_mode: Option<Span>,
    pub(super) metadata: Option<Span>,
    /// All values of a wildcard are counted together.
    pub(super) is_shared: bool,
    /// Fields that only change metrics.
    pub(super) of_metrics: Vec<&'static str>,
}

impl Descriptor {
    /// Whether it lets pass what it counts.
    pub(super) fn only_observes(&self) -> bool {
        self.is_shadow || self.quota_mode.is_some()
    }
}

/// What the value of an entry has to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Exact(String),
    /// Written with a `*` at its end.
    Prefix(String),
    Any,
}

#[derive(Debug)]
pub(super) struct Limit {
    /// `None`: unlimited.
    pub(super) quota: Option<(u64, u64)>,
    pub(super) name: String,
    pub(super) replaces: Vec<(String, Span)>,
}

pub(super) fn read(source: &Source) -> Result<Config, Report> {
    let documents = tree::documents(source)?;
    let root = match &*documents {
        [] => {
            return Err(source.mistake(
                Span::default(),
                "the file is empty",
                "write `domain` and `descriptors`",
            ));
        }
        [root] => root,
        [_, second, ..] => {
            let remedy = "convert one domain at a time, and put the rules together";
            return Err(source.mistake(second.head(), "a second document starts here", remedy));
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
        return Err(source.mistake(
            root.head(),
            "there is no domain",
            "write `domain: name` before the descriptors",
        ));
    }
    Ok(Config { domain, descriptors })
}

fn unknown(source: &Source, at: Span, key: &str, known: &str) -> Report {
    let what = format!("envoyproxy/ratelimit does not know `{}` here", shown(key));
    source.mistake(at, what, format!("it knows {known}"))
}

/// Descriptors beside each other: each key and value once.
fn level(source: &Source, node: &Node) -> Result<Vec<Descriptor>, Report> {
    let mut seen: HashMap<String, Span> = HashMap::new();
    let mut found = Vec::new();
    for item in source.list(node, "descriptors")? {
        let descriptor = descriptor(source, item)?;
        // As that program looks for it, which is why `a_b` and `a` with the value `b` are the same.
        let composite = match &descriptor.value {
            Value::Exact(value) => format!("{}_{value}", descriptor.key),
            Value::Prefix(value) => format!("{}_{value}*", descriptor.key),
            Value::Any => descriptor.key.clone(),
        };
        if let Some(first) = seen.insert(composite.clone(), descriptor.at) {
            let line = source.line(first);
            let what = format!("`{}` is here twice; the first is on line {line}", shown(&composite));
            return Err(source.mistake(descriptor.at, what, "remove one of them"));
        }
        found.push(descriptor);
    }
    Ok(found)
}

fn descriptor(source: &Source, node: &Node) -> Result<Descriptor, Report> {
    let mut read = Descriptor {
        at: node.head(),
        key: String::new(),
        value: Value::Any,
        limit: None,
        below: Vec::new(),
        is_shadow: false,
        quota_mode: None,
        metadata: None,
        is_shared: false,
        of_metrics: Vec::new(),
    };
    let mut shared_at = Span::default();
    for Entry { key, key_at, value } in source.mapping(node, "a descriptor")? {
        match key.as_str() {
            "key" => source.text(value, key)?.clone_into(&mut read.key),
            "value" => read.value = test(source.text(value, key)?),
            "rate_limit" if value.is_nothing() => {}
            "rate_limit" => read.limit = Some(limit(source, value)?),
            "descriptors" => read.below = level(source, value)?,
            "shadow_mode" => read.is_shadow = source.flag(value, key)?,
            "quota_mode" => read.quota_mode = source.flag(value, key)?.then_some(*key_at),
            "metadata" => read.metadata = Some(*key_at),
            "share_threshold" => {
                read.is_shared = source.flag(value, key)?;
                shared_at = *key_at;
            }
            "detailed_metric" if source.flag(value, key)? => read.of_metrics.push("detailed_metric"),
            "value_to_metric" if source.flag(value, key)? => read.of_metrics.push("value_to_metric"),
            "detailed_metric" | "value_to_metric" => {}
            _ => {
                let known = "key, value, rate_limit, descriptors, shadow_mode, quota_mode, share_threshold, \
                             detailed_metric, value_to_metric, metadata";
                return Err(unknown(source, *key_at, key, known));
            }
        }
    }
    if read.key.is_empty() {
        return Err(source.mistake(read.at, "a descriptor without a key", "write `key: name`"));
    }
    if read.is_shared && !matches!(read.value, Value::Prefix(_)) {
        let what = "`share_threshold` is for values that end in `*`";
        return Err(source.mistake(shared_at, what, "leave it out, or write a wildcard"));
    }
    Ok(read)
}

fn test(value: &str) -> Value {
    match value.strip_suffix('*') {
        _ if value.is_empty() => Value::Any,
        Some(prefix) => Value::Prefix(prefix.to_owned()),
        None => Value::Exact(value.to_owned()),
    }
}

fn limit(source: &Source, node: &Node) -> Result<Limit, Report> {
    let (mut count, mut unit, mut is_unlimited) = (0, None, false);
    let (mut name, mut replaces) = (String::new(), Vec::new());
    for Entry { key, key_at, value } in source.mapping(node, "a rate limit")? {
        match key.as_str() {
            "requests_per_unit" => {
                count = source.number(value, key)?;
                if count > u64::from(u32::MAX) {
                    let what = format!("{count} requests are more than envoyproxy/ratelimit can count");
                    return Err(source.mistake(value.at, what, format!("write {} at most", u32::MAX)));
                }
            }
            "unit" => unit = Some((source.text(value, key)?, value.at)).filter(|(unit, _)| !unit.is_empty()),
            "unlimited" => is_unlimited = source.flag(value, key)?,
            "name" => source.text(value, key)?.clone_into(&mut name),
            "replaces" => replaces = replaced(source, value)?,
            _ => {
                let known = "unit, requests_per_unit, unlimited, name, replaces";
                return Err(unknown(source, *key_at, key, known));
            }
        }
    }
    if let Some((_, at)) = replaces.iter().find(|(other, _)| *other == name) {
        return Err(source.mistake(*at, "a limit that replaces itself", "name another"));
    }
    let quota = match (is_unlimited, unit) {
        (true, None) => None,
        (true, Some((_, at))) => {
            return Err(source.mistake(at, "a limit that is unlimited has no unit", "remove one of them"));
        }
        (false, Some((unit, at))) => Some((count, seconds(source, unit, at)?)),
        (false, None) => {
            return Err(source.mistake(
                node.head(),
                "a limit without a unit",
                "write `unit: minute`, for instance",
            ));
        }
    };
    Ok(Limit { quota, name, replaces })
}

fn replaced(source: &Source, node: &Node) -> Result<Vec<(String, Span)>, Report> {
    let mut names = Vec::new();
    for item in source.list(node, "replaces")? {
        let mut name = "";
        for Entry { key, key_at, value } in source.mapping(item, "what is replaced")? {
            match key.as_str() {
                "name" => name = source.text(value, key)?,
                _ => return Err(unknown(source, *key_at, key, "name")),
            }
        }
        if name.is_empty() {
            return Err(source.mistake(item.head(), "nothing is replaced", "write `- name: limit`"));
        }
        names.push((name.to_owned(), item.head()));
    }
    Ok(names)
}

/// A month has 30 days there, and a year 365.
fn seconds(source: &Source, unit: &str, at: Span) -> Result<u64, Report> {
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
            let what = format!("`{}` is no unit", shown(unit));
            return Err(source.mistake(at, what, "write second, minute, hour, day, week, month or year"));
        }
    })
}

//! What a policy says, worked out in the simplest way from the file: a scan, with lists of texts.

use std::net::IpAddr;

use sha2::{Digest, Sha256};
use slidegate::policy::file::{
    Condition, Conditions, File, LimitEntry, Missing, Mode, Percent, RuleEntry, Test,
};
use slidegate::policy::{Blocked, Choice, Hit, HitMode};
use slidegate::store::MAX_LIMITS;
use slidegate::{Key, Limit, Request, RequestError};

use super::naive_path::{Reading, canonical, readings, template_segments};

/// The parameters of a template, if it matches.
fn matched(template: &str, (path, slash): &Reading, is_prefix: bool) -> Option<Vec<(String, String)>> {
    let template = template_segments(template);
    let mut parameters = Vec::new();
    for (index, segment) in template.iter().enumerate() {
        let name = segment.trim_matches(['{', '*', '}']).to_owned();
        if segment.starts_with("{*") {
            let rest = path.get(index..).filter(|rest| !rest.is_empty() || *slash)?;
            parameters.push((name, rest.join("/")));
            return Some(parameters);
        }
        let part = path.get(index)?;
        if segment.starts_with('{') {
            parameters.push((name, part.clone()));
        } else if segment != part {
            return None;
        }
    }
    (is_prefix || template.len() == path.len()).then_some(parameters)
}

fn texts(test: &Test) -> (Vec<&str>, bool) {
    let (spots, is_prefix) = match test {
        Test::Is(spots) => (spots, false),
        Test::Prefix(spots) => (spots, true),
    };
    (spots.iter().filter_map(|spot| spot.value.as_deref()).collect(), is_prefix)
}

fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) if address.to_bits() >> 32 == 0xffff => (address.to_bits() & 0xffff_ffff, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

fn is_in(address: IpAddr, net: &str) -> bool {
    let (net, length) = match net.split_once('/') {
        Some((net, length)) => (net, length.parse().expect("a length")),
        None => (net, bits(net.parse().expect("an address")).1),
    };
    let ((net, width), (address, width_too)) = (bits(net.parse().expect("an address")), bits(address));
    let shift = width - length;
    width == width_too && (shift == 128 || net >> shift == address >> shift)
}

struct RuleMatch<'a, 'b> {
    rule: &'a RuleEntry,
    request: &'a Request<'b>,
    /// By one reading.
    path: Option<Reading>,
    /// Whether there are others.
    has_others: bool,
    prefix: u8,
}

impl RuleMatch<'_, '_> {
    fn address(&self) -> Result<Option<IpAddr>, RequestError> {
        let Some(text) = self.request.get("ip").filter(|text| !text.is_empty()) else { return Ok(None) };
        let wrong = RequestError::NotAnAddress { attribute: "ip".to_owned(), value: text.to_owned() };
        text.parse().map(Some).map_err(|_| wrong)
    }

    /// The parameter of the rule's own path, or the attribute.
    fn value(&self, name: &str) -> Option<String> {
        let captured = self.captured(name).map(|part| part.replace("%25", "%"));
        captured.or_else(|| self.request.get(name).map(str::to_owned))
    }

    fn captured(&self, name: &str) -> Option<String> {
        let path = self.rule.matches.0.iter().find(|condition| condition.attribute == "path");
        path.and_then(|condition| {
            let (templates, is_prefix) = texts(&condition.test);
            let parameters =
                templates.iter().filter_map(|template| matched(template, self.path.as_ref()?, is_prefix));
            parameters.flatten().find(|(key, _)| key == name).map(|(_, value)| value)
        })
    }

    /// What a part of a path counts as.
    fn counted(&self, part: String) -> String {
        if self.has_others { canonical(&part) } else { part }
    }

    fn holds(&self, condition: &Condition) -> Result<bool, RequestError> {
        let (texts, is_prefix) = texts(&condition.test);
        let compare =
            |value: &str, text: &str| if is_prefix { value.starts_with(text) } else { value == text };
        Ok(match condition.attribute.as_str() {
            "path" => self.path.as_ref().is_some_and(|path| {
                texts.iter().any(|template| matched(template, path, is_prefix).is_some())
            }),
            "ip" => self.address()?.is_some_and(|address| texts.iter().any(|net| is_in(address, net))),
            "method" => self.request.get("method").is_some_and(|value| {
                texts.iter().any(|text| compare(&value.to_lowercase(), &text.to_lowercase()))
            }),
            name => self.value(name).is_some_and(|value| texts.iter().any(|text| compare(&value, text))),
        })
    }

    /// Addresses are looked at last.
    fn hold(&self, conditions: &Conditions) -> Result<bool, RequestError> {
        let (addresses, others): (Vec<_>, Vec<_>) =
            conditions.0.iter().partition(|condition| condition.attribute == "ip");
        for condition in others.into_iter().chain(addresses) {
            if !self.holds(condition)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn key_value(&self, name: &str) -> Result<Option<String>, RequestError> {
        let value = match name {
            "ip" => self.address()?.map(|address| match bits(address) {
                (bits, 32) => std::net::Ipv4Addr::from_bits(bits as u32).to_string(),
                // NAT64 and 6to4: the address inside.
                (bits, _) if bits >> 32 == 0x64_ff9b << 64 => {
                    std::net::Ipv4Addr::from_bits(bits as u32).to_string()
                }
                (bits, _) if bits >> 112 == 0x2002 => {
                    std::net::Ipv4Addr::from_bits((bits >> 80) as u32).to_string()
                }
                (bits, _) => {
                    let network = bits & (u128::MAX << (128 - u32::from(self.prefix)));
                    format!("{}/{}", std::net::Ipv6Addr::from_bits(network), self.prefix)
                }
            }),
            "path" => self.path.as_ref().map(|(path, _)| match self.counted(path.join("/")) {
                root if root.is_empty() => "/".to_owned(),
                path => path,
            }),
            "method" => self.request.get("method").map(str::to_uppercase),
            name => {
                let captured = self.captured(name).map(|part| self.counted(part));
                captured.or_else(|| self.request.get(name).map(str::to_owned))
            }
        };
        Ok(value.filter(|value| !value.is_empty()))
    }

    /// The parts of a key, or the only one, and whether nothing is missing.
    fn subject(&self) -> Result<Subject, RequestError> {
        let (mut parts, mut complete) = (Vec::new(), true);
        let written: Vec<Vec<&str>> = self
            .rule
            .key
            .iter()
            .filter_map(|part| part.value.as_deref())
            .map(|part| part.split('|').map(str::trim).collect())
            .collect();
        for names in &written {
            let mut found = None;
            for (index, name) in names.iter().enumerate() {
                if found.is_none() {
                    found = self.key_value(name)?.map(|value| (index, value));
                }
            }
            match found {
                Some((0, value)) if written.len() == 1 => return Ok((Err(value), true)),
                Some((index, value)) if names.len() > 1 => parts.extend([names[index].to_owned(), value]),
                Some((_, value)) => parts.push(value),
                None => {
                    parts.push(String::new());
                    complete = false;
                }
            }
        }
        let is_single = written.is_empty() || written.len() == 1 && !complete;
        Ok((if is_single { Err(String::new()) } else { Ok(parts) }, complete))
    }
}

/// Whether one of some conditions holds by one of the readings.
fn denies(readings: &[RuleMatch<'_, '_>], list: &[Conditions]) -> Result<bool, RequestError> {
    for conditions in list {
        for reading in readings {
            if reading.hold(conditions)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The first of some conditions that hold by all of the readings.
fn selects<'c>(
    readings: &[RuleMatch<'_, '_>],
    list: impl IntoIterator<Item = &'c Conditions>,
) -> Result<Option<usize>, RequestError> {
    'list: for (index, conditions) in list.into_iter().enumerate() {
        for reading in readings {
            if !reading.hold(conditions)? {
                continue 'list;
            }
        }
        return Ok(Some(index));
    }
    Ok(None)
}

type Subject = (Result<Vec<String>, String>, bool);

/// The subject, whether any reading lacks something, and whether all mean the same. Only readings
/// count for which the rule is.
fn subject(readings: &[RuleMatch<'_, '_>]) -> Result<(Subject, bool, bool), RequestError> {
    let is_for = |reading: &RuleMatch<'_, '_>| {
        let path = reading.rule.matches.0.iter().find(|condition| condition.attribute == "path");
        path.is_none_or(|path| reading.holds(path) == Ok(true))
    };
    let any = readings.iter().any(is_for);
    let meant = readings.iter().filter(|reading| !any || is_for(reading));
    let subjects = meant.map(RuleMatch::subject).collect::<Result<Vec<Subject>, _>>()?;
    let (full, lacking): (Vec<Subject>, Vec<Subject>) = subjects.into_iter().partition(|(_, all)| *all);
    let kind = if full.is_empty() { &lacking } else { &full };
    let mut agrees = kind.iter().all(|subject| *subject == kind[0]);
    if !full.is_empty() && !lacking.is_empty() && readings[0].rule.missing() == Missing::Shared {
        agrees = false;
    }
    Ok((kind[0].clone(), !lacking.is_empty(), agrees))
}

fn is_in_share(key: &Result<Vec<String>, String>, Percent(hundredths): Percent) -> bool {
    let mut bytes = Vec::new();
    match key {
        Err(single) => {
            bytes.push(0);
            bytes.extend(single.as_bytes());
        }
        Ok(parts) => {
            bytes.push(1);
            for part in parts {
                bytes.extend((part.len() as u64).to_le_bytes());
                bytes.extend(part.as_bytes());
            }
        }
    }
    let digest = Sha256::digest(&bytes);
    let first = u64::from_be_bytes(digest[..8].try_into().expect("eight bytes"));
    (u128::from(first) * 10_000) >> 64 < u128::from(hundredths)
}

/// Whether every other limit has one of the same kind and window here that is no larger; no bursts
/// are generated.
fn are_as_tight(limits: Option<&Vec<LimitEntry>>, others: Option<&Vec<LimitEntry>>) -> bool {
    let all = |entries: Option<&Vec<LimitEntry>>| -> Vec<Limit> {
        entries.into_iter().flatten().filter_map(|entry| entry.limit).collect()
    };
    let (limits, others) = (all(limits), all(others));
    let covers = |one: &Limit, other: &Limit| one.id() == other.id() && one.quota() <= other.quota();
    others.iter().all(|other| limits.iter().any(|one| covers(one, other)))
}

/// What a policy of this file says.
pub(crate) fn choose<'k>(file: &File, request: &Request<'_>) -> Result<Choice<'k>, RequestError> {
    let mut hits: Vec<Hit<'k>> = Vec::new();
    let mut counts = [0, 0];
    let paths = request.get("path").map(readings);
    let paths: Vec<Option<Reading>> = paths.map_or(vec![None], |all| all.into_iter().map(Some).collect());
    let has_others = paths.len() > 1;
    for (index, rule) in file.rules.iter().enumerate() {
        let prefix = file.ipv6_prefix.value.unwrap_or_default();
        let by = |path: &Option<Reading>| RuleMatch { rule, request, path: path.clone(), has_others, prefix };
        let any: Vec<RuleMatch<'_, '_>> = paths.iter().map(by).collect();
        let without_slash = |path: &Reading| (path.0.clone(), false);
        let every: Vec<RuleMatch<'_, '_>> =
            paths.iter().map(|path| by(&path.as_ref().map(without_slash))).collect();
        if !denies(&any, std::slice::from_ref(&rule.matches))? {
            continue;
        }
        let denied = denies(&any, &rule.deny)?;
        if denied && rule.mode == Mode::Enforce {
            return Ok(Choice::Blocked { rule: index, reason: Blocked::DenyList });
        }
        if !denied && selects(&every, &rule.allow)?.is_some() {
            continue;
        }
        let ((key, complete), any_lacks, agrees) = subject(&any)?;
        if !denied && !complete && rule.missing() == Missing::Skip {
            continue;
        }
        let why = match (denied, any_lacks, rule.missing()) {
            (true, ..) => Some(Blocked::DenyList),
            (false, true, Missing::Deny) => Some(Blocked::MissingKey),
            _ => None,
        };
        let enforced = match &rule.mode {
            Mode::Enforce => true,
            Mode::Observe => false,
            Mode::Share(share) => is_in_share(&key, *share),
            Mode::For(list) => denies(&any, list)?,
        };
        let key = match key {
            Err(single) => Key::from(single),
            Ok(parts) => Key::from_parts(parts.iter()),
        };
        if let Some(why) = why {
            if enforced {
                return Ok(Choice::Blocked { rule: index, reason: why });
            }
            let would_block = Some(why);
            hits.push(Hit {
                rule: index,
                limit_set: 0,
                key,
                mode: HitMode::Observe,
                route: 0,
                lacks_key: false,
                would_block,
            });
            continue;
        }
        if enforced && !agrees {
            return Err(RequestError::AmbiguousPath { rule: rule.name.value.clone().unwrap_or_default() });
        }
        let tier = rule.tiers.keys().position(|tier| Some(tier.as_str()) == request.get("tier"));
        let of_tier = tier.map_or(0, |tier| 1 + rule.overrides.len() + tier);
        let limit_set =
            selects(&every, rule.overrides.iter().map(|other| &other.when))?.map_or(of_tier, |at| 1 + at);
        let sets = std::iter::once(&rule.limits).chain(rule.overrides.iter().map(|other| &other.limits));
        let set = sets.chain(rule.tiers.values()).nth(limit_set).and_then(|set| set.value.as_ref());
        for (at, other) in rule.overrides.iter().enumerate() {
            let is_before = at + 1 < limit_set || limit_set == 0 || limit_set > rule.overrides.len();
            let is_tighter = !are_as_tight(set, other.limits.value.as_ref());
            let is_relevant = enforced && has_others && is_before && is_tighter;
            if is_relevant && denies(&any, std::slice::from_ref(&other.when))? {
                return Err(RequestError::AmbiguousPath {
                    rule: rule.name.value.clone().unwrap_or_default(),
                });
            }
        }
        counts[usize::from(enforced)] += set.map_or(0, Vec::len);
        let mode = if enforced { HitMode::Enforce } else { HitMode::Observe };
        hits.push(Hit {
            rule: index,
            limit_set,
            key,
            mode,
            route: 0,
            lacks_key: !complete,
            would_block: None,
        });
    }
    for limits in [counts[1], counts[0]] {
        if limits > MAX_LIMITS {
            return Err(RequestError::TooManyLimits { limits });
        }
    }
    Ok(Choice::Hits(hits.into_iter().collect()))
}

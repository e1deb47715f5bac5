//! What a policy says, worked out in the simplest way from the file: a scan, with lists of texts.

use std::net::IpAddr;

use sha2::{Digest, Sha256};
use slidegate::policy::file::{Condition, Conditions, File, Missing, Mode, Percent, Rule, Test};
use slidegate::policy::{Barred, Choice, Hit, HitMode};
use slidegate::store::MAX_LIMITS;
use slidegate::{Key, Request, RequestError};

/// A path as a list of segments.
pub(crate) fn segments(path: &str) -> Vec<String> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut segments: Vec<String> = Vec::new();
    for segment in path.split('/') {
        // The few escapes that are generated.
        let segment = segment.replace("%31", "1").replace("%66", "f");
        match segment.as_str() {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    segments
}

/// The parameters of a template, if it matches.
fn matched(template: &str, path: &[String], is_prefix: bool) -> Option<Vec<(String, String)>> {
    let template = segments(template);
    let mut parameters = Vec::new();
    for (index, segment) in template.iter().enumerate() {
        let name = segment.trim_matches(['{', '*', '}']).to_owned();
        if segment.starts_with("{*") {
            let rest = path.get(index..).filter(|rest| !rest.is_empty())?;
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

struct Asked<'a, 'b> {
    rule: &'a Rule,
    request: &'a Request<'b>,
    path: Option<Vec<String>>,
    prefix: u8,
}

impl Asked<'_, '_> {
    fn address(&self) -> Result<Option<IpAddr>, RequestError> {
        let Some(text) = self.request.get("ip").filter(|text| !text.is_empty()) else { return Ok(None) };
        let wrong = RequestError::NotAnAddress { attribute: "ip".to_owned(), value: text.to_owned() };
        text.parse().map(Some).map_err(|_| wrong)
    }

    /// The parameter of the rule's own path, or the attribute.
    fn value(&self, name: &str) -> Option<String> {
        let path = self.rule.matches.0.iter().find(|condition| condition.attribute == "path");
        let captured = path.and_then(|condition| {
            let (templates, is_prefix) = texts(&condition.test);
            let parameters =
                templates.iter().filter_map(|template| matched(template, self.path.as_ref()?, is_prefix));
            parameters.flatten().find(|(known, _)| known == name).map(|(_, value)| value)
        });
        captured.or_else(|| self.request.get(name).map(str::to_owned))
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

    fn first<'c>(
        &self,
        list: impl IntoIterator<Item = &'c Conditions>,
    ) -> Result<Option<usize>, RequestError> {
        for (index, conditions) in list.into_iter().enumerate() {
            if self.hold(conditions)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
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
                    let kept = bits & (u128::MAX << (128 - u32::from(self.prefix)));
                    format!("{}/{}", std::net::Ipv6Addr::from_bits(kept), self.prefix)
                }
            }),
            "path" => self.path.as_ref().map(|path| match path.join("/") {
                root if root.is_empty() => "/".to_owned(),
                path => path,
            }),
            "method" => self.request.get("method").map(str::to_uppercase),
            name => self.value(name),
        };
        Ok(value.filter(|value| !value.is_empty()))
    }

    /// The parts of a key, or the only one, and whether nothing is missing.
    fn subject(&self) -> Result<(Result<Vec<String>, String>, bool), RequestError> {
        let (mut parts, mut complete) = (Vec::new(), true);
        let written: Vec<Vec<&str>> = self
            .rule
            .key
            .iter()
            .filter_map(|part| part.value.as_deref())
            .map(|part| part.split('|').map(str::trim).collect())
            .collect();
        for names in &written {
            let mut taken = None;
            for (index, name) in names.iter().enumerate() {
                if taken.is_none() {
                    taken = self.key_value(name)?.map(|value| (index, value));
                }
            }
            match taken {
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

/// What a policy of this file says.
pub(crate) fn choose<'k>(file: &File, request: &Request<'_>) -> Result<Choice<'k>, RequestError> {
    let mut hits: Vec<Hit<'k>> = Vec::new();
    let mut counts = [0, 0];
    for (index, rule) in file.rules.iter().enumerate() {
        let path = request.get("path").map(segments);
        let asked = Asked { rule, request, path, prefix: file.ipv6_prefix.value.unwrap_or_default() };
        if !asked.hold(&rule.matches)? {
            continue;
        }
        let denied = asked.first(&rule.deny)?.is_some();
        if denied && rule.mode == Mode::Enforce {
            return Ok(Choice::Barred { rule: index, why: Barred::DenyList });
        }
        if !denied && asked.first(&rule.allow)?.is_some() {
            continue;
        }
        let (key, complete) = asked.subject()?;
        if !denied && !complete && rule.missing == Missing::Skip {
            continue;
        }
        let why = match (denied, complete, rule.missing) {
            (true, ..) => Some(Barred::DenyList),
            (false, false, Missing::Deny) => Some(Barred::MissingKey),
            _ => None,
        };
        let enforced = match &rule.mode {
            Mode::Enforce => true,
            Mode::Observe => false,
            Mode::Share(share) => is_in_share(&key, *share),
            Mode::For(list) => asked.first(list)?.is_some(),
        };
        let key = match key {
            Err(single) => Key::from(single),
            Ok(parts) => Key::from_parts(parts.iter()),
        };
        if let Some(why) = why {
            if enforced {
                return Ok(Choice::Barred { rule: index, why });
            }
            let would_bar = Some(why);
            hits.push(Hit {
                rule: index,
                terms: 0,
                key,
                mode: HitMode::Observed,
                route: 0,
                lacks_key: false,
                would_bar,
            });
            continue;
        }
        let tier = rule.tiers.keys().position(|tier| Some(tier.as_str()) == request.get("tier"));
        let of_tier = tier.map_or(0, |tier| 1 + rule.overrides.len() + tier);
        let terms = asked.first(rule.overrides.iter().map(|other| &other.when))?.map_or(of_tier, |at| 1 + at);
        let sets = std::iter::once(&rule.limits).chain(rule.overrides.iter().map(|other| &other.limits));
        let set = sets.chain(rule.tiers.values()).nth(terms).and_then(|set| set.value.as_ref());
        counts[usize::from(enforced)] += set.map_or(0, Vec::len);
        let mode = if enforced { HitMode::Enforced } else { HitMode::Observed };
        hits.push(Hit { rule: index, terms, key, mode, route: 0, lacks_key: !complete, would_bar: None });
    }
    for limits in [counts[1], counts[0]] {
        if limits > MAX_LIMITS {
            return Err(RequestError::TooManyLimits { limits });
        }
    }
    Ok(Choice::Hits(hits.into_iter().collect()))
}

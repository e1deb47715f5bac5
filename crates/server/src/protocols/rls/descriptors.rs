//! Descriptors as demands: each is a request of its own, whose entries are attributes.

use std::borrow::Cow;

use slidegate::policy::Policy;
use slidegate::{BatchItem, Key, MAX_VALUE_BYTES, Request, RequestError};

use super::failure::Failure;
use super::limits;
use super::proto::{DescriptorEntry, RateLimitDescriptor, RateLimitRequest};

/// The most descriptors of one call.
pub(crate) const MAX_DESCRIPTORS: usize = 128;
/// Prefix that Limitador gives to parts of the request.
const OF_THE_REQUEST: &str = "req.";
/// Envoy's name of the client's address.
const REMOTE_ADDRESS: &str = "remote_address";

const AD_HOC_LIMITS_ARE_OFF: &str =
    "limits in descriptors are off: set server.ad_hoc_limits to true, or use rules";

/// Descriptors of a call as a batch.
#[derive(Debug)]
pub(crate) struct DescriptorBatch<'m> {
    /// Descriptor by descriptor.
    pub(crate) demands: Vec<BatchItem<'m>>,
    /// What no rule can judge, and why. It is refused: a client that could choose a value which is not judged would choose to
    /// pass.
    pub(crate) unfit: Vec<String>,
}

impl<'m> DescriptorBatch<'m> {
    /// `ad_hoc_limits`: whether descriptors may bring limits. One that does and may not is refused: its rules, if there are any, would
    /// count it otherwise than its sender means.
    pub(crate) fn new(call: &'m RateLimitRequest, ad_hoc_limits: bool) -> Result<Self, Failure> {
        let invalid = |why: &str| Err(Failure::Invalid(why.to_owned()));
        if call.domain.is_empty() {
            return invalid("the domain is empty: set it in Envoy's rate limit filter");
        }
        match call.descriptors.len() {
            0 => return invalid("no descriptors: a call has at least one"),
            1..=MAX_DESCRIPTORS => {}
            more => {
                let why = format!("a call has at most {MAX_DESCRIPTORS} descriptors, not {more}");
                return Err(Failure::Invalid(why));
            }
        }
        let mut batch = Self { demands: Vec::with_capacity(call.descriptors.len()), unfit: Vec::new() };
        for descriptor in &call.descriptors {
            batch.push(call, descriptor, ad_hoc_limits)?;
        }
        Ok(batch)
    }

    /// The id that their sender knows all of them by.
    pub(crate) fn set_id(&mut self, id: &'m str) {
        for demand in &mut self.demands {
            match demand {
                BatchItem::Check(request) | BatchItem::GiveBack { request, .. } => request.set_id(id),
                BatchItem::Limit { id: own, .. } => *own = Some(id),
                BatchItem::Nothing | BatchItem::Refuse => {}
            }
        }
    }

    fn push(
        &mut self,
        call: &'m RateLimitRequest,
        descriptor: &'m RateLimitDescriptor,
        ad_hoc_limits: bool,
    ) -> Result<(), Failure> {
        let request = request(&call.domain, &descriptor.entries);
        let demand = match request.check() {
            Ok(()) if descriptor.limit.is_some() && !ad_hoc_limits => {
                self.unfit.push(AD_HOC_LIMITS_ARE_OFF.to_owned());
                BatchItem::Refuse
            }
            Ok(()) => demand(call, descriptor, request)?,
            Err(error) if is_of_an_entry(&error) => {
                self.unfit.push(error.to_string());
                BatchItem::Refuse
            }
            Err(error) => return Err(error.into()),
        };
        self.demands.push(demand);
        Ok(())
    }

    /// Refuses descriptors with an entry that occurs twice with different values, where a rule looks at it: no value of it is the
    /// one that counts. A limit that comes along counts for all entries.
    pub(crate) fn refuse_repeated(&mut self, policy: &Policy, descriptors: &[RateLimitDescriptor]) {
        for (demand, descriptor) in self.demands.iter_mut().zip(descriptors) {
            let (BatchItem::Check(_) | BatchItem::GiveBack { .. }) = demand else { continue };
            let is_read = |key: &&str| policy.reads(key) || also(key).is_some_and(|name| policy.reads(name));
            if let Some(key) = repeated(&descriptor.entries).find(is_read) {
                self.unfit.push(format!("the entry `{key}` occurs twice with different values"));
                *demand = BatchItem::Refuse;
            }
        }
    }

    /// Refuses what the rules cannot judge for this reason, so that the batch can be decided again.
    pub(crate) fn refuse_unfit(&mut self, policy: &Policy, error: &RequestError) {
        match error {
            error if is_of_a_value(error) => self.refuse_unreadable(policy),
            // Which of them are too many nobody can say.
            _ => {
                self.unfit.push(error.to_string());
                self.demands.fill(BatchItem::Refuse);
            }
        }
    }

    /// Refuses what rules look at and cannot read.
    fn refuse_unreadable(&mut self, policy: &Policy) {
        let Self { demands, unfit } = self;
        for demand in demands {
            let (BatchItem::Check(request) | BatchItem::GiveBack { request, .. }) = demand else { continue };
            if let Some(error) = policy.choose(request).err().filter(is_of_a_value) {
                unfit.push(error.to_string());
                *demand = BatchItem::Refuse;
            }
        }
    }
}

/// Whether one descriptor has a value that rules cannot read.
fn is_of_a_value(error: &RequestError) -> bool {
    matches!(
        error,
        RequestError::NotAnAddress { .. }
            | RequestError::TooManyReadings
            | RequestError::AmbiguousPath { .. }
    )
}

/// Whether a value is wrong that may be a client's. What proxies are set to is in the rest.
fn is_of_an_entry(error: &RequestError) -> bool {
    let RequestError::ValueTooLong { attribute, .. } = error else { return false };
    !matches!(attribute.as_str(), "domain" | "descriptor")
}

fn demand<'m>(
    call: &'m RateLimitRequest,
    descriptor: &'m RateLimitDescriptor,
    request: Request<'m>,
) -> Result<BatchItem<'m>, Failure> {
    // What a call does not say costs 1; a descriptor that says 0 looks.
    let hits = descriptor.hits_addend.unwrap_or(u64::from(call.hits_addend).max(1));
    let (cost, units) = if descriptor.is_negative_hits { (0, hits) } else { (hits, 0) };
    if let Some(limit) = &descriptor.limit {
        // Nothing says that such limits may be given back: of these it is only told what is left.
        return Ok(match limits::limit(limit)? {
            Some(limit) => {
                BatchItem::Limit { key: key(&call.domain, &descriptor.entries), limit, cost, id: None }
            }
            None if cost == 0 => BatchItem::Nothing,
            None => BatchItem::Refuse,
        });
    }
    Ok(match descriptor.is_negative_hits {
        true => BatchItem::GiveBack { request, units },
        false => BatchItem::Check(request.cost(cost)),
    })
}

/// A descriptor by its attributes. Of two of one name the first is found, so no entry passes for the domain; see
/// [`DescriptorBatch::refuse_repeated`].
fn request<'m>(domain: &'m str, entries: &'m [DescriptorEntry]) -> Request<'m> {
    let mut request =
        Request::new().with("domain", domain).with("descriptor", keys(entries)).skip_incomplete();
    for entry in entries {
        request.set(&*entry.key, value(entry));
    }
    for entry in entries {
        if let Some(name) = also(&entry.key)
            && request.get(name).is_none()
        {
            request.set(name, value(entry));
        }
    }
    request
}

/// The keys that stand before different values. There are no more entries than a request may have attributes.
fn repeated(entries: &[DescriptorEntry]) -> impl Iterator<Item = &str> {
    let later = entries.iter().enumerate().filter(|(index, entry)| {
        let first = entries[..*index].iter().find(|other| other.key == entry.key);
        first.is_some_and(|first| first.value != entry.value)
    });
    later.map(|(_, entry)| entry.key.as_str())
}

/// Alias of an entry.
fn also(key: &str) -> Option<&str> {
    match key {
        REMOTE_ADDRESS => Some("ip"),
        _ => key.strip_prefix(OF_THE_REQUEST).filter(|name| !name.is_empty()),
    }
}

/// The value as rules see it. A long query does not make a path too long, since no rule looks at it; and what is no UTF-8 is told
/// apart from other values only as far as it is.
fn value(DescriptorEntry { key, value }: &DescriptorEntry) -> Cow<'_, str> {
    let mut bytes = value.as_slice();
    if bytes.len() > MAX_VALUE_BYTES && (key == "path" || also(key) == Some("path")) {
        bytes = bytes.split(|byte| *byte == b'?').next().unwrap_or_default();
    }
    String::from_utf8_lossy(bytes)
}

/// The keys in their order, with commas between.
fn keys(entries: &[DescriptorEntry]) -> Cow<'_, str> {
    match entries {
        [] => Cow::Borrowed(""),
        [one] => Cow::Borrowed(&one.key),
        several => {
            let mut keys = String::with_capacity(several.iter().map(|entry| entry.key.len() + 1).sum());
            for entry in several {
                if !keys.is_empty() {
                    keys.push(',');
                }
                keys.push_str(&entry.key);
            }
            Cow::Owned(keys)
        }
    }
}

/// Whom a limit counts for that came along: no two different descriptors have the same key.
fn key<'m>(domain: &'m str, entries: &'m [DescriptorEntry]) -> Key<'m> {
    let of = |entry: &'m DescriptorEntry| [entry.key.as_bytes(), entry.value.as_slice()];
    Key::from_parts([domain.as_bytes()].into_iter().chain(entries.iter().flat_map(of)))
}

#[cfg(test)]
mod tests;

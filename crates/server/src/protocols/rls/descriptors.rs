//! Descriptors as a batch: each is a request of its own, whose entries are attributes.

use std::borrow::Cow;

use slidegate::policy::Policy;
use slidegate::{BatchItem, Key, MAX_VALUE_BYTES, Request, RequestError};

use super::failure::Failure;
use super::limits;
use super::proto::{DescriptorEntry, RateLimitDescriptor, RateLimitRequest};

/// Maximum number of descriptors of one call.
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
    /// Items, one for each descriptor.
    pub(crate) items: Vec<BatchItem<'m>>,
    /// Reasons why descriptors are refused that no rule can decide. A client that could choose such
    /// a value would choose to pass.
    pub(crate) unfit: Vec<String>,
}

impl<'m> DescriptorBatch<'m> {
    /// Batch of a call; `ad_hoc_limits`: whether descriptors may have limits. Without that, a
    /// descriptor with a limit is refused: rules would count it otherwise than its sender means.
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
        let mut batch = Self { items: Vec::with_capacity(call.descriptors.len()), unfit: Vec::new() };
        for descriptor in &call.descriptors {
            batch.push(call, descriptor, ad_hoc_limits)?;
        }
        Ok(batch)
    }

    /// Sets the request id of all items.
    pub(crate) fn set_id(&mut self, id: &'m str) {
        for item in &mut self.items {
            match item {
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
        let item = match request.check() {
            Ok(()) if descriptor.limit.is_some() && !ad_hoc_limits => {
                self.unfit.push(AD_HOC_LIMITS_ARE_OFF.to_owned());
                BatchItem::Refuse
            }
            Ok(()) => item(call, descriptor, request)?,
            Err(error) if is_of_an_entry(&error) => {
                self.unfit.push(error.to_string());
                BatchItem::Refuse
            }
            Err(error) => return Err(error.into()),
        };
        self.items.push(item);
        Ok(())
    }

    /// Refuses descriptors with an entry that occurs twice with different values, where a rule
    /// reads it: neither value is the one that counts. An ad hoc limit counts for all entries.
    pub(crate) fn refuse_repeated(&mut self, policy: &Policy, descriptors: &[RateLimitDescriptor]) {
        for (item, descriptor) in self.items.iter_mut().zip(descriptors) {
            let (BatchItem::Check(_) | BatchItem::GiveBack { .. }) = item else { continue };
            let is_read = |key: &&str| policy.reads(key) || also(key).is_some_and(|name| policy.reads(name));
            if let Some(key) = repeated(&descriptor.entries).find(is_read) {
                self.unfit.push(format!("the entry `{key}` occurs twice with different values"));
                *item = BatchItem::Refuse;
            }
        }
    }

    /// Refuses items that the rules cannot decide because of this error, so that the batch can be
    /// decided again.
    pub(crate) fn refuse_unfit(&mut self, policy: &Policy, error: &RequestError) {
        match error {
            error if is_of_a_value(error) => self.refuse_unreadable(policy),
            // It is not possible to tell which items are too many.
            _ => {
                self.unfit.push(error.to_string());
                self.items.fill(BatchItem::Refuse);
            }
        }
    }

    /// Refuses items with a value that a rule needs and cannot read.
    fn refuse_unreadable(&mut self, policy: &Policy) {
        let Self { items, unfit } = self;
        for item in items {
            let (BatchItem::Check(request) | BatchItem::GiveBack { request, .. }) = item else { continue };
            if let Some(error) = policy.choose(request).err().filter(is_of_a_value) {
                unfit.push(error.to_string());
                *item = BatchItem::Refuse;
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

/// Whether a value is wrong that may come from a client; other values come from the settings of a
/// proxy.
fn is_of_an_entry(error: &RequestError) -> bool {
    let RequestError::ValueTooLong { attribute, .. } = error else { return false };
    !matches!(attribute.as_str(), "domain" | "descriptor")
}

fn item<'m>(
    call: &'m RateLimitRequest,
    descriptor: &'m RateLimitDescriptor,
    request: Request<'m>,
) -> Result<BatchItem<'m>, Failure> {
    // The default cost is 1; a descriptor with 0 is a peek.
    let hits = descriptor.hits_addend.unwrap_or(u64::from(call.hits_addend).max(1));
    let (cost, units) = if descriptor.is_negative_hits { (0, hits) } else { (hits, 0) };
    if let Some(limit) = &descriptor.limit {
        // Envoy does not define refunds of such limits: they are only a peek.
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

/// Request of a descriptor. Of two attributes of one name the first counts, so no entry passes for
/// the domain; see [`DescriptorBatch::refuse_repeated`].
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

/// Keys that have different values. There are no more entries than a request may have attributes.
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

/// Value of an entry for rules. A long query does not make a path too long, since no rule reads it.
/// Values that are not UTF-8 differ from others only as far as their text does.
fn value(DescriptorEntry { key, value }: &DescriptorEntry) -> Cow<'_, str> {
    let mut bytes = value.as_slice();
    if bytes.len() > MAX_VALUE_BYTES && (key == "path" || also(key) == Some("path")) {
        bytes = bytes.split(|byte| *byte == b'?').next().unwrap_or_default();
    }
    String::from_utf8_lossy(bytes)
}

/// Keys in order, separated by commas.
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

/// Key of an ad hoc limit: no two different descriptors have the same one.
fn key<'m>(domain: &'m str, entries: &'m [DescriptorEntry]) -> Key<'m> {
    let of = |entry: &'m DescriptorEntry| [entry.key.as_bytes(), entry.value.as_slice()];
    Key::from_parts([domain.as_bytes()].into_iter().chain(entries.iter().flat_map(of)))
}

#[cfg(test)]
mod tests;

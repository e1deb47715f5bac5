//! Permits: records of an admitted request, to give its charge back or correct it, once.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use slidegate_core::{Decision, Grant, Limit, LimitId, MAX_OPEN_PERMITS, Receipt};

use slidegate_store::{Charge, ChargeRecord, RefundScope, Settlement};
use slidegate_store::{Key, Space};

const VERSION: u8 = 2;
const MAC_BYTES: usize = 16;
/// Room for a permit of one subject with a short key.
const TYPICAL_BYTES: usize = 160;
/// Number of a permit for slots in flight, which has none.
const NO_NUMBER: u64 = u64::MAX;

/// Permit for the charge of an admitted request: good for one refund or settlement, on any node
/// that has the secret.
///
/// It is signed: a forged or changed one is refused. Its text form is safe in URLs and headers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Permit(Box<[u8]>);

/// Error of a permit: it is not accepted, or cannot be issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermitError {
    /// The text is not a permit.
    #[error("this is not a permit; pass the text on exactly as it was given")]
    Malformed,
    /// The signature does not match.
    #[error("this permit was not issued with this limiter's secret, or was changed")]
    Forged,
    /// The store repeats denials without looking, which a refund would make untrue.
    #[error("a limiter over this store gives permits only if it is `refundable`, on every node")]
    NotDeclared,
    /// The limiter has a GCRA limit, which keeps no entries that could be given back.
    #[error("a limiter with a GCRA limit gives no permits; use a log or a counter where costs are refunded")]
    NotRefundable,
    /// The subject has as many open permits as it may.
    #[error(
        "this key has {MAX_OPEN_PERMITS} open permits, the most there may be: settle or refund some, then try again"
    )]
    TooManyOpen,
}

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(&self.0))
    }
}

impl FromStr for Permit {
    type Err = PermitError;

    fn from_str(text: &str) -> Result<Self, PermitError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| PermitError::Malformed)?;
        Ok(Self(bytes.into_boxed_slice()))
    }
}

/// Charge that was admitted, with its refund scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refundable<'a> {
    pub(crate) charge: &'a Charge<'a>,
    /// One for every limit of the charge.
    pub(crate) decisions: &'a [Decision],
    pub(crate) returns: RefundScope,
    pub(crate) grant: Grant,
}

impl<'a> Refundable<'a> {
    fn recorded(&self) -> impl Iterator<Item = (&'a Limit, &'a Decision)> + Clone {
        let returns = self.returns;
        self.charge.limits.iter().zip(self.decisions).filter(move |(limit, _)| returns.includes(limit))
    }
}

/// Permit that stays in the process: it needs no signature.
// No box, which would cost another allocation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UnsignedPermit(Vec<u8>);

impl UnsignedPermit {
    /// Permit for what an admission recorded, if any of that can be given back.
    pub(crate) fn new<'a>(id: u64, charges: impl IntoIterator<Item = Refundable<'a>>) -> Option<Self> {
        let mut bytes = Vec::with_capacity(TYPICAL_BYTES);
        bytes.push(VERSION);
        bytes.extend(id.to_le_bytes());
        let count_at = bytes.len();
        bytes.push(0);
        for refundable in charges {
            // Requests are bounded far below what a byte counts.
            let limits = u8::try_from(refundable.recorded().count()).ok()?;
            if limits != 0 {
                bytes[count_at] = bytes[count_at].checked_add(1)?;
                push_subject(&mut bytes, &refundable, limits);
            }
        }
        (bytes[count_at] != 0).then_some(Self(bytes))
    }

    /// Settlement at this cost; slots in flight are released.
    #[cfg(feature = "policy")]
    pub(crate) fn settlement(&self, cost: u64, now_ms: u64) -> Settlement<'_> {
        let (id, subjects) = parse(&self.0).expect("only `new` makes permits without a signature");
        Settlement { now_ms, id, cost, slots: 0, subjects }
    }
}

/// Signer of permits, which recognizes its own.
#[derive(Clone)]
pub(crate) struct Signer(Hmac<Sha256>);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(..)")
    }
}

impl Signer {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes a key of any length"))
    }

    /// Signed form of a permit, which may leave the process.
    pub(crate) fn sign(&self, UnsignedPermit(body): &UnsignedPermit) -> Permit {
        let mac = self.0.clone().chain_update(body).finalize().into_bytes();
        Permit([body.as_slice(), &mac[..MAC_BYTES]].concat().into_boxed_slice())
    }

    /// Settlement at this cost of a permit of ours; slots in flight are released.
    pub(crate) fn open<'a>(
        &self,
        permit: &'a Permit,
        cost: u64,
        now_ms: u64,
    ) -> Result<Settlement<'a>, PermitError> {
        let (body, mac) = permit.0.split_last_chunk::<MAC_BYTES>().ok_or(PermitError::Malformed)?;
        let genuine = self.0.clone().chain_update(body).verify_truncated_left(mac);
        genuine.map_err(|_| PermitError::Forged)?;
        let (id, subjects) = parse(body).ok_or(PermitError::Malformed)?;
        Ok(Settlement { now_ms, id, cost, slots: 0, subjects })
    }
}

fn push_subject(bytes: &mut Vec<u8>, refundable: &Refundable<'_>, limits: u8) {
    let Charge { space: Space(space), key, cost, .. } = refundable.charge;
    push_words(bytes, space);
    bytes.push(key.form() as u8);
    push_words(bytes, &[key.bytes().len() as u64]);
    bytes.extend(key.bytes());
    push_words(bytes, &[refundable.grant.generation, refundable.grant.number.unwrap_or(NO_NUMBER)]);
    bytes.push(limits);
    for (limit, decision) in refundable.recorded() {
        push_words(bytes, &limit.id().to_words());
        push_words(bytes, &[decision.stamp_ms, *cost]);
    }
}

fn push_words(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn parse(mut input: &[u8]) -> Option<(u64, Vec<ChargeRecord<'_>>)> {
    let input = &mut input;
    if byte(input)? != VERSION {
        return None;
    }
    let [id] = words(input)?;
    let count = byte(input)?;
    let mut subjects = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        subjects.push(parse_subject(input, id)?);
    }
    input.is_empty().then_some((id, subjects))
}

fn parse_subject<'a>(input: &mut &'a [u8], id: u64) -> Option<ChargeRecord<'a>> {
    let space = Space(words(input)?);
    let form = byte(input)?;
    let [length] = words(input)?;
    let (key, rest) = input.split_at_checked(usize::try_from(length).ok()?)?;
    *input = rest;
    let [generation, number] = words(input)?;
    let grant = Grant { generation, number: (number != NO_NUMBER).then_some(number) };
    let count = byte(input)?;
    let mut receipts = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let limit = LimitId::from_words(words(input)?)?;
        let [stamp_ms, cost] = words(input)?;
        receipts.push((limit, Receipt { stamp_ms, cost, holder: id }));
    }
    Some(ChargeRecord { space, key: Key::from_raw(form, key)?, grant, receipts })
}

fn byte(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

fn words<const N: usize>(input: &mut &[u8]) -> Option<[u64; N]> {
    let mut all = [0; N];
    for word in &mut all {
        let (first, rest) = input.split_first_chunk()?;
        *word = u64::from_le_bytes(*first);
        *input = rest;
    }
    Some(all)
}

#[cfg(test)]
mod tests;

//! A rule, ready to be asked: what it does with a request that it is for.

use sha2::{Digest, Sha256};

use super::condition::{Conditions, any_holds, first_that_holds};
use super::file;
use super::file::{Missing, Percent, Test};
use super::limit_set::Terms;
use super::request_view::{Asked, PATH, Reading, TIER};
use super::subject::{self, Found, KeyParts, KeyText, Subject};
use super::template::Template;
use crate::request::RequestError;
use slidegate_store::OnStoreError;
use slidegate_store::{Key, Space};

/// A rule of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) name: Box<str>,
    pub(super) space: Space,
    /// Of its `match`; a rule with none is for every path.
    pub(super) templates: Box<[Template]>,
    /// Its `match` without the path.
    pub(super) matches: Conditions,
    pub(super) key: KeyParts,
    /// Its own, then those of its overrides, then those of its tiers.
    pub(super) terms: Box<[Terms]>,
    pub(super) overrides: Box<[Conditions]>,
    pub(super) tiers: Box<[Box<str>]>,
    pub(super) allow: Box<[Conditions]>,
    pub(super) deny: Box<[Conditions]>,
    pub(super) mode: Mode,
    /// As it stands in the file, for those who ask what it does.
    pub(super) written: file::Rule,
}

/// Where a rule refuses.
#[derive(Clone, Debug)]
pub(super) enum Mode {
    Enforce,
    Observe,
    Share(Percent),
    For(Box<[Conditions]>),
}

/// Whether a rule's answer counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HitMode {
    /// It refuses what does not fit.
    Enforced,
    /// It counts, and tells what it would refuse.
    Observed,
}

/// Why a request is refused without asking any limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Barred {
    /// It is on a deny list.
    DenyList,
    /// It lacks an attribute of a key, in a rule with `missing: deny`.
    MissingKey,
}

impl Barred {
    /// Every reason.
    pub const ALL: [Self; 2] = [Self::DenyList, Self::MissingKey];
}

/// What a rule says to a request that it is for.
pub(super) enum Ruling<'r> {
    Bars(Barred),
    Passes,
    /// It is not for requests that lack an attribute of its key.
    Skips,
    Limits {
        terms: usize,
        key: Key<'r>,
        mode: HitMode,
        lacks_key: bool,
    },
    /// It looks on, and would bar.
    WouldBar {
        key: Key<'r>,
        why: Barred,
    },
}

impl Rule {
    /// Its name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its subjects count: in the space of its name.
    #[inline]
    pub fn space(&self) -> Space {
        self.space
    }

    /// All sets of limits that it can apply: its own, those of its overrides, those of its tiers.
    #[inline]
    pub fn terms(&self) -> &[Terms] {
        &self.terms
    }

    /// What is answered while the store does not.
    pub fn on_store_error(&self) -> OnStoreError {
        self.written.on_store_error
    }

    /// Whether what it charges can be given back or corrected.
    #[inline]
    pub fn refundable(&self) -> bool {
        self.written.refundable
    }

    /// Whom a key of it stands for: attributes and values, part by part of its `key`.
    pub fn subject_of(&self, key: &Key<'_>) -> Vec<KeyText> {
        self.key.read(key)
    }

    /// The templates of its path, as they are written; of a prefix with `/*` behind it. None if it is for every path.
    pub fn routes(&self) -> impl Iterator<Item = String> {
        let path = self.written.matches.0.iter().find(|condition| condition.attribute == PATH);
        let (spots, is_prefix) = match path.map(|path| &path.test) {
            Some(Test::Is(spots)) => (spots.as_slice(), false),
            Some(Test::Prefix(spots)) => (spots.as_slice(), true),
            None => (&[][..], false),
        };
        let texts = spots.iter().filter_map(|spot| spot.value.as_deref());
        texts.map(move |text| match is_prefix {
            true => format!("{}/*", text.trim_end_matches('/')),
            false => text.to_owned(),
        })
    }

    /// Whether it may refuse without asking its limits, for this reason.
    pub fn may_bar(&self, why: Barred) -> bool {
        match why {
            Barred::DenyList => !self.deny.is_empty(),
            Barred::MissingKey => self.written.missing == Missing::Deny,
        }
    }

    /// Its key, as it is written, if requests that lack an attribute of it share one subject.
    pub fn shared_key(&self) -> Option<String> {
        let parts: Vec<String> = self.key.parts.iter().map(ToString::to_string).collect();
        (self.written.missing == Missing::Shared && !parts.is_empty()).then(|| parts.join(", "))
    }

    /// Function that splits a key of this rule into its parts.
    pub fn key_reader(&self) -> impl Fn(&Key<'_>) -> Vec<KeyText> + Send + Sync + 'static {
        let key = self.key.clone();
        move |subject| key.read(subject)
    }

    /// Whether it tells requests apart by their attributes.
    pub fn has_key(&self) -> bool {
        !self.key.parts.is_empty()
    }

    /// Whether what it does depends on this attribute of a request.
    pub(super) fn reads(&self, name: &str) -> bool {
        let lists = [&self.overrides, &self.allow, &self.deny];
        let mode = match &self.mode {
            Mode::For(list) => &**list,
            Mode::Enforce | Mode::Observe | Mode::Share(_) => &[],
        };
        let mut conditions = lists.into_iter().flatten().chain(mode).chain([&self.matches]);
        let mut sources = self.key.parts.iter().flat_map(|part| &part.alternatives);
        conditions.any(|conditions| conditions.reads(name))
            || sources.any(|source| source.name() == name)
            || name == PATH && !self.templates.is_empty()
            || name == TIER && !self.tiers.is_empty()
    }

    /// Which of its routes a request came by, where that matters.
    #[inline]
    pub(super) fn route_of(&self, asked: &Asked<'_, '_>, routes_matter: bool) -> u32 {
        if self.templates.len() > 1 && routes_matter { self.first_route(asked) } else { 0 }
    }

    /// The first that fits, or else none of them.
    pub(super) fn first_route(&self, asked: &Asked<'_, '_>) -> u32 {
        let fits = |template: &Template| {
            asked.readings().filter_map(|reading| reading.path).any(|path| template.matches(path))
        };
        self.templates.iter().position(fits).unwrap_or(self.templates.len()) as u32
    }

    /// Whether its `match` is for a request whose path fits by one of its readings.
    #[inline(always)]
    pub(super) fn is_for(&self, asked: &Asked<'_, '_>) -> Result<bool, RequestError> {
        if asked.is_single() {
            return self.matches.hold(&asked.first(), &self.templates);
        }
        asked.any(|reading| self.is_for_reading(reading))
    }

    /// Whether its `match` is for a request however its path is read.
    pub(super) fn is_surely_for(&self, asked: &Asked<'_, '_>) -> Result<bool, RequestError> {
        asked.every(|reading| self.is_for_reading(reading))
    }

    #[cold]
    fn is_for_reading(&self, reading: &Reading<'_, '_, '_>) -> Result<bool, RequestError> {
        Ok(subject::is_for(&self.templates, reading) && self.matches.hold(reading, &self.templates)?)
    }

    /// The deny list comes first, then the allow list. Where a rule is only observed it bars nobody, and its limits are not asked
    /// either: enforced they would not be.
    #[inline]
    pub(super) fn ruling<'r>(&self, asked: &Asked<'r, '_>) -> Result<Ruling<'r>, RequestError> {
        if self.is_plain() {
            let Subject { key, found, agrees } = self.key.subject(asked, &self.templates)?;
            if found == Found::All && agrees {
                return Ok(Ruling::Limits { terms: 0, key, mode: HitMode::Enforced, lacks_key: false });
            }
        }
        self.ruling_by_lists(asked)
    }

    /// Whether it has nothing but its limits, as most rules.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        let lists = self.deny.len() | self.allow.len() | self.overrides.len() | self.tiers.len();
        lists == 0 && matches!(self.mode, Mode::Enforce)
    }

    #[inline(never)]
    fn ruling_by_lists<'r>(&self, asked: &Asked<'r, '_>) -> Result<Ruling<'r>, RequestError> {
        let denied = any_holds(&self.deny, asked, &self.templates)?;
        if denied && matches!(self.mode, Mode::Enforce) {
            return Ok(Ruling::Bars(Barred::DenyList));
        }
        if !denied && first_that_holds(&self.allow, asked, &self.templates)?.is_some() {
            return Ok(Ruling::Passes);
        }
        let subject = self.key.subject(asked, &self.templates)?;
        let is_clear = self.is_clear(&subject, asked);
        let Subject { key, found, .. } = subject;
        let barred = match found {
            _ if denied => Some(Barred::DenyList),
            Found::NotAll if self.missing_for(asked) == Missing::Skip => return Ok(Ruling::Skips),
            Found::NotAll | Found::InSome if self.written.missing == Missing::Deny => {
                Some(Barred::MissingKey)
            }
            _ => None,
        };
        let mode = self.mode_for(asked, &key)?;
        Ok(match (barred, mode) {
            (Some(why), HitMode::Enforced) => Ruling::Bars(why),
            (Some(why), HitMode::Observed) => Ruling::WouldBar { key, why },
            (None, HitMode::Enforced) if !is_clear => return Err(self.ambiguous()),
            (None, _) => {
                let (terms, lacks_key) = (self.terms_for(asked, mode)?, found == Found::NotAll);
                Ruling::Limits { terms, key, mode, lacks_key }
            }
        })
    }

    /// What happens to a request that lacks an attribute of the key.
    fn missing_for(&self, asked: &Asked<'_, '_>) -> Missing {
        let by_default = !self.written.missing_is_given && asked.skips_incomplete();
        if by_default { Missing::Skip } else { self.written.missing }
    }

    /// Whether it counts for the same subject however the path is read. What `missing: skip` lets pass has no subject.
    pub(super) fn is_clear(&self, subject: &Subject<'_>, asked: &Asked<'_, '_>) -> bool {
        subject.agrees && (subject.found != Found::InSome || self.missing_for(asked) != Missing::Shared)
    }

    #[cold]
    pub(super) fn ambiguous(&self) -> RequestError {
        RequestError::AmbiguousPath { rule: self.name.to_string() }
    }

    /// The limits for a request. Where it is enforced they are as tight as all that a reading of the path could select.
    pub(super) fn terms_for(&self, asked: &Asked<'_, '_>, mode: HitMode) -> Result<usize, RequestError> {
        let terms = self.terms_by_all(asked)?;
        if asked.is_single() || mode == HitMode::Observed || self.are_tightest(terms, asked)? {
            return Ok(terms);
        }
        Err(self.ambiguous())
    }

    /// Whether no override is tighter that comes before these limits and holds by some readings.
    #[cold]
    fn are_tightest(&self, terms: usize, asked: &Asked<'_, '_>) -> Result<bool, RequestError> {
        let is_override = (1..=self.overrides.len()).contains(&terms);
        let before = if is_override { terms - 1 } else { self.overrides.len() };
        for (conditions, others) in self.overrides[..before].iter().zip(&self.terms[1..]) {
            let is_looser = !self.terms[terms].are_as_tight_as(others);
            if is_looser && asked.any(|reading| conditions.hold(reading, &self.templates))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The limits that a request has however its path is read.
    fn terms_by_all(&self, asked: &Asked<'_, '_>) -> Result<usize, RequestError> {
        if let Some(index) = first_that_holds(&self.overrides, asked, &self.templates)? {
            return Ok(1 + index);
        }
        if self.tiers.is_empty() {
            return Ok(0);
        }
        let tier =
            asked.text(TIER).and_then(|tier| self.tiers.binary_search_by(|name| (**name).cmp(tier)).ok());
        Ok(tier.map_or(0, |index| 1 + self.overrides.len() + index))
    }

    pub(super) fn mode_for(&self, asked: &Asked<'_, '_>, key: &Key<'_>) -> Result<HitMode, RequestError> {
        let enforced = match &self.mode {
            Mode::Enforce => true,
            Mode::Observe => false,
            Mode::Share(share) => is_in_share(key, *share),
            Mode::For(list) => any_holds(list, asked, &self.templates)?,
        };
        Ok(if enforced { HitMode::Enforced } else { HitMode::Observed })
    }
}

/// Whether a subject belongs to a share: the same on every node and after every start, and still so when the share grows.
fn is_in_share(key: &Key<'_>, Percent(hundredths): Percent) -> bool {
    let digest = Sha256::new().chain_update([key.form() as u8]).chain_update(key.bytes()).finalize();
    let (words, _) = digest.as_chunks::<8>();
    let fraction = u64::from_be_bytes(words[0]);
    u128::from(fraction) * 10_000 < u128::from(hundredths) << 64
}

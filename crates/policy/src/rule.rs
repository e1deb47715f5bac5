//! Compiled rule: what it does with a request that matches it.

use sha2::{Digest, Sha256};

use super::condition::{Predicates, any_holds, first_that_holds};
use super::file;
use super::file::{Missing, Percent, Test};
use super::limit_set::LimitSet;
use super::request_view::{PATH, Reading, RequestView, TIER};
use super::subject::{self, KeyCoverage, KeyParts, KeyText, RequestSubject};
use super::template::Template;
use crate::request::RequestError;
use slidegate_store::OnStoreError;
use slidegate_store::{Key, Space};

/// Rule of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) name: Box<str>,
    pub(super) space: Space,
    /// Path templates of its `match`. A rule without them matches every path.
    pub(super) templates: Box<[Template]>,
    /// Its `match` without the path.
    pub(super) matches: Predicates,
    pub(super) key: KeyParts,
    /// Its own limits, then those of its overrides, then those of its tiers.
    pub(super) limit_sets: Box<[LimitSet]>,
    pub(super) overrides: Box<[Predicates]>,
    pub(super) tiers: Box<[Box<str>]>,
    pub(super) allow: Box<[Predicates]>,
    pub(super) deny: Box<[Predicates]>,
    pub(super) mode: Enforcement,
    /// Source in the file, for explanations and diffs.
    pub(super) entry: file::RuleEntry,
}

/// Compiled mode of a rule.
#[derive(Clone, Debug)]
pub(super) enum Enforcement {
    Enforce,
    Observe,
    Share(Percent),
    For(Box<[Predicates]>),
}

/// Mode of a rule for one request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HitMode {
    /// The rule denies what exceeds its limits.
    Enforce,
    /// The rule counts and reports what it would deny.
    Observe,
}

/// Reason why a request is blocked: refused without consulting any limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Blocked {
    /// A deny list matches it.
    DenyList,
    /// It lacks an attribute of the key of a rule with `missing: deny`.
    MissingKey,
}

impl Blocked {
    /// All reasons.
    pub const ALL: [Self; 2] = [Self::DenyList, Self::MissingKey];
}

/// Result of a rule for a request that matches it.
pub(super) enum Ruling<'r> {
    Blocks(Blocked),
    Passes,
    /// The request lacks an attribute of the key, and the rule skips such requests.
    Skips,
    Limits {
        limit_set: usize,
        key: Key<'r>,
        mode: HitMode,
        lacks_key: bool,
    },
    /// In observe mode: the request would be blocked.
    WouldBlock {
        key: Key<'r>,
        reason: Blocked,
    },
}

impl Rule {
    /// Name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Key space of its subjects, derived from its name.
    #[inline]
    pub fn space(&self) -> Space {
        self.space
    }

    /// All limit sets: its own, those of its overrides, those of its tiers.
    #[inline]
    pub fn limit_sets(&self) -> &[LimitSet] {
        &self.limit_sets
    }

    /// Behavior while the store is unavailable.
    pub fn on_store_error(&self) -> OnStoreError {
        self.entry.on_store_error
    }

    /// Whether a charge can be refunded or corrected.
    #[inline]
    pub fn refundable(&self) -> bool {
        self.entry.refundable
    }

    /// Attributes and values of a key, one for each part of the `key` field.
    pub fn subject_of(&self, key: &Key<'_>) -> Vec<KeyText> {
        self.key.read(key)
    }

    /// Path templates as in the file, a prefix with `/*` appended. Empty if the rule matches every
    /// path.
    pub fn routes(&self) -> impl Iterator<Item = String> {
        let path = self.entry.matches.0.iter().find(|condition| condition.attribute == PATH);
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

    /// Whether it may block a request for this reason.
    pub fn may_block(&self, reason: Blocked) -> bool {
        match reason {
            Blocked::DenyList => !self.deny.is_empty(),
            Blocked::MissingKey => self.entry.missing() == Missing::Deny,
        }
    }

    /// The key as in the file, if requests that lack an attribute of it share one subject.
    pub fn shared_key(&self) -> Option<String> {
        let parts: Vec<String> = self.key.parts.iter().map(ToString::to_string).collect();
        (self.entry.missing() == Missing::Shared && !parts.is_empty()).then(|| parts.join(", "))
    }

    /// Function that splits a key of this rule into its parts.
    pub fn key_reader(&self) -> impl Fn(&Key<'_>) -> Vec<KeyText> + Send + Sync + 'static {
        let key = self.key.clone();
        move |subject| key.read(subject)
    }

    /// Whether it has a key.
    pub fn has_key(&self) -> bool {
        !self.key.parts.is_empty()
    }

    /// Whether its result depends on this attribute of a request.
    pub(super) fn reads(&self, name: &str) -> bool {
        let lists = [&self.overrides, &self.allow, &self.deny];
        let mode = match &self.mode {
            Enforcement::For(list) => &**list,
            Enforcement::Enforce | Enforcement::Observe | Enforcement::Share(_) => &[],
        };
        let mut conditions = lists.into_iter().flatten().chain(mode).chain([&self.matches]);
        let mut sources = self.key.parts.iter().flat_map(|part| &part.alternatives);
        conditions.any(|conditions| conditions.reads(name))
            || sources.any(|source| source.name() == name)
            || name == PATH && !self.templates.is_empty()
            || name == TIER && !self.tiers.is_empty()
    }

    /// Index of the route of a request, or 0 if routes are not tracked.
    #[inline]
    pub(super) fn route_of(&self, view: &RequestView<'_, '_>, routes_matter: bool) -> u32 {
        if self.templates.len() > 1 && routes_matter { self.first_route(view) } else { 0 }
    }

    /// Index of the first route that matches, or the number of routes if none does.
    pub(super) fn first_route(&self, view: &RequestView<'_, '_>) -> u32 {
        let fits = |template: &Template| {
            view.readings().filter_map(|reading| reading.path).any(|path| template.matches(path))
        };
        self.templates.iter().position(fits).unwrap_or(self.templates.len()) as u32
    }

    /// Whether it has no `match`, so that it is for every request.
    pub(super) fn is_for_all(&self) -> bool {
        self.entry.matches.0.is_empty()
    }

    /// Whether its `match` fits a request by at least one reading of the path.
    #[inline(always)]
    pub(super) fn is_for(&self, view: &RequestView<'_, '_>) -> Result<bool, RequestError> {
        if view.is_single() {
            return self.matches.hold(&view.first(), &self.templates);
        }
        view.any(|reading| self.is_for_reading(reading))
    }

    /// Whether its `match` fits a request by every reading of the path.
    pub(super) fn is_for_every_reading(&self, view: &RequestView<'_, '_>) -> Result<bool, RequestError> {
        view.every(|reading| self.is_for_reading(reading))
    }

    /// Whether its `match` fits a request by one reading of the path.
    #[cold]
    pub(super) fn is_for_reading(&self, reading: &Reading<'_, '_, '_>) -> Result<bool, RequestError> {
        Ok(subject::is_for(&self.templates, reading) && self.matches.hold(reading, &self.templates)?)
    }

    /// Result for a request: the deny list comes first, then the allow list, then the limits. In
    /// observe mode nothing is blocked, and the limits of a request that would be blocked are not
    /// consulted.
    #[inline]
    pub(super) fn ruling<'r>(&self, view: &RequestView<'r, '_>) -> Result<Ruling<'r>, RequestError> {
        if self.is_plain()
            && let Some(key) = self.plain_key(view)?
        {
            return Ok(Ruling::Limits { limit_set: 0, key, mode: HitMode::Enforce, lacks_key: false });
        }
        self.ruling_by_lists(view)
    }

    /// Key of a request that has all attributes of it, and the same by all readings of its path. All
    /// that a plain rule needs.
    #[inline(always)]
    pub(super) fn plain_key<'r>(&self, view: &RequestView<'r, '_>) -> Result<Option<Key<'r>>, RequestError> {
        let RequestSubject { key, coverage, agrees } = self.key.subject(view, &self.templates)?;
        Ok(Some(key).filter(|_| coverage == KeyCoverage::All && agrees))
    }

    /// Whether it has nothing but its limits, like most rules.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        let lists = self.deny.len() | self.allow.len() | self.overrides.len() | self.tiers.len();
        lists == 0 && matches!(self.mode, Enforcement::Enforce)
    }

    #[inline(never)]
    fn ruling_by_lists<'r>(&self, view: &RequestView<'r, '_>) -> Result<Ruling<'r>, RequestError> {
        let denied = any_holds(&self.deny, view, &self.templates)?;
        if denied && matches!(self.mode, Enforcement::Enforce) {
            return Ok(Ruling::Blocks(Blocked::DenyList));
        }
        if !denied && first_that_holds(&self.allow, view, &self.templates)?.is_some() {
            return Ok(Ruling::Passes);
        }
        let subject = self.key.subject(view, &self.templates)?;
        let is_clear = self.is_clear(&subject, view);
        let RequestSubject { key, coverage, .. } = subject;
        let blocked = match coverage {
            _ if denied => Some(Blocked::DenyList),
            KeyCoverage::NotAll if self.missing_for(view) == Missing::Skip => return Ok(Ruling::Skips),
            KeyCoverage::NotAll | KeyCoverage::InSome if self.entry.missing() == Missing::Deny => {
                Some(Blocked::MissingKey)
            }
            _ => None,
        };
        let mode = self.mode_for(view, &key)?;
        Ok(match (blocked, mode) {
            (Some(reason), HitMode::Enforce) => Ruling::Blocks(reason),
            (Some(reason), HitMode::Observe) => Ruling::WouldBlock { key, reason },
            (None, HitMode::Enforce) if !is_clear => return Err(self.ambiguous()),
            (None, _) => {
                let (limit_set, lacks_key) =
                    (self.limit_set_for(view, mode)?, coverage == KeyCoverage::NotAll);
                Ruling::Limits { limit_set, key, mode, lacks_key }
            }
        })
    }

    /// The `missing` behavior for a request.
    fn missing_for(&self, view: &RequestView<'_, '_>) -> Missing {
        let by_default = self.entry.missing.is_none() && view.skips_incomplete();
        if by_default { Missing::Skip } else { self.entry.missing() }
    }

    /// Whether all readings of the path give the same subject. A request that `missing: skip`
    /// exempts has none.
    pub(super) fn is_clear(&self, subject: &RequestSubject<'_>, view: &RequestView<'_, '_>) -> bool {
        subject.agrees
            && (subject.coverage != KeyCoverage::InSome || self.missing_for(view) != Missing::Shared)
    }

    #[cold]
    pub(super) fn ambiguous(&self) -> RequestError {
        RequestError::AmbiguousPath { rule: self.name.to_string() }
    }

    /// Index of the limit set for a request. In enforce mode it is as tight as any that a reading
    /// of the path selects.
    pub(super) fn limit_set_for(
        &self,
        view: &RequestView<'_, '_>,
        mode: HitMode,
    ) -> Result<usize, RequestError> {
        let limit_set = self.limit_set_of_every_reading(view)?;
        if view.is_single() || mode == HitMode::Observe || self.are_tightest(limit_set, view)? {
            return Ok(limit_set);
        }
        Err(self.ambiguous())
    }

    /// Whether no earlier override that matches by some readings is tighter than this limit set.
    #[cold]
    fn are_tightest(&self, limit_set: usize, view: &RequestView<'_, '_>) -> Result<bool, RequestError> {
        let is_override = (1..=self.overrides.len()).contains(&limit_set);
        let before = if is_override { limit_set - 1 } else { self.overrides.len() };
        for (conditions, others) in self.overrides[..before].iter().zip(&self.limit_sets[1..]) {
            let is_looser = !self.limit_sets[limit_set].are_as_tight_as(others);
            if is_looser && view.any(|reading| conditions.hold(reading, &self.templates))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Index of the limit set that every reading of the path selects.
    fn limit_set_of_every_reading(&self, view: &RequestView<'_, '_>) -> Result<usize, RequestError> {
        if let Some(index) = first_that_holds(&self.overrides, view, &self.templates)? {
            return Ok(1 + index);
        }
        if self.tiers.is_empty() {
            return Ok(0);
        }
        let tier =
            view.text(TIER).and_then(|tier| self.tiers.binary_search_by(|name| (**name).cmp(tier)).ok());
        Ok(tier.map_or(0, |index| 1 + self.overrides.len() + index))
    }

    pub(super) fn mode_for(
        &self,
        view: &RequestView<'_, '_>,
        key: &Key<'_>,
    ) -> Result<HitMode, RequestError> {
        let enforced = match &self.mode {
            Enforcement::Enforce => true,
            Enforcement::Observe => false,
            Enforcement::Share(share) => is_in_share(key, *share),
            Enforcement::For(list) => any_holds(list, view, &self.templates)?,
        };
        Ok(if enforced { HitMode::Enforce } else { HitMode::Observe })
    }
}

/// Whether a subject belongs to a share. The result is the same on every node and after every
/// start, and a growing share only adds subjects.
fn is_in_share(key: &Key<'_>, Percent(hundredths): Percent) -> bool {
    let digest = Sha256::new().chain_update([key.form() as u8]).chain_update(key.bytes()).finalize();
    let (words, _) = digest.as_chunks::<8>();
    let fraction = u64::from_be_bytes(words[0]);
    u128::from(fraction) * 10_000 < u128::from(hundredths) << 64
}

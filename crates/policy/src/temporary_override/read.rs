//! Reader of temporary overrides.

use super::{Effect, TemporaryOverride};
use crate::diagnostics::Diagnostics;
use crate::file::{Conditions, LimitEntry, MAX_BYTES, Span, Spanned};
use crate::format::Fields;
use crate::yaml;

const FORMS: &str = "write one of `\"limits\": [\"50/s\"]`, `\"allow\": true` and `\"deny\": true`";

/// Reads a temporary override. `None`: it is invalid, and that was reported.
pub(super) fn read(text: &str, diagnostics: &Diagnostics) -> Option<TemporaryOverride> {
    if text.len() > MAX_BYTES {
        let message = format!("the override is too large: {} bytes", text.len());
        diagnostics.report(Span::default(), message, "the maximum is 1 MiB");
        return None;
    }
    let node = yaml::document(text, diagnostics)?;
    let fields = Fields::of(&node, "an override", diagnostics)?;
    let rule = fields.required::<Spanned<String>>("rule", "\"rule\": \"login\"");
    // Required even for all requests: a forgotten `when` must not deny everybody.
    let when =
        fields.required::<Conditions>("when", "\"when\": {\"user\": \"alice\"}, or {} for all requests");
    let limits = fields.get::<Spanned<Vec<LimitEntry>>>("limits");
    let (allow, deny) = (fields.get::<Spanned<bool>>("allow"), fields.get::<Spanned<bool>>("deny"));
    fields.done();
    for Spanned { at, value } in [&allow, &deny].into_iter().flatten() {
        if *value == Some(false) {
            fields.report(*at, "only `true` is allowed here", FORMS);
        }
    }
    let present = [limits.is_some(), allow.is_some(), deny.is_some()];
    let effect = match (limits, present.into_iter().filter(|present| *present).count()) {
        (Some(limits), 1) => Effect::Limits(limits),
        (None, 1) if present[1] => Effect::Allow,
        (None, 1) => Effect::Deny,
        (_, count) => {
            let what = if count == 0 {
                "missing field `limits`, `allow` or `deny`"
            } else {
                "`limits`, `allow` and `deny` cannot be combined"
            };
            fields.report(fields.head(), what, FORMS);
            return None;
        }
    };
    Some(TemporaryOverride { rule: rule?, when: when?, effect, text: text.into() })
}

//! Reader of temporary overrides.

use super::super::diagnostics::Diagnostics;
use super::super::file::{Conditions, LimitEntry, Spanned};
use super::super::temporary_override::{Effect, TemporaryOverride};
use super::super::yaml::Node;
use super::Read;
use super::fields::Fields;

const FORMS: &str = "write one of `\"limits\": [\"50/s\"]`, `\"allow\": true` and `\"deny\": true`";

impl Read for TemporaryOverride {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "an override", diagnostics)?;
        let rule = fields.required::<String>("rule", "\"rule\": \"login\"");
        // Required even for all requests: a forgotten `when` must not deny everybody.
        let when =
            fields.required::<Conditions>("when", "\"when\": {\"user\": \"alice\"}, or {} for all requests");
        let limits = fields.get::<Spanned<Vec<LimitEntry>>>("limits");
        let (allow, deny) = (fields.get::<Spanned<bool>>("allow"), fields.get::<Spanned<bool>>("deny"));
        let head = fields.head();
        fields.done();
        for Spanned { at, value } in [&allow, &deny].into_iter().flatten() {
            if *value == Some(false) {
                diagnostics.report(*at, "only `true` is allowed here", FORMS);
            }
        }
        let given = [limits.is_some(), allow.is_some(), deny.is_some()];
        let effect = match (limits, given.into_iter().filter(|given| *given).count()) {
            (Some(limits), 1) => Effect::Limits(limits),
            (None, 1) if given[1] => Effect::Allow,
            (None, 1) => Effect::Deny,
            (_, count) => {
                let what = if count == 0 {
                    "missing field `limits`, `allow` or `deny`"
                } else {
                    "`limits`, `allow` and `deny` cannot be combined"
                };
                diagnostics.report(head, what, FORMS);
                return None;
            }
        };
        Some(Self { rule, when: when.value?, effect, text: Box::default() })
    }
}

//! Compilation of conditions.

use super::super::address;
use super::super::condition::{Comparison, Predicate, Predicates};
use super::super::diagnostics::Diagnostics;
use super::super::file::{self, Spanned, Test};
use super::super::path_readings::{PathRules, fold_case};
use super::super::request_view::{AttributeSource, IP, METHOD, PATH};
use super::super::template::Template;
use super::each;

/// Rule that the conditions belong to: its templates, and how paths are read.
#[derive(Clone, Copy)]
pub(super) struct RuleContext<'t> {
    pub(super) templates: &'t [Template],
    pub(super) paths: PathRules,
}

/// Path templates of a rule's `match`, and its other conditions.
pub(super) fn of_match(
    matches: &file::Conditions,
    paths: PathRules,
    diagnostics: &Diagnostics,
) -> (Box<[Template]>, Predicates) {
    let path = matches.0.iter().position(|condition| condition.attribute == PATH);
    let templates = path.map(|path| templates(&matches.0[path].test, paths, diagnostics)).unwrap_or_default();
    let context = RuleContext { templates: &templates, paths };
    let others = matches.0.iter().enumerate().filter(|(index, _)| Some(*index) != path);
    let others = others.map(|(_, other)| condition(other, context, diagnostics)).collect();
    (templates, Predicates::new(others))
}

/// Compiled conditions.
pub(super) fn of(
    written: &file::Conditions,
    context: RuleContext<'_>,
    diagnostics: &Diagnostics,
) -> Predicates {
    Predicates::new(written.0.iter().map(|one| condition(one, context, diagnostics)).collect())
}

/// Compiled list of conditions.
pub(super) fn list(
    written: &[file::Conditions],
    context: RuleContext<'_>,
    diagnostics: &Diagnostics,
) -> Box<[Predicates]> {
    written.iter().map(|conditions| of(conditions, context, diagnostics)).collect()
}

fn condition(written: &file::Condition, context: RuleContext<'_>, diagnostics: &Diagnostics) -> Predicate {
    let file::Condition { at, attribute, test } = written;
    let (how, spots) = match test {
        Test::Is(spots) => (Comparison::Whole, spots),
        Test::Prefix(spots) => (Comparison::Prefix, spots),
    };
    if attribute.is_empty() {
        diagnostics.report(*at, "empty attribute name", "write a name, as in `{ user: alice }`");
    }
    if spots.is_empty() {
        let what = format!("condition on `{attribute}` has no values, so it never matches");
        diagnostics.report(*at, what, "add at least one value");
    }
    match &**attribute {
        PATH => Predicate::Path(templates(test, context.paths, diagnostics)),
        IP => {
            if how == Comparison::Prefix {
                let help = "write a CIDR block, as in `ip: 10.0.0.0/8`";
                diagnostics.report(*at, "`prefix` cannot be used with `ip`", help);
                return Predicate::Address(Box::default());
            }
            Predicate::Address(each(spots, diagnostics, address::network).into())
        }
        METHOD => Predicate::Method { how, texts: texts(spots) },
        name => {
            let source = AttributeSource::new(name, context.templates);
            let folds = context.paths.ignore_case && matches!(source, AttributeSource::Parameter(_));
            Predicate::Text { source, how, texts: if folds { folded(spots) } else { texts(spots) } }
        }
    }
}

fn templates(test: &Test, paths: PathRules, diagnostics: &Diagnostics) -> Box<[Template]> {
    match test {
        Test::Is(spots) => each(spots, diagnostics, |text| Template::whole(text, paths)),
        Test::Prefix(spots) => each(spots, diagnostics, |text| Template::prefix(text, paths)),
    }
    .into()
}

fn texts(spots: &[Spanned<String>]) -> Box<[Box<str>]> {
    spots.iter().filter_map(|spot| spot.value.as_deref().map(Box::from)).collect()
}

/// Texts with their case folded, for parts of paths.
fn folded(spots: &[Spanned<String>]) -> Box<[Box<str>]> {
    let fold = |text: &str| String::from_utf8_lossy(&fold_case(text.as_bytes())).into();
    spots.iter().filter_map(|spot| spot.value.as_deref().map(fold)).collect()
}

//! Conditions of a file as conditions that can be asked.

use super::super::address;
use super::super::asked::{IP, METHOD, PATH, Source};
use super::super::condition::{Condition, Conditions, How};
use super::super::file::{self, Spot, Test};
use super::super::problems::Problems;
use super::super::template::Template;
use super::each;

/// The templates of a rule's `match`, and the conditions without them.
pub(super) fn of_match(matches: &file::Conditions, problems: &Problems) -> (Box<[Template]>, Conditions) {
    let path = matches.0.iter().position(|condition| condition.attribute == PATH);
    let templates = path.map(|path| templates(&matches.0[path].test, problems)).unwrap_or_default();
    let others = matches.0.iter().enumerate().filter(|(index, _)| Some(*index) != path);
    let others = others.map(|(_, other)| condition(other, &templates, problems)).collect();
    (templates, Conditions::new(others))
}

/// The conditions of a rule with these templates.
pub(super) fn of(written: &file::Conditions, templates: &[Template], problems: &Problems) -> Conditions {
    Conditions::new(written.0.iter().map(|one| condition(one, templates, problems)).collect())
}

/// The same for a list of them.
pub(super) fn list(
    written: &[file::Conditions],
    templates: &[Template],
    problems: &Problems,
) -> Box<[Conditions]> {
    written.iter().map(|conditions| of(conditions, templates, problems)).collect()
}

fn condition(written: &file::Condition, of_rule: &[Template], problems: &Problems) -> Condition {
    let file::Condition { at, attribute, test } = written;
    let (how, spots) = match test {
        Test::Is(spots) => (How::Whole, spots),
        Test::Prefix(spots) => (How::Prefix, spots),
    };
    if attribute.is_empty() {
        problems.report(*at, "an attribute without a name", "name it, as in `{ user: alice }`");
    }
    if spots.is_empty() {
        let what = format!("`{attribute}` is compared with nothing, which never holds");
        problems.report(*at, what, "list at least one value");
    }
    match &**attribute {
        PATH => Condition::Path(templates(test, problems)),
        IP => {
            if how == How::Prefix {
                let remedy = "write a network instead, such as `ip: 10.0.0.0/8`";
                problems.report(*at, "an address has no prefix as a text", remedy);
                return Condition::Address(Box::default());
            }
            Condition::Address(each(spots, problems, address::network).into())
        }
        METHOD => Condition::Method { how, texts: texts(spots) },
        name => Condition::Text { source: Source::new(name, of_rule), how, texts: texts(spots) },
    }
}

fn templates(test: &Test, problems: &Problems) -> Box<[Template]> {
    match test {
        Test::Is(spots) => each(spots, problems, Template::whole),
        Test::Prefix(spots) => each(spots, problems, Template::prefix),
    }
    .into()
}

fn texts(spots: &[Spot<String>]) -> Box<[Box<str>]> {
    spots.iter().filter_map(|spot| spot.value.as_deref().map(Box::from)).collect()
}

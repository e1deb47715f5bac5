//! Selection of documents: Spring applies some only to certain profiles, and the active profile is
//! unknown here.

use super::super::warnings::Warnings;
use super::properties::Property;
use crate::policy_writer::quote::excerpt;

const REMEDY: &str = "convert a file with one document: the settings that the application runs with";

/// Properties for every profile. If they do not configure the limiter, also those of the first
/// document that does.
pub(super) fn select(documents: Vec<Vec<Property>>, warnings: &mut Warnings) -> Vec<Property> {
    let (for_some, for_all): (Vec<_>, Vec<_>) =
        documents.into_iter().partition(|document| document.iter().any(is_condition));
    let mut selected: Vec<Property> = for_all.into_iter().flatten().collect();
    for document in for_some {
        let Some(first) = document.iter().find(|one| one.is_limiter()) else { continue };
        let conditions = document.iter().filter(|one| is_condition(one));
        let conditions: Vec<String> =
            conditions.map(|one| format!("`{}: {}`", excerpt(&one.spelling), excerpt(&one.value))).collect();
        let what = format!("this `rate-limiter` applies only with {}", conditions.join(", "));
        if selected.iter().any(Property::is_limiter) {
            warnings.warn(first.at, format!("{what}, and is omitted"), REMEDY);
        } else {
            warnings.warn(first.at, format!("{what}, and is used: none applies to every profile"), REMEDY);
            selected.extend(document);
        }
    }
    selected
}

/// Whether a property restricts its document to a profile. The second name is that of Spring Boot
/// before 2.4.
fn is_condition(property: &Property) -> bool {
    let name = property.name.split('[').next().unwrap_or_default();
    name.starts_with("spring.config.activate.") || name == "spring.profiles"
}

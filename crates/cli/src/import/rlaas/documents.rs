//! Which documents of a file are read: Spring has some only for certain profiles, and which one an application runs with is not known here.

use super::super::quote::shown;
use super::super::warnings::Warnings;
use super::properties::Property;

const REMEDY: &str = "convert what the application runs with, in a file with one document";

/// The properties that are for every profile, and where none of these is the limiter's, also those of the first document that has
/// some.
pub(super) fn taken(documents: Vec<Vec<Property>>, warnings: &mut Warnings) -> Vec<Property> {
    let (for_some, for_all): (Vec<_>, Vec<_>) =
        documents.into_iter().partition(|document| document.iter().any(is_condition));
    let mut taken: Vec<Property> = for_all.into_iter().flatten().collect();
    for document in for_some {
        let Some(first) = document.iter().find(|one| one.is_limiter()) else { continue };
        let conditions = document.iter().filter(|one| is_condition(one));
        let conditions: Vec<String> =
            conditions.map(|one| format!("`{}: {}`", shown(&one.written), shown(&one.value))).collect();
        let what = format!("this `rate-limiter` is only for {}", conditions.join(", "));
        if taken.iter().any(Property::is_limiter) {
            warnings.warn(first.at, format!("{what}, and is left out"), REMEDY);
        } else {
            warnings.warn(first.at, format!("{what}, and is taken: none is for every profile"), REMEDY);
            taken.extend(document);
        }
    }
    taken
}

/// Whether a document with it is read at times only. The second name is that of Spring Boot before 2.4.
fn is_condition(property: &Property) -> bool {
    let name = property.name.split('[').next().unwrap_or_default();
    name.starts_with("spring.config.activate.") || name == "spring.profiles"
}

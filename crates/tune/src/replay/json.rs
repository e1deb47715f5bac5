//! Forms of values in JSON.

use serde::Serializer;
use serde::ser::SerializeMap;
use slidegate::policy::KeyText;

/// Key of a subject: a mapping of attributes to values, `null` where a request lacks the attribute.
pub(super) fn key<S: Serializer>(parts: &[KeyText], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(parts.len()))?;
    for part in parts {
        map.serialize_entry(&part.attribute, &part.value)?;
    }
    map.end()
}

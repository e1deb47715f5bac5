//! Override as the text of a note.

use serde::{Deserialize, Serialize};
use slidegate::policy::TemporaryOverride;
use slidegate::store::Note;

use super::{OverrideRecord, error};

#[derive(Serialize, Deserialize)]
struct NoteText<'a> {
    #[serde(borrow, rename = "exception")]
    definition: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    reason: std::borrow::Cow<'a, str>,
    created_at_ms: u64,
}

pub(super) fn write(definition: &TemporaryOverride, reason: &str, created_at_ms: u64) -> String {
    let text = NoteText { definition: definition.text().into(), reason: reason.into(), created_at_ms };
    serde_json::to_string(&text).expect("texts and a number are JSON")
}

/// Override in a note. An invalid note is an inactive override.
pub(super) fn read(note: &Note) -> OverrideRecord {
    let unknown = |problem: String| OverrideRecord {
        id: note.id.clone(),
        definition: None,
        reason: String::new(),
        created_at_ms: 0,
        expires_at_ms: note.expires_at_ms,
        active: false,
        problem: Some(problem),
    };
    let text: NoteText<'_> = match serde_json::from_str(&note.text) {
        Ok(text) => text,
        Err(error) => return unknown(format!("invalid note: {error}")),
    };
    let (definition, problem) = match TemporaryOverride::parse(&text.definition) {
        Ok(definition) => (Some(definition), None),
        Err(errors) => (None, Some(error::render(&errors))),
    };
    let (reason, created_at_ms) = (text.reason.into_owned(), text.created_at_ms);
    OverrideRecord { definition, reason, created_at_ms, problem, ..unknown(String::new()) }
}

//! Token usage in the answer of an LLM, as the OpenAI API reports it.

use serde::Deserialize;

/// Longest event, or object, that is read. Longer ones report no usage.
const MAX_JSON_BYTES: usize = 256 * 1_024;

/// Reader of an answer that comes in pieces.
pub(crate) struct UsageReader {
    format: Format,
    json: Vec<u8>,
}

/// Format of an answer.
#[derive(PartialEq, Eq)]
enum Format {
    /// Stream of events, each a line of JSON after `data:`.
    Events,
    /// One JSON object.
    Object,
}

#[derive(Deserialize)]
struct Event {
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    total_tokens: u64,
}

impl UsageReader {
    /// Reader of an answer with this content type.
    pub(crate) fn new(content_type: &[u8]) -> Self {
        let is_stream = content_type.starts_with(b"text/event-stream");
        Self { format: if is_stream { Format::Events } else { Format::Object }, json: Vec::new() }
    }

    /// Reads a piece. The tokens of the whole answer, if the piece completes their report.
    pub(crate) fn read(&mut self, piece: &[u8]) -> Option<u64> {
        if self.format == Format::Object {
            self.append(piece);
            return self.total_tokens();
        }
        let mut tokens = None;
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.append(part);
            if part.ends_with(b"\n") {
                tokens = self.total_tokens().or(tokens);
                self.json.clear();
            }
        }
        tokens
    }

    fn append(&mut self, part: &[u8]) {
        let space = MAX_JSON_BYTES.saturating_sub(self.json.len());
        self.json.extend(part.iter().take(space));
    }

    fn total_tokens(&self) -> Option<u64> {
        let json = self.json.strip_prefix(b"data:").unwrap_or(&self.json);
        // Most pieces of an object do not complete it.
        let is_complete = json.trim_ascii_end().ends_with(b"}");
        let event: Event = is_complete.then(|| serde_json::from_slice(json).ok())??;
        Some(event.usage?.total_tokens)
    }
}

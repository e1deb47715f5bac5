//! Request as a visitor gets it.

use slidegate::Request;

use super::line_batch::LineBatch;

/// Request as logged, with its place in the order of starts.
#[derive(Clone, Copy, Debug)]
pub struct LoggedRequest<'a> {
    /// Start as Unix milliseconds; the time reached, if the line came late. Never before that of an
    /// earlier visit.
    pub start_ms: u64,
    /// Duration, where the log has it.
    pub duration_ms: Option<u64>,
    /// Status code, where the log has it.
    pub status: Option<u16>,
    /// Index of the input.
    pub file: usize,
    /// Number of the line in its file, from 1.
    pub line: u64,
    /// Whether the line came later than the reorder time.
    pub is_late: bool,
    pub(super) names: &'a [String],
    pub(super) batch: &'a LineBatch,
    pub(super) index: usize,
}

impl<'a> LoggedRequest<'a> {
    /// Value of a needed attribute.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let needed = self.names.iter().position(|other| other == name)?;
        self.needed(needed)
    }

    /// Value of an attribute by its place in [`ReadOptions::needed`](super::ReadOptions::needed).
    #[inline]
    pub fn needed(&self, needed: usize) -> Option<&'a str> {
        self.batch.value(self.index, needed)
    }

    /// Attributes that the line has, with their names.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let (batch, index) = (self.batch, self.index);
        let named = self.names.iter().enumerate();
        named.filter_map(move |(needed, name)| Some((name.as_str(), batch.value(index, needed)?)))
    }

    /// Request to a policy.
    pub fn to_request(&self) -> Request<'a> {
        let mut request = Request::new();
        for (name, value) in self.attributes() {
            request.set(name, value);
        }
        request
    }
}

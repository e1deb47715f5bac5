//! Values of a line of JSON or CSV, in the order of the fields that are read.

use std::ops::Range;

/// Values of a line without fields of this kind.
pub(super) static NO_VALUES: MappedValues = MappedValues { text: Vec::new(), ranges: Vec::new() };

/// Values of a line, over one text that is reused.
#[derive(Default, Debug)]
pub(in crate::access_log) struct MappedValues {
    pub(super) text: Vec<u8>,
    ranges: Vec<Range<usize>>,
}

impl MappedValues {
    /// Empties all of so many values.
    pub(super) fn restart(&mut self, values: usize) {
        self.text.clear();
        self.ranges.clear();
        self.ranges.resize(values, 0..0);
    }

    /// Value of a field; empty if the line has none.
    pub(super) fn get(&self, field: usize) -> &[u8] {
        self.ranges.get(field).map_or(b"", |range| &self.text[range.clone()])
    }

    /// Sets the value of a field to what was written to the text from there on.
    pub(super) fn set(&mut self, field: usize, start: usize) {
        self.ranges[field] = start..self.text.len();
    }
}

//! Percentages.

/// Percentage in hundredths of a percent, at most 10,000: `25%`, `0.5%`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Percent(pub u32);

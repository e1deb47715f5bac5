//! Quantities: percentages, durations, sizes.

/// Percentage in hundredths of a percent, at most 10,000: `25%`, `0.5%`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Percent(pub u32);

/// Duration in milliseconds: `50ms`, `30s`, `1min`, `2h`, `1day`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct DurationMs(pub u64);

/// Size in bytes: `64KiB`, `256MiB`, `1GiB`, or a plain number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Bytes(pub u64);

//! Most recent ad hoc limit of a connection: most clients send the same one again and again.

use slidegate::{Limit, LimitError};

/// Limit with the numbers that it was made from.
#[derive(Debug)]
pub(super) struct RecentLimit {
    numbers: [u64; 3],
    limit: Limit,
}

/// Limit of these numbers, made only if the last one had others.
#[inline]
pub(super) fn get_or_make(
    recent: &mut Option<RecentLimit>,
    numbers: [u64; 3],
    make: impl FnOnce() -> Result<Limit, LimitError>,
) -> Result<&Limit, LimitError> {
    let same = recent.take().filter(|recent| recent.numbers == numbers);
    let limit = match same {
        Some(limit) => limit,
        None => RecentLimit { numbers, limit: make()? },
    };
    Ok(&recent.insert(limit).limit)
}

//! The limit that came along last: most clients bring the same one again and again.

use slidegate::{Limit, LimitError};

/// A limit, and what it was made of.
#[derive(Debug)]
pub(super) struct RecentLimit {
    made_of: [u64; 3],
    limit: Limit,
}

/// The limit made of these, made anew only if the last one was made of others.
#[inline]
pub(super) fn made_of(
    recent: &mut Option<RecentLimit>,
    made_of: [u64; 3],
    make: impl FnOnce() -> Result<Limit, LimitError>,
) -> Result<&Limit, LimitError> {
    let same = recent.take().filter(|recent| recent.made_of == made_of);
    let limit = match same {
        Some(limit) => limit,
        None => RecentLimit { made_of, limit: make()? },
    };
    Ok(&recent.insert(limit).limit)
}

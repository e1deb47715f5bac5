//! The limit that came along last: most clients bring the same one again and again.

use slidegate::{Limit, LimitError};

/// A limit, and what it was made of.
#[derive(Debug)]
pub(super) struct Recent {
    made_of: [u64; 3],
    limit: Limit,
}

/// The limit made of these, made anew only if the last one was made of others.
#[inline]
pub(super) fn made_of(
    recent: &mut Option<Recent>,
    made_of: [u64; 3],
    make: impl FnOnce() -> Result<Limit, LimitError>,
) -> Result<&Limit, LimitError> {
    let known = recent.take().filter(|recent| recent.made_of == made_of);
    let known = match known {
        Some(known) => known,
        None => Recent { made_of, limit: make()? },
    };
    Ok(&recent.insert(known).limit)
}

//! Stores: where limits keep their state.

#[doc(inline)]
pub use slidegate_store::{
    Admission, Board, Call, Charge, Charged, Forget, Granted, MAX_LIMITS, MAX_NOTE_BYTES, MAX_NOTE_ID_BYTES,
    MAX_NOTES, MAX_REMEMBERED, Note, Once, Posted, Reserve, Returns, SettleOutcome, Settlement, Store,
    fallback, memory,
};
#[cfg(feature = "redis")]
#[doc(inline)]
pub use slidegate_store_redis as redis;

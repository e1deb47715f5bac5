//! Stores: where limits keep their state.

#[doc(inline)]
pub use slidegate_store::{
    Admission, Charge, ChargeRecord, ChargeRequest, ForgetRequest, Grants, IdempotentOutcome, LeaseStore,
    LeaseSubject, MAX_IDEMPOTENCY_ENTRIES, MAX_LIMITS, MAX_NOTE_BYTES, MAX_NOTE_ID_BYTES, MAX_NOTES, Note,
    Notes, PostOutcome, RefundScope, ReserveRequest, SettleOutcome, Settlement, Store, fallback, memory,
};
#[cfg(feature = "redis")]
#[doc(inline)]
pub use slidegate_store_redis as redis;

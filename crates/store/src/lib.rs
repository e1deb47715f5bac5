//! Stores: the state of limits, and atomic decisions on it.
//!
//! A [`Store`] knows subjects, limits and costs. It knows nothing of rules, policies or protocols.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `store`, `lease_store` | [`Store`]: the operations; [`LeaseStore`]: those of leases |
//! | `charge`, `admission`, `settlement` | arguments and answers: [`ChargeRequest`], [`Charge`], [`Admission`], [`Settlement`] |
//! | `key`, `fingerprint` | [`Key`] and [`Space`] of a subject, and the keyed 128-bit hash that represents it |
//! | `memory` | the in-memory store |
//! | ├ `table`, `shard`, `slot`, `row`, `cell`, `counter_pair`, `packed`, `layout`, `location`, `subject`, `interner` | where a subject is, and how its state is packed |
//! | ├ `fast_path`, `multi_fast_path`, `multi_subject`, `permits`, `give_back`, `lease` | decisions, settlements and leases |
//! | ├ `eviction`, `budget`, `bytes`, `fullness`, `max_size` | the memory bound |
//! | └ `snapshot`, `snapshot_reader`, `codec` | the state in a file |
//! | `idempotency` | answers under idempotency keys, of this process |
//! | `fallback` | decisions while a store is unavailable |
//! | `notes` | short texts that all processes with a store share |
//! | `sync` | the lock of a shard, which tests replace to explore schedules |

mod admission;
mod charge;
pub mod fallback;
pub mod fingerprint;
pub mod idempotency;
mod key;
mod lease_store;
pub mod memory;
pub mod notes;
mod random;
mod settlement;
mod store;
pub mod sync;
mod sync_store;

pub use admission::{Admission, Grants, IdempotentOutcome};
pub use charge::{Charge, ChargeRequest, ForgetRequest, RefundScope, ReserveRequest, is_stricter, stricter};
pub use fallback::{Fallback, OnStoreError};
pub use idempotency::MAX_IDEMPOTENCY_ENTRIES;
pub use key::{Key, KeyEncoding, KeySegment, Space};
pub use lease_store::{LeaseStore, LeaseSubject};
pub use memory::Memory;
pub use notes::{MAX_NOTE_BYTES, MAX_NOTE_ID_BYTES, MAX_NOTES, Note, Notes, PostOutcome};
pub use random::random;
pub use settlement::{ChargeRecord, SettleOutcome, Settlement, settle_limit};
pub use store::Store;
pub use sync_store::SyncStore;

/// Maximum number of limits of one request.
pub const MAX_LIMITS: usize = 32;

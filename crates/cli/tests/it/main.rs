//! The `slidegate` program: its commands, its servers and its pages of documentation.
//!
//! Some tests need curl and Redis, which scripts/test installs.

mod admin;
mod check;
mod check_client;
mod demo;
mod denial_log;
mod differences;
mod explain;
mod exposure;
mod first_minute;
mod health;
mod hostile;
mod import;
mod offline;
mod open_files;
mod otlp;
mod pages;
mod policy_tests;
mod reload;
mod replay;
mod restarts;
mod serve;
mod simulate;
mod snapshots;
mod suggest;
mod tls;
mod tuning;
mod unread_log;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Turn of a test that loads the whole machine: such tests run one at a time.
fn load_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

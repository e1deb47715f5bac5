//! Lock of the memory store; under `--cfg shuttle` one whose schedules a test explores.

#[cfg(not(shuttle))]
pub use parking_lot::{Mutex, MutexGuard};

#[cfg(shuttle)]
pub use explored::{Mutex, MutexGuard};

#[cfg(shuttle)]
mod explored {
    pub use shuttle::sync::MutexGuard;

    /// Mutex of shuttle with the interface of `parking_lot`'s.
    #[derive(Debug)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Mutex around a value.
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        /// Waits for the lock.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no test panics while it holds a shard")
        }
    }
}

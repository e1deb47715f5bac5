//! The lock of the memory store; under `--cfg shuttle` one whose schedules a test explores.

#[cfg(not(shuttle))]
pub(crate) use parking_lot::{Mutex, MutexGuard};

#[cfg(shuttle)]
pub(crate) use explored::{Mutex, MutexGuard};

#[cfg(shuttle)]
mod explored {
    pub(crate) use shuttle::sync::MutexGuard;

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no test panics while it holds a shard")
        }
    }
}

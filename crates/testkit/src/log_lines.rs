//! Lines of `tracing`, collected for a test.

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Subscriber that collects the lines of one target.
#[derive(Clone, Debug)]
pub struct LogLines {
    target: &'static str,
    lines: Arc<Mutex<Vec<String>>>,
}

impl LogLines {
    /// No lines yet, of this target.
    pub fn of(target: &'static str) -> Self {
        Self { target, lines: Arc::default() }
    }

    /// Lines since the last call.
    ///
    /// # Panics
    /// If a thread panicked while it wrote one.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().expect("no panic"))
    }
}

struct Written(String);

impl Visit for Written {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl Subscriber for LogLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == self.target
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut written = Written(String::new());
        event.record(&mut written);
        self.lines.lock().expect("no panic").push(written.0.trim_end().to_owned());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

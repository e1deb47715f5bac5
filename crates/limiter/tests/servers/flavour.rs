//! Which server, and where its program is.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The servers that the store is tested with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Redis70,
    Redis62,
    Valkey9,
}

impl Flavour {
    pub(crate) fn all() -> [Self; 3] {
        [Self::Redis70, Self::Redis62, Self::Valkey9]
    }

    /// The variable that names the program, and where `scripts/test` puts it otherwise.
    fn places(self) -> (&'static str, &'static str) {
        match self {
            Self::Redis70 => ("SLIDEGATE_REDIS_70", "redis-7.0/redis-server"),
            Self::Redis62 => ("SLIDEGATE_REDIS_62", "redis-6.2/redis-server"),
            Self::Valkey9 => ("SLIDEGATE_VALKEY_9", "valkey-9/valkey-server"),
        }
    }

    /// A test without its server fails: one that skips itself is one that nobody runs.
    pub(crate) fn program(self) -> PathBuf {
        let (variable, place) = self.places();
        let installed = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools").join(place);
        let named = env::var_os(variable).map(PathBuf::from);
        let candidates = named.into_iter().chain([installed]).chain(self.on_path());
        let found = candidates.into_iter().find(|candidate| candidate.is_file());
        found.unwrap_or_else(|| {
            panic!("no server for {self:?}: run scripts/test once, which installs it, or set {variable} to its path")
        })
    }

    /// Only the first is what distributions install; another version under its name would be a test of something else.
    fn on_path(self) -> Option<PathBuf> {
        let path: OsString = env::var_os("PATH").filter(|_| self == Self::Redis70)?;
        env::split_paths(&path)
            .map(|directory| directory.join("redis-server"))
            .find(|program| program.is_file())
    }
}

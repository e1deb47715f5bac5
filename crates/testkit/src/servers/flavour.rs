//! Versions of servers, and the paths of their programs.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Server that the store is tested with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Redis 7.0, which has TLS.
    Redis70,
    /// Redis 6.2.
    Redis62,
    /// Valkey 9.
    Valkey9,
}

impl Flavour {
    /// All servers.
    pub fn all() -> [Self; 3] {
        [Self::Redis70, Self::Redis62, Self::Valkey9]
    }

    /// Variable with the path of the program, and the path below `target/tools` where
    /// `scripts/test` installs it.
    fn places(self) -> (&'static str, &'static str) {
        match self {
            Self::Redis70 => ("SLIDEGATE_REDIS_70", "redis-7.0/redis-server"),
            Self::Redis62 => ("SLIDEGATE_REDIS_62", "redis-6.2/redis-server"),
            Self::Valkey9 => ("SLIDEGATE_VALKEY_9", "valkey-9/valkey-server"),
        }
    }

    /// Path of the program. A test without its server fails: a test that skips itself is never run.
    pub fn program(self) -> PathBuf {
        let (variable, place) = self.places();
        let named = env::var_os(variable).map(PathBuf::from);
        let candidates = named.into_iter().chain(installed(place)).chain(self.on_path());
        let found = candidates.into_iter().find(|candidate| candidate.is_file());
        found.unwrap_or_else(|| {
            panic!("no server for {self:?}: run scripts/test once, which installs it, or set {variable} to its path")
        })
    }

    /// Program of the distribution, for Redis 7.0 only: others would have another version.
    fn on_path(self) -> Option<PathBuf> {
        let path: OsString = env::var_os("PATH").filter(|_| self == Self::Redis70)?;
        env::split_paths(&path)
            .map(|directory| directory.join("redis-server"))
            .find(|program| program.is_file())
    }
}

/// Program in `tools` of the target directory that this program is in.
fn installed(program: &str) -> Option<PathBuf> {
    let tests = env::current_exe().expect("this program");
    tests.ancestors().map(|above| above.join("tools").join(program)).find(|candidate| candidate.is_file())
}

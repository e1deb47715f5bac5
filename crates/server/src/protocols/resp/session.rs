//! Session of a connection: its identity and its options.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use subtle::ConstantTimeEq;

use super::parser::{AuthState, Bounds};
use super::recent_limit::RecentLimit;
use super::reply::Protocol;
use crate::config::{ServerSettings, Token};

/// The only user.
pub(super) const USER: &[u8] = b"default";
/// Maximum number of arguments of a command, its name included.
const MAX_ARGUMENTS: usize = 1_024;
/// Limits of an unauthenticated client, as Redis has them.
const MAX_ANONYMOUS_ARGUMENTS: usize = 10;
const MAX_ANONYMOUS_BYTES: usize = 16 << 10;

/// Id of the next connection.
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// Session of a connection.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: u64,
    pub(super) peer: IpAddr,
    pub(super) protocol: Protocol,
    pub(super) names: ClientNames,
    /// Most recent limits of `SG.LIMIT` and of `CL.THROTTLE`.
    pub(super) recent_limit: Option<RecentLimit>,
    pub(super) recent_meter: Option<RecentLimit>,
    /// Token of the client, which may have changed in the settings since.
    token: Option<Token>,
}

/// Names that a client gives itself: nothing depends on them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct ClientNames {
    pub(super) client: Box<str>,
    pub(super) library: Box<str>,
    pub(super) version: Box<str>,
}

impl Session {
    pub(super) fn new(peer: IpAddr) -> Self {
        let id = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            peer,
            protocol: Protocol::default(),
            names: ClientNames::default(),
            recent_limit: None,
            recent_meter: None,
            token: None,
        }
    }

    /// Resets the session to its state at the start.
    pub(super) fn reset(&mut self) {
        *self = Self { id: self.id, ..Self::new(self.peer) };
    }

    /// Authentication state. Both are tokens of the settings, so the time of the comparison reveals
    /// nothing.
    #[inline]
    pub(super) fn auth_state(&self, settings: &ServerSettings) -> AuthState {
        match &settings.token {
            None => AuthState::Authenticated,
            Some(token) if self.token.as_ref() == Some(token) => AuthState::Authenticated,
            Some(_) => AuthState::Anonymous,
        }
    }

    /// Authenticates a client. The time of the comparison depends on the length only.
    pub(super) fn authenticate(
        &mut self,
        settings: &ServerSettings,
        user: &[u8],
        password: &[u8],
    ) -> AuthState {
        let opens = match &settings.token {
            None => true,
            Some(token) => bool::from(password.ct_eq(token.as_bytes())),
        };
        if user != USER || !opens {
            return AuthState::Anonymous;
        }
        self.token.clone_from(&settings.token);
        AuthState::Authenticated
    }

    /// Bounds of its next command.
    #[inline]
    pub(super) fn bounds(&self, settings: &ServerSettings) -> Bounds {
        let max_bytes = settings.connections.max_body_bytes;
        let caller = self.auth_state(settings);
        let (max_arguments, max_argument_bytes) = match caller {
            AuthState::Authenticated => (MAX_ARGUMENTS, max_bytes),
            AuthState::Anonymous => (MAX_ANONYMOUS_ARGUMENTS, MAX_ANONYMOUS_BYTES),
        };
        Bounds { max_arguments, max_argument_bytes, max_bytes, caller }
    }
}

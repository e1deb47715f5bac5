//! Session of a connection: its identity and its options.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use subtle::ConstantTimeEq;

use super::parser::{AuthState, Bounds};
use super::recent_limit::RecentLimit;
use super::reply::Protocol;
use crate::config::live_settings::LiveSettings;

/// The user that everybody is.
pub(super) const USER: &[u8] = b"default";
/// The most arguments of a command, its name included.
const MAX_ARGUMENTS: usize = 1_024;
/// Limits of an unauthenticated client, as Redis has them.
const MAX_UNKNOWN_ARGUMENTS: usize = 10;
const MAX_UNKNOWN_BYTES: usize = 16 << 10;

/// Connections are counted, so that each has a number of its own.
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// Session of a connection.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: u64,
    pub(super) peer: IpAddr,
    pub(super) protocol: Protocol,
    pub(super) names: ClientNames,
    /// The limits that came along last, with `SG.LIMIT` and with `CL.THROTTLE`.
    pub(super) recent_limit: Option<RecentLimit>,
    pub(super) recent_meter: Option<RecentLimit>,
    /// The token that it brought, which may have been changed since.
    token: Option<Box<str>>,
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

    /// As it was when it was opened.
    pub(super) fn reset(&mut self) {
        *self = Self { id: self.id, ..Self::new(self.peer) };
    }

    /// Whether it may ask. Both are tokens of the settings, so how long it takes to compare them says nothing.
    #[inline]
    pub(super) fn auth_state(&self, settings: &LiveSettings) -> AuthState {
        match &settings.token {
            None => AuthState::Authenticated,
            Some(token) if self.token.as_ref() == Some(token) => AuthState::Authenticated,
            Some(_) => AuthState::Anonymous,
        }
    }

    /// Whether a client may ask from now on, by what it brought. Compares in a time that tells nothing but the length.
    pub(super) fn authenticate(
        &mut self,
        settings: &LiveSettings,
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

    /// Limits of its next command.
    #[inline]
    pub(super) fn bounds(&self, settings: &LiveSettings) -> Bounds {
        let max_bytes = settings.connections.max_body_bytes;
        match self.auth_state(settings) {
            AuthState::Authenticated => Bounds {
                max_arguments: MAX_ARGUMENTS,
                max_argument_bytes: max_bytes,
                max_bytes,
                caller: AuthState::Authenticated,
            },
            AuthState::Anonymous => Bounds {
                max_arguments: MAX_UNKNOWN_ARGUMENTS,
                max_argument_bytes: MAX_UNKNOWN_BYTES,
                max_bytes,
                caller: AuthState::Anonymous,
            },
        }
    }
}

//! Redis server with users and passwords.

use super::{Flavour, RedisServer};

const ADMIN_PASSWORD: &str = "of-the-admin";

/// Server whose default user has a password, with one more user with an ACL.
pub struct Guarded(RedisServer);

impl Guarded {
    /// Name of the user.
    pub const USER: &str = "limiter";
    /// Password of the user.
    pub const PASSWORD: &str = "of-the-limiter";

    /// Starts a server. `rules` are those of an ACL, such as `"~* +@all -script"`.
    pub fn start(flavour: Flavour, rules: &str) -> Self {
        let password = format!(">{}", Self::PASSWORD);
        let mut args = vec!["--requirepass", ADMIN_PASSWORD, "--user", Self::USER, "on", &password];
        args.extend(rules.split(' '));
        Self(RedisServer::start_with(flavour, &args))
    }

    /// Server, with commands and a URL for the default user.
    pub fn server(&self) -> &RedisServer {
        &self.0
    }

    /// URL with the user and its password.
    pub fn user_url(&self) -> String {
        format!("redis://{}:{}@127.0.0.1:{}", Self::USER, Self::PASSWORD, self.0.port())
    }

    /// URL without credentials, which the server refuses.
    pub fn anonymous_url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.0.port())
    }
}

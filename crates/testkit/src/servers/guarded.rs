//! A server that asks who is there.

use super::{Flavour, RedisServer};

const ADMIN_PASSWORD: &str = "of-the-admin";

/// A server whose default user has a password, with one more user who may do what an ACL says.
pub struct Guarded(RedisServer);

impl Guarded {
    /// The name of the user.
    pub const USER: &str = "limiter";
    /// The password of the user.
    pub const PASSWORD: &str = "of-the-limiter";

    /// `rules` are an ACL's, such as `"~* +@all -script"`.
    pub fn start(flavour: Flavour, rules: &str) -> Self {
        let password = format!(">{}", Self::PASSWORD);
        let mut args = vec!["--requirepass", ADMIN_PASSWORD, "--user", Self::USER, "on", &password];
        args.extend(rules.split(' '));
        Self(RedisServer::start_with(flavour, &args))
    }

    /// The server, with commands and a URL for the admin.
    pub fn server(&self) -> &RedisServer {
        &self.0
    }

    /// With the user and its password.
    pub fn user_url(&self) -> String {
        format!("redis://{}:{}@127.0.0.1:{}", Self::USER, Self::PASSWORD, self.0.port())
    }

    /// With nothing, which such a server refuses.
    pub fn anonymous_url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.0.port())
    }
}

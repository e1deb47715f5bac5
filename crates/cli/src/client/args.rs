//! What every command has that speaks to a server.

use std::path::PathBuf;

use super::{Address, Client, ClientError};

const HEADING: &str = "Where the server has https://";

// A comment for the documentation here would become that of the command; and no group, since its name is taken there.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(crate) struct Args {
    /// Where the server listens.
    #[arg(long, value_name = "URL", env = "SLIDEGATE_SERVER", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: Address,
    /// The server's token, if it asks for one.
    #[arg(long, env = "SLIDEGATE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    #[command(flatten)]
    pub(crate) trust: Trust,
}

impl Args {
    pub(crate) fn client(&self) -> Result<Client, ClientError> {
        Ok(Client::new(&self.server, &self.trust)?.token(self.token.as_deref()))
    }
}

// For commands whose server or token is another.
#[derive(clap::Args, Default, Debug)]
#[group(skip)]
pub(crate) struct Trust {
    /// Trust the authorities in this file (PEM) instead of the system's.
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_CACERT", help_heading = HEADING)]
    pub(super) cacert: Option<PathBuf>,
    /// The certificate to show (PEM), if the server asks clients for one.
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_CERT", requires = "key", help_heading = HEADING)]
    pub(super) cert: Option<PathBuf>,
    /// The private key of that certificate (PEM).
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_KEY", requires = "cert", help_heading = HEADING)]
    pub(super) key: Option<PathBuf>,
}

//! Options of every command that talks to a server.

use std::path::PathBuf;

use super::{ClientError, HttpClient, ServerUrl};

const TLS_HEADING: &str = "TLS options (for https URLs)";

// A doc comment here would become the help text of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct ServerArgs {
    /// URL of the server.
    #[arg(long, value_name = "URL", env = "SLIDEGATE_SERVER", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: ServerUrl,
    /// Bearer token of the server, if it requires one.
    #[arg(long, env = "SLIDEGATE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

impl ServerArgs {
    pub(crate) fn client(&self) -> Result<HttpClient, ClientError> {
        HttpClient::new(&self.server, &self.tls, self.token.as_deref())
    }
}

// Separate, for commands with another default URL or no token.
#[derive(clap::Args, Default, Debug)]
pub(crate) struct TlsArgs {
    /// CA certificates to trust (PEM), instead of the system's.
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_CACERT", help_heading = TLS_HEADING)]
    pub(super) cacert: Option<PathBuf>,
    /// Client certificate (PEM), if the server requires one.
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_CERT", requires = "key", help_heading = TLS_HEADING)]
    pub(super) cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM).
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_KEY", requires = "cert", help_heading = TLS_HEADING)]
    pub(super) key: Option<PathBuf>,
}

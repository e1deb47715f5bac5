//! Options of every command that talks to a server.

use std::path::PathBuf;

use slidegate_server::http_client::{HttpUrl, TlsFiles};

use super::{ClientError, JsonClient};

const TLS_HEADING: &str = "TLS options (for https URLs)";

// A doc comment here would become the help text of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct ServerArgs {
    /// URL of the server.
    #[arg(long, value_name = "URL", env = "SLIDEGATE_SERVER", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: HttpUrl,
    /// Bearer token of the server, if it requires one.
    #[arg(long, env = "SLIDEGATE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

impl ServerArgs {
    pub(crate) fn client(&self) -> Result<JsonClient, ClientError> {
        JsonClient::new(&self.server, &self.tls, self.token.as_deref())
    }
}

// Separate, for commands with another default URL or no token.
#[derive(clap::Args, Default, Debug)]
pub(crate) struct TlsArgs {
    /// CA certificates to trust (PEM), instead of the system's.
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_CACERT", help_heading = TLS_HEADING)]
    cacert: Option<PathBuf>,
    /// Client certificate (PEM), if the server requires one.
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_CERT", requires = "key", help_heading = TLS_HEADING)]
    cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM).
    #[arg(long, value_name = "FILE", env = "SLIDEGATE_KEY", requires = "cert", help_heading = TLS_HEADING)]
    key: Option<PathBuf>,
}

impl TlsArgs {
    pub(super) fn files(&self) -> TlsFiles<'_> {
        TlsFiles {
            authorities: self.cacert.as_deref(),
            certificate: self.cert.as_deref(),
            key: self.key.as_deref(),
        }
    }
}

//! Redis server with TLS.

use super::{Flavour, RedisServer, ports};
use crate::certificates::{Authority, CertificateFiles, Pem, Usage};

/// Client certificates: required or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Clients without a certificate are refused.
    Required,
    /// Clients need no certificate.
    NotRequired,
}

/// Redis 7.0 with TLS (the others are built without it), and with plain TCP on the port of
/// [`Self::server`].
pub struct TlsServer {
    server: RedisServer,
    port: u16,
    /// Certificate of the authority that signed the server's.
    pub ca: String,
    /// Certificate of a client.
    pub client: Pem,
    _files: CertificateFiles,
}

impl TlsServer {
    /// Starts the server with a certificate for 127.0.0.1 and localhost.
    pub fn start(clients: ClientCertificates) -> Self {
        let authority = Authority::new("authority");
        let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
        files.write("ca.crt", &authority.certificate);
        let path = |name| files.path(name).into_os_string().into_string().expect("a path in UTF-8");
        let [ca, certificate, key] = ["ca.crt", "tls.crt", "tls.key"].map(path);
        let port = ports::free_port();
        let ask = if clients == ClientCertificates::Required { "yes" } else { "no" };
        let mut args =
            vec!["--tls-ca-cert-file", &ca, "--tls-cert-file", &certificate, "--tls-key-file", &key];
        let listen = port.to_string();
        args.extend(["--tls-port", &listen, "--tls-auth-clients", ask]);
        let server = RedisServer::start_with(Flavour::Redis70, &args);
        let client = authority.sign(Usage::Client, 2);
        Self { server, port, ca: authority.certificate, client, _files: files }
    }

    /// URL with TLS.
    pub fn url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.port)
    }

    /// Port with TLS.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Server, with commands over plain TCP.
    pub fn server(&self) -> &RedisServer {
        &self.server
    }

    /// Certificate of another authority, which signed nothing here.
    pub fn stranger() -> String {
        Authority::new("stranger").certificate
    }
}

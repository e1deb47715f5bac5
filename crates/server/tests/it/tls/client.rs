//! TLS client.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion};
use slidegate_testkit::certificates::{Authority, Pem};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Whom a client trusts, and what it shows.
pub(crate) struct Manner<'a> {
    pub(crate) trusts: &'a Authority,
    pub(crate) shows: Option<&'a Pem>,
    pub(crate) versions: &'a [&'static SupportedProtocolVersion],
}

impl<'a> Manner<'a> {
    pub(crate) fn trusting(trusts: &'a Authority) -> Self {
        Self { trusts, shows: None, versions: rustls::ALL_VERSIONS }
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.trusts.certificate)).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .expect("versions")
            .with_root_certificates(roots);
        let mut config = match self.shows {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes()).expect("a key");
                builder.with_client_auth_cert(vec![certificate(&pem.certificate)], key).expect("a pair")
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }

    /// Connects, and sends one check. With TLS 1.3 a server refuses a client only after the
    /// handshake.
    pub(crate) async fn ask(&self, address: SocketAddr) -> io::Result<u16> {
        Client::connect(address, self.config()).await?.check().await
    }
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")
}

pub(crate) async fn connect(
    address: SocketAddr,
    config: Arc<ClientConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(config).connect(ServerName::from(address.ip()), stream).await
}

/// One connection.
pub(crate) struct Client(BufStream<TlsStream<TcpStream>>);

impl Client {
    pub(crate) async fn connect(address: SocketAddr, config: Arc<ClientConfig>) -> io::Result<Self> {
        Ok(Self(BufStream::new(connect(address, config).await?)))
    }

    /// `POST /v1/check`; the status of the answer, which is read to its end.
    pub(crate) async fn check(&mut self) -> io::Result<u16> {
        let body = r#"{"attributes":{"user":"alice"}}"#;
        let head = format!("POST /v1/check HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n", body.len());
        self.0.write_all(format!("{head}{body}").as_bytes()).await?;
        self.0.flush().await?;
        let mut line = String::new();
        let (mut status, mut length) = (0, 0);
        loop {
            line.clear();
            if self.0.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().expect("a length"),
                Some(_) => {}
                None if line.trim_end().is_empty() => break,
                None => {
                    status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
                }
            }
        }
        self.0.read_exact(&mut vec![0; length]).await?;
        Ok(status)
    }

    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.0.get_ref().get_ref().1.protocol_version()
    }

    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        self.0.get_ref().get_ref().1.alpn_protocol()
    }

    /// The certificate that the server showed.
    pub(crate) fn presented(&self) -> CertificateDer<'static> {
        let presented = self.0.get_ref().get_ref().1.peer_certificates();
        presented.and_then(<[_]>::first).expect("a certificate").clone().into_owned()
    }

    pub(crate) fn has_presented(&self, pem: &Pem) -> bool {
        self.presented() == certificate(&pem.certificate)
    }
}

/// Alert of the server.
pub(crate) fn alert(error: &io::Error) -> rustls::AlertDescription {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::AlertReceived(alert)) => *alert,
        other => panic!("no alert: {error}, {other:?}"),
    }
}

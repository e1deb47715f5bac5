//! TLS configuration of the client: trusted authorities and client certificate.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{ClientError, ServerUrl, TlsArgs};

/// TLS configuration from the files of the options. It names its crypto provider, whatever the
/// process default is.
pub(super) fn config(args: &TlsArgs) -> Result<Arc<ClientConfig>, ClientError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports TLS 1.2 and 1.3")
        .with_root_certificates(roots(args)?);
    let mut config = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            builder.with_client_auth_cert(chain, private_key(key)?).map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    invalid(key, format!("does not match the certificate in {}", cert.display()))
                }
                error => invalid(cert, format!("invalid certificate: {error}")),
            })?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

pub(super) async fn connect(
    config: Arc<ClientConfig>,
    url: &ServerUrl,
    stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(url.host().to_owned());
    let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    TlsConnector::from(config).connect(name, stream).await
}

fn roots(args: &TlsArgs) -> Result<RootCertStore, ClientError> {
    let mut store = RootCertStore::empty();
    match &args.cacert {
        // The system's store may contain certificates that rustls does not support.
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            for authority in certificates(path)? {
                store
                    .add(authority)
                    .map_err(|error| invalid(path, format!("invalid certificate: {error}")))?;
            }
        }
    }
    Ok(store)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let found = CertificateDer::pem_slice_iter(&read(path)?).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(some) if !some.is_empty() => Ok(some),
        Ok(_) => Err(invalid(path, "no certificate found: expected a -----BEGIN CERTIFICATE----- block")),
        Err(error) => Err(invalid(path, format!("invalid PEM: {error}"))),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, ClientError> {
    let pem = read(path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
        if String::from_utf8_lossy(&pem).contains("ENCRYPTED") {
            invalid(
                path,
                "the private key is encrypted: remove the passphrase with `openssl pkey -in FILE -out FILE`",
            )
        } else {
            invalid(path, "no private key found: expected a -----BEGIN PRIVATE KEY----- block")
        }
    })
}

fn read(path: &Path) -> Result<Vec<u8>, ClientError> {
    fs::read(path).map_err(|error| invalid(path, format!("cannot read: {error}")))
}

fn invalid(path: &Path, why: impl Into<String>) -> ClientError {
    ClientError::File { path: path.to_owned(), why: why.into() }
}

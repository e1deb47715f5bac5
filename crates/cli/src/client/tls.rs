//! TLS as a client: whom to trust, and whom to be.

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

use super::{Address, ClientError, Trust};

/// The provider is named, so that it does not matter whether the process has set one for everybody.
pub(super) fn config(trust: &Trust) -> Result<Arc<ClientConfig>, ClientError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows TLS 1.2 and 1.3")
        .with_root_certificates(roots(trust)?);
    let mut config = match (&trust.cert, &trust.key) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            builder.with_client_auth_cert(chain, private_key(key)?).map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    wrong(key, format!("is not the key of the certificate in {}", cert.display()))
                }
                error => wrong(cert, format!("cannot be used: {error}")),
            })?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

pub(super) async fn connect(
    config: Arc<ClientConfig>,
    address: &Address,
    stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(address.host().to_owned());
    let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    TlsConnector::from(config).connect(name, stream).await
}

fn roots(trust: &Trust) -> Result<RootCertStore, ClientError> {
    let mut store = RootCertStore::empty();
    match &trust.cacert {
        // What the system has may include certificates that rustls does not understand.
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            for authority in certificates(path)? {
                let added = store.add(authority);
                added.map_err(|error| {
                    wrong(path, format!("has a certificate that cannot be used: {error}"))
                })?;
            }
        }
    }
    Ok(store)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let found = CertificateDer::pem_slice_iter(&read(path)?).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(some) if !some.is_empty() => Ok(some),
        Ok(_) => Err(wrong(
            path,
            "has no certificate: it needs a part that begins with -----BEGIN CERTIFICATE-----",
        )),
        Err(error) => Err(wrong(path, format!("is no PEM: {error}"))),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, ClientError> {
    let pem = read(path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
        if String::from_utf8_lossy(&pem).contains("ENCRYPTED") {
            wrong(
                path,
                "is encrypted: write it without a passphrase, as `openssl pkey -in FILE -out FILE` does",
            )
        } else {
            wrong(path, "has no private key: it needs a part that begins with -----BEGIN PRIVATE KEY-----")
        }
    })
}

fn read(path: &Path) -> Result<Vec<u8>, ClientError> {
    fs::read(path).map_err(|error| wrong(path, format!("cannot be read: {error}")))
}

fn wrong(path: &Path, why: impl Into<String>) -> ClientError {
    ClientError::File { path: path.to_owned(), why: why.into() }
}

//! TLS: trusted roots, and the client certificate.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::config::{ClientCertificate, RedisConfigError};

/// TLS settings, and the configuration of rustls, which is built at the first connection.
#[derive(Clone, Default, Debug)]
pub(crate) struct RedisTls {
    /// Trusted roots; the system's if empty.
    roots: Vec<CertificateDer<'static>>,
    identity: Option<Arc<ClientIdentity>>,
    built: Arc<OnceLock<Arc<ClientConfig>>>,
}

#[derive(Debug)]
struct ClientIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl RedisTls {
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<(), RedisConfigError> {
        self.roots = certificates("root certificate", pem)?;
        self.built = Arc::default();
        Ok(())
    }

    pub(crate) fn identify(&mut self, certificate: ClientCertificate<'_>) -> Result<(), RedisConfigError> {
        let chain = certificates("client certificate", certificate.chain)?;
        let key =
            PrivateKeyDer::from_pem_slice(certificate.key).map_err(|error| bad("client key", &error))?;
        self.identity = Some(Arc::new(ClientIdentity { chain, key }));
        self.built = Arc::default();
        Ok(())
    }

    pub(super) async fn wrap(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let config = match self.built.get() {
            Some(config) => config.clone(),
            None => self.build().await?,
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        TlsConnector::from(config).connect(name, stream).await.map_err(|error| error.to_string())
    }

    /// Builds the configuration on a blocking thread, since the system's certificates are files.
    async fn build(&self) -> Result<Arc<ClientConfig>, String> {
        let tls = self.clone();
        let built = tokio::task::spawn_blocking(move || tls.client_config());
        let config = built.await.map_err(|error| error.to_string())??;
        Ok(self.built.get_or_init(|| Arc::new(config)).clone())
    }

    /// Configuration with an explicit provider, independent of the default of the process.
    fn client_config(&self) -> Result<ClientConfig, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(self.root_store()?);
        match &self.identity {
            Some(identity) => builder
                .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|error| format!("client certificate: {error}")),
            None => Ok(builder.with_no_client_auth()),
        }
    }

    fn root_store(&self) -> Result<RootCertStore, String> {
        let mut store = RootCertStore::empty();
        if self.roots.is_empty() {
            // The system's may include certificates that rustls does not understand.
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        for root in &self.roots {
            store.add(root.clone()).map_err(|error| format!("root certificate: {error}"))?;
        }
        if store.is_empty() {
            return Err("no root certificates on this system: set one".to_owned());
        }
        Ok(store)
    }
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, RedisConfigError> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    match found.map_err(|error| bad(what, &error))? {
        none if none.is_empty() => Err(bad(what, &pem::Error::NoItemsFound)),
        some => Ok(some),
    }
}

fn bad(what: &'static str, why: &pem::Error) -> RedisConfigError {
    RedisConfigError::Pem { what, why: why.to_string() }
}

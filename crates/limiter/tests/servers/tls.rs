//! A server that speaks TLS, and certificates for it.

use std::fs;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tempfile::TempDir;

use super::{Flavour, Server, ports};

/// Whether clients have to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientCertificates {
    Required,
    NotAsked,
}

/// A certificate and its private key, as PEM.
pub(crate) struct Pem {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Of Redis 7.0: the others are built without TLS. Besides, it speaks plainly on the port of [`Self::server`].
pub(crate) struct TlsServer {
    server: Server,
    port: u16,
    /// What the server's certificate is signed by.
    pub(crate) ca: String,
    /// What a client may show.
    pub(crate) client: Pem,
    _files: TempDir,
}

impl TlsServer {
    /// Its certificate is for 127.0.0.1 and localhost.
    pub(crate) fn start(clients: ClientCertificates) -> Self {
        let (ca, issuer) = authority();
        let of_server = signed(&issuer, &["localhost", "127.0.0.1"], ExtendedKeyUsagePurpose::ServerAuth);
        let client = signed(&issuer, &["client"], ExtendedKeyUsagePurpose::ClientAuth);
        let files = TempDir::with_prefix("slidegate-tls-").expect("a directory");
        let write = |name, text: &str| {
            let path = files.path().join(name);
            fs::write(&path, text).expect("a file");
            path.into_os_string().into_string().expect("a path that is text")
        };
        let (authority, certificate) = (write("ca", &ca), write("certificate", &of_server.certificate));
        let key = write("key", &of_server.key);
        let port = ports::free();
        let ask = if clients == ClientCertificates::Required { "yes" } else { "no" };
        let mut args =
            vec!["--tls-ca-cert-file", &authority, "--tls-cert-file", &certificate, "--tls-key-file", &key];
        let listen = port.to_string();
        args.extend(["--tls-port", &listen, "--tls-auth-clients", ask]);
        let server = Server::start_with(Flavour::Redis70, &args);
        Self { server, port, ca, client, _files: files }
    }

    /// The address with TLS.
    pub(crate) fn url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.port)
    }

    /// The port with TLS.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Another authority, whose certificate no server here has.
    pub(crate) fn stranger() -> String {
        authority().0
    }
}

fn authority() -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // OpenSSL takes a certificate for self-signed if its subject is that of its issuer, which is what rcgen's default makes it.
    params.distinguished_name.push(DnType::CommonName, "authority");
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    (certificate.pem(), Issuer::new(params, key))
}

fn signed(issuer: &Issuer<'static, KeyPair>, names: &[&str], purpose: ExtendedKeyUsagePurpose) -> Pem {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    Pem { certificate: certificate.pem(), key: key.serialize_pem() }
}

//! Certificates, made for a test.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SerialNumber, date_time_ymd,
};

/// A certificate and its private key, as PEM.
#[derive(Clone, Debug)]
pub(crate) struct Pem {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// What a certificate is for.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "every program of tests uses a part of it")]
pub(crate) enum For {
    Server,
    /// Of a server, and long expired.
    LateServer,
    /// Of a server, for five days more.
    EndingServer,
    Client,
    /// Of a client, and long expired.
    LateClient,
}

/// Signs certificates.
pub(crate) struct Authority {
    pub(crate) certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A certificate with this serial number; one of a server is for 127.0.0.1 and localhost.
    pub(crate) fn sign(&self, purpose: For, serial: u64) -> Pem {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let mut params = CertificateParams::new(names).expect("names");
        params.serial_number = Some(SerialNumber::from(serial));
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name.push(DnType::CommonName, format!("number {serial}"));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match purpose {
            For::Server | For::LateServer | For::EndingServer => ExtendedKeyUsagePurpose::ServerAuth,
            For::Client | For::LateClient => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        match purpose {
            For::Server | For::Client => {}
            For::LateServer | For::LateClient => {
                params.not_before = date_time_ymd(2020, 1, 1);
                params.not_after = date_time_ymd(2021, 1, 1);
            }
            For::EndingServer => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
                let five_days = Duration::from_secs(5 * 24 * 60 * 60 + 60 * 60);
                params.not_after = date_time_ymd(1970, 1, 1) + now + five_days;
            }
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Pem { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

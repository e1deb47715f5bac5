//! Settings of TLS.

slidegate::policy::section! {
    /// TLS of a listener. Changed files are reloaded.
    pub struct TlsSettings: "tls" as "Tls" {
        /// File with the certificate chain, in PEM format.
        certificate: String => "server.pem";
        /// File with the private key, in PEM format.
        key: String => "server.key";
        /// File with the certificate authorities of clients. If set, clients must present a
        /// certificate of one of them.
        client_ca: Option<String>;
    }
}

//! Files that cannot be used at the start: which one, and what to do.

use std::process::Command;

use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};

use crate::tls::service::{Clients, app, settings};

/// What is wrong with these files.
fn error(files: &CertificateFiles, clients: Clients) -> String {
    let app = app(&format!("  tls: {}", settings(files, clients)));
    app.err().expect("files that cannot be used").to_string()
}

#[test]
fn every_error_names_the_file_and_says_what_to_do() {
    let authority = Authority::new("authority");
    let pem = authority.sign(Usage::Server, 1);
    let cut = &pem.certificate[..pem.certificate.len() / 2];
    let rows: [(&str, &[u8], &str, &str); 9] = [
        ("tls.crt", b"", "has no certificate", "-----BEGIN CERTIFICATE-----"),
        ("tls.crt", pem.key.as_bytes(), "has no certificate", "-----BEGIN CERTIFICATE-----"),
        ("tls.crt", &[0x30, 0x82, 1, 2, 3], "has no certificate", "openssl x509 -inform der"),
        ("tls.crt", cut.as_bytes(), "the line -----END CERTIFICATE----- is missing", "write it again"),
        ("tls.key", b"", "has no private key", "-----BEGIN PRIVATE KEY-----"),
        ("tls.key", pem.certificate.as_bytes(), "has no private key", "-----BEGIN PRIVATE KEY-----"),
        ("tls.key", b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "is encrypted", "openssl pkey -in "),
        ("ca.crt", b"", "has no certificate", "-----BEGIN CERTIFICATE-----"),
        (
            "ca.crt",
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "cannot be used",
            "ca.crt",
        ),
    ];
    for (file, bytes, what, remedy) in rows {
        let files = CertificateFiles::of(&pem);
        files.write("ca.crt", &authority.certificate);
        files.write(file, bytes);
        let message = error(&files, Clients::Trusted);
        let path = files.path(file).display().to_string();
        assert!(message.starts_with("server.tls: ") && message.contains(&path), "{message}");
        assert!(message.contains(what) && message.contains(remedy), "{message}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let authority = Authority::new("authority");
    for file in ["tls.crt", "tls.key", "ca.crt"] {
        let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
        files.write("ca.crt", &authority.certificate);
        std::fs::remove_file(files.path(file)).expect("a file");
        let message = error(&files, Clients::Trusted);
        assert!(message.contains(&format!("{} cannot be read: ", files.path(file).display())), "{message}");
        assert!(message.contains("relative to the directory that the program was started in"), "{message}");
    }
}

#[test]
fn key_and_certificate_have_to_fit() {
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    files.write("tls.key", &authority.sign(Usage::Server, 2).key);
    let message = error(&files, Clients::Anybody);
    assert!(message.contains("does not match the certificate in"), "{message}");
    assert!(message.contains("tls.key") && message.contains("tls.crt"), "{message}");
}

/// The admin listener has a certificate of its own.
#[test]
fn the_setting_is_named() {
    let files = CertificateFiles::of(&Authority::new("authority").sign(Usage::Server, 1));
    files.write("tls.key", "");
    let admin = format!("  admin: {{ listen: 127.0.0.1:0, tls: {} }}", settings(&files, Clients::Anybody));
    let message = app(&admin).err().expect("no key").to_string();
    assert!(message.starts_with("server.admin.tls: "), "{message}");
}

/// Keys as `openssl` writes them, in all forms.
#[test]
fn keys_of_openssl_are_read() {
    let files = CertificateFiles::new();
    let openssl = |arguments: &[&str]| {
        let done =
            Command::new("openssl").args(arguments).current_dir(files.path("")).output().expect("openssl");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let certify = |key: &str| {
        openssl(&[
            "req",
            "-x509",
            "-new",
            "-key",
            key,
            "-out",
            "tls.crt",
            "-days",
            "30",
            "-subj",
            "/CN=localhost",
        ]);
    };
    // Ed25519 has no form from before PKCS #8.
    let rows: [(&[&str], &[&[&str]]); 4] = [
        (&["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], &[&[], &["-traditional"]]),
        (&["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], &[&[], &["-traditional"]]),
        (&["EC", "-pkeyopt", "ec_paramgen_curve:P-384"], &[&[], &["-traditional"]]),
        (&["ED25519"], &[&[]]),
    ];
    for (kind, forms) in rows {
        openssl(&[&["genpkey", "-out", "made", "-algorithm"], kind].concat());
        certify("made");
        for form in forms {
            openssl(&[&["pkey", "-in", "made", "-out", "tls.key"], *form].concat());
            let made = app(&format!("  tls: {}", settings(&files, Clients::Anybody)));
            let state =
                made.unwrap_or_else(|error| panic!("{kind:?} {form:?}: {error}")).tls_state().remove(0);
            let hours = (state.not_after_ms.expect("an end") - state.loaded_at_ms) / 3_600_000;
            assert!((30 * 24 - 1..=30 * 24).contains(&hours), "{hours} hours");

            let encrypt = ["pkey", "-in", "made", "-out", "tls.key", "-aes256", "-passout", "pass:secret"];
            openssl(&[&encrypt, *form].concat());
            let message = error(&files, Clients::Anybody);
            assert!(message.contains("is encrypted"), "{kind:?} {form:?}: {message}");
        }
    }
    openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1", "-out", "tls.key"]);
    certify("tls.key");
    let message = error(&files, Clients::Anybody);
    assert!(message.contains("tls.key cannot be used") && message.contains("P-256"), "{message}");
}

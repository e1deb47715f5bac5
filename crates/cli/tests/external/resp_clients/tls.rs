//! The same behind TLS.

use serde_json::json;
use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use slidegate_testkit::program::python;

use crate::resp_clients::Service;
use crate::resp_clients::tools::{node, redis_cli};

/// Each by its own options, which name the authority.
#[test]
fn every_client_speaks_tls() {
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    files.write("ca.crt", &authority.certificate);
    let name = |name: &str| files.path(name).to_str().expect("a path in UTF-8").to_owned();
    let (certificate, key, ca) = (name("tls.crt"), name("tls.key"), name("ca.crt"));
    let listen = json!({ "listen": "127.0.0.1:0", "tls": { "certificate": certificate, "key": key } });
    let policy = json!({ "version": 1, "server": { "resp": listen }, "rules": [] });
    let service = Service::with_policy(&policy.to_string(), &[]);
    let port = service.at.port();

    let python_says = format!(
        "import redis; print(redis.Redis(port={port}, ssl=True, ssl_ca_certs={ca:?}).echo('redis-py').decode())"
    );
    let node_says = format!(
        "const tls = {{ ca: require('fs').readFileSync({ca:?}) }};
         const redis = new (require('ioredis'))({{ port: {port}, tls }});
         redis.echo('ioredis').then((text) => {{ console.log(text); redis.disconnect(); }});"
    );
    let mut clients = [redis_cli(service.at), python(), node()];
    clients[0].args(["--tls", "--cacert", &ca, "ECHO", "redis-cli"]);
    clients[1].args(["-c", &python_says]);
    clients[2].args(["-e", &node_says]);
    for (mut client, expected) in clients.into_iter().zip(["redis-cli\n", "redis-py\n", "ioredis\n"]) {
        let output = client.output().expect("a client");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
    }
}

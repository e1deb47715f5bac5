//! An API behind an Envoy that asks the service.

use std::fs;

use serde_json::{Value, json};
use slidegate_testkit::program::{ServerProcess, command};
use tempfile::TempDir;

use super::client::{Answer, Client, Request};
use super::proxy::Proxy;
use super::setup::Setup;
use super::upstream::Upstream;
use super::{SEARCH, parameter};

pub(crate) struct Site {
    pub(crate) proxy: Proxy,
    pub(crate) service: ServerProcess,
    pub(crate) upstream: Upstream,
    pub(crate) folder: TempDir,
}

impl Site {
    /// As the page has it.
    pub(crate) fn open() -> Self {
        Self::of(&Setup::of_page(), TempDir::new().expect("a temporary folder"))
    }

    /// In a folder with whatever else the files name.
    pub(crate) fn of(setup: &Setup, folder: TempDir) -> Self {
        let upstream = Upstream::start();
        fs::write(folder.path().join("policy.yaml"), &setup.policy).expect("the folder takes files");
        let arguments = ["serve", "policy.yaml", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
        let service = ServerProcess::spawn(command(&arguments).current_dir(folder.path()));
        let ports = [(8000, 0), (9901, 0), (9000, upstream.port()), (8081, service.grpc().port())];
        let mut config = setup.envoy.clone();
        for (port, instead) in ports {
            config = config.replace(&format!("port_value: {port}"), &format!("port_value: {instead}"));
        }
        fs::write(folder.path().join("envoy.yaml"), config).expect("the folder takes files");
        let proxy = Proxy::start(folder.path());
        Self { proxy, service, upstream, folder }
    }

    pub(crate) fn ask(&self, client: Client, request: &Request<'_>) -> Answer {
        client.ask(self.proxy.address(), request)
    }

    pub(crate) fn try_ask(&self, client: Client, request: &Request<'_>) -> std::io::Result<Answer> {
        client.try_ask(self.proxy.address(), request)
    }

    /// Uses up what a client may search.
    pub(crate) fn exhaust(&self, client: Client) {
        for left in [2, 1, 0] {
            let answer = self.ask(client, &SEARCH);
            let remaining = answer.header("ratelimit").and_then(|field| parameter(field, "r"));
            assert_eq!((answer.status, remaining), (200, Some(left)), "{answer:?}");
        }
    }

    /// What is left of everything that a descriptor of these entries would be charged for, by the
    /// listener of checks.
    pub(crate) fn left(&self, entries: &[(&str, &str)]) -> u64 {
        let names: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
        let mut attributes: Value = entries.iter().copied().collect::<Value>();
        attributes["domain"] = "shop".into();
        attributes["descriptor"] = names.join(",").into();
        let reply = self.service.check(&json!({"attributes": attributes, "cost": 0}).to_string());
        reply.json()["remaining"].as_u64().unwrap_or_else(|| panic!("no limit: {reply:?}"))
    }

    /// What is left to an API key.
    pub(crate) fn left_to(&self, api_key: &str) -> u64 {
        self.left(&[("api_key", api_key)])
    }
}

//! The gateways: which program, and how the recipe says to start it.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::client::{Client, Request};

const READY_WITHIN: Duration = Duration::from_secs(30);
const LOG: &str = "log";

/// A gateway and what its recipe promises.
#[derive(Debug)]
pub(crate) struct Gateway {
    name: &'static str,
    /// The environment variable with the path of its program.
    variable: &'static str,
    arguments: &'static [&'static str],
    pub(crate) tells: Tells,
    pub(crate) unanswered: Unanswered,
}

/// Who learns from an admitted request what is left.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tells {
    Client,
    Upstream,
}

/// What happens to a request when the service does not answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unanswered {
    Passes,
    Refused(u16),
}

pub(crate) const NGINX: Gateway = Gateway {
    name: "nginx",
    variable: "SLIDEGATE_NGINX",
    // One process, which ends as a whole when it is killed.
    arguments: &["-p", ".", "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off; master_process off;"],
    tells: Tells::Client,
    unanswered: Unanswered::Passes,
};

pub(crate) const TRAEFIK: Gateway = Gateway {
    name: "traefik",
    variable: "SLIDEGATE_TRAEFIK",
    arguments: &["--configFile=traefik.yaml"],
    tells: Tells::Upstream,
    unanswered: Unanswered::Refused(500),
};

pub(crate) const CADDY: Gateway = Gateway {
    name: "caddy",
    variable: "SLIDEGATE_CADDY",
    arguments: &["run", "--config", "Caddyfile"],
    tells: Tells::Client,
    unanswered: Unanswered::Passes,
};

pub(crate) const HAPROXY: Gateway = Gateway {
    name: "haproxy",
    variable: "SLIDEGATE_HAPROXY",
    arguments: &["-db", "-f", "haproxy.cfg"],
    tells: Tells::Client,
    unanswered: Unanswered::Passes,
};

/// A gateway that answers. Ends when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Gateway {
    /// Starts it from its recipe, with the ports of this test.
    pub(crate) fn start(&self, service: u16, upstream: u16) -> Running {
        const ATTEMPTS: usize = 3;
        // It cannot be told to choose a port, and the one that was free may be taken before it has
        // it.
        let mut error = String::new();
        for _ in 0..ATTEMPTS {
            let mut running = self.spawn(service, upstream);
            match running.wait_until_it_answers() {
                Ok(()) => return running,
                Err(why) => error = why,
            }
        }
        panic!("{} did not start: {error}", self.name);
    }

    fn spawn(&self, service: u16, upstream: u16) -> Running {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let address = free_address();
        let ports = [(":8080", service), (":9000", upstream), (":8000", address.port())];
        copy_recipe(&recipes().join(self.name), folder.path(), &ports);
        let log = File::create(folder.path().join(LOG)).expect("the folder takes a file");
        let program = std::env::var(self.variable).unwrap_or_else(|_| self.name.to_owned());
        let child = Command::new(&program)
            .args(self.arguments)
            .current_dir(folder.path())
            // Caddy keeps its state there.
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file can be had twice"))
            .stderr(log)
            .spawn();
        let child = child.unwrap_or_else(|error| match error.kind() {
            ErrorKind::NotFound => panic!(
                "{program} is missing: this test needs it. Run need_gateways of scripts/lib.sh, or set {} to its path",
                self.variable
            ),
            _ => panic!("{program} cannot be started: {error}"),
        });
        Running { child, address, folder }
    }
}

impl Running {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks for what no rule limits, until the API answers.
    fn wait_until_it_answers(&mut self) -> Result<(), String> {
        let ready = Request { method: "GET", target: "/ready", headers: &[], body: b"" };
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if Client::FIRST.try_ask(self.address, &ready).is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            let ended = self.child.try_wait().expect("a child can be asked for its state");
            if ended.is_some() || Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default();
                return Err(format!("ended: {ended:?}, said:\n{log}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the recipes are.
pub(crate) fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes")
}

/// Copies a recipe as it is, but for its ports.
fn copy_recipe(from: &Path, to: &Path, ports: &[(&str, u16)]) {
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let path = entry.expect("a folder can be read").path();
        let mut text = fs::read_to_string(&path).expect("recipes are text");
        for (port, instead) in ports {
            text = text.replace(port, &format!(":{instead}"));
        }
        fs::write(to.join(path.file_name().expect("a file has a name")), text)
            .expect("the folder takes files");
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("some port is free");
    listener.local_addr().expect("a listener has an address")
}

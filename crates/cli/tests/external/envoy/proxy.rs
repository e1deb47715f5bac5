//! A running Envoy.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use slidegate_testkit::program::HttpRequest;

const READY_WITHIN: Duration = Duration::from_secs(30);
/// What it says, standard output and error.
const LOG: &str = "envoy.log";
/// Where it says where its own listener is.
const ADMIN: &str = "admin.txt";

/// Ends when dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    child: Child,
    folder: PathBuf,
    admin: SocketAddr,
    address: SocketAddr,
}

/// Envoy, with these arguments.
fn envoy(arguments: &[&str], folder: &Path) -> Command {
    let program = std::env::var("SLIDEGATE_ENVOY").unwrap_or_else(|_| "envoy".to_owned());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

impl Proxy {
    /// Starts it with `envoy.yaml` of a folder, whose listeners take ports that are free.
    pub(crate) fn start(folder: &Path) -> Self {
        // Several run on one machine, and one thread is enough.
        let arguments = ["-c", "envoy.yaml", "--disable-hot-restart", "--concurrency", "1"];
        let more = ["--log-level", "warning", "--admin-address-path", ADMIN];
        let log = File::create(folder.join(LOG)).expect("the folder takes a file");
        let child = envoy(&[&arguments[..], &more].concat(), folder)
            .stdout(log.try_clone().expect("a file can be had twice"))
            .stderr(log)
            .spawn();
        let child = child.unwrap_or_else(|error| match error.kind() {
            ErrorKind::NotFound => panic!(
                "envoy is missing: this test needs it. Run need_envoy of scripts/lib.sh, or set SLIDEGATE_ENVOY to its path"
            ),
            _ => panic!("envoy cannot be started: {error}"),
        });
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut proxy = Self { child, folder: folder.to_owned(), admin: nowhere, address: nowhere };
        proxy.admin = proxy.wait_for(|proxy| fs::read_to_string(proxy.folder.join(ADMIN)).ok()?.parse().ok());
        proxy.wait_for(|proxy| proxy.operator("/ready").contains("LIVE").then_some(()));
        // `shop::127.0.0.1:41923`
        proxy.address = proxy.wait_for(|proxy| {
            proxy.operator("/listeners").lines().find_map(|line| line.strip_prefix("shop::")?.parse().ok())
        });
        proxy
    }

    /// Asks until there is something, and tells what it said if it ends before.
    pub(crate) fn wait_for<T>(&mut self, something: impl Fn(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if let Some(found) = something(self) {
                return found;
            }
            let ended = self.child.try_wait().expect("a child can be asked for its state");
            assert!(ended.is_none() && Instant::now() < deadline, "ended: {ended:?}, said:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Where clients come in.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where operators do.
    pub(crate) fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// What operators are told.
    pub(crate) fn operator(&self, target: &str) -> String {
        HttpRequest::get(target).send(self.admin).body
    }

    /// Its log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join(LOG)).unwrap_or_default()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

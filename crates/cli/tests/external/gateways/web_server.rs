//! Real web servers behind the gateway: what matters is what they take a path for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::client::{Client, Request};

const READY_WITHIN: Duration = Duration::from_secs(60);

/// A web server that answers with the name of what it runs. Ends when dropped.
#[derive(Debug)]
pub(crate) struct WebServer {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl WebServer {
    /// Tomcat with static files called as what they say.
    pub(crate) fn tomcat(names: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let base = folder.path();
        for name in ["conf", "temp", "webapps/ROOT"] {
            fs::create_dir_all(base.join(name)).expect("a folder can be made");
        }
        for name in ["server.xml", "web.xml"] {
            fs::copy(here().join("tomcat").join(name), base.join("conf").join(name))
                .expect("a file can be copied");
        }
        for name in names {
            fs::write(base.join("webapps/ROOT").join(name), name).expect("the folder takes files");
        }
        let home = needed("SLIDEGATE_TOMCAT");
        let jar = |name: &str| home.join("bin").join(name).display().to_string();
        let log = base.join("log");
        let mut command = Command::new("java");
        command
            .args(["-XX:TieredStopAtLevel=1", "-Xmx128m"])
            .arg(format!("-Dcatalina.home={}", home.display()))
            .arg(format!("-Dcatalina.base={}", base.display()))
            .arg(format!("-Djava.io.tmpdir={}", base.join("temp").display()))
            .args(["-cp", &[jar("bootstrap.jar"), jar("tomcat-juli.jar")].join(":")])
            .args(["org.apache.catalina.startup.Bootstrap", "start"])
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("the folder takes a file"));
        let child = spawn(&mut command);
        let mut server = Self { child, port: 0, _folder: folder };
        // Starting ProtocolHandler ["http-nio-127.0.0.1-auto-1-43121"]
        server.port = server.wait_for_port(|| {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let line = text.lines().find(|line| line.contains("Starting ProtocolHandler"))?.to_owned();
            // What follows is said once it answers.
            text.contains("Server startup").then_some(())?;
            line.trim_end_matches(['"', ']']).rsplit('-').next()?.parse().ok()
        });
        server
    }

    pub(crate) fn express() -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let log = folder.path().join("log");
        let mut command = Command::new(needed("SLIDEGATE_NODE"));
        command
            .arg(here().join("express.js"))
            .env("NODE_PATH", needed("SLIDEGATE_EXPRESS").join("node_modules"))
            .stdout(File::create(&log).expect("the folder takes a file"));
        let mut server = Self { child: spawn(&mut command), port: 0, _folder: folder };
        server.port = server
            .wait_for_port(|| fs::read_to_string(&log).ok()?.trim_end().strip_prefix("port ")?.parse().ok());
        server
    }

    fn wait_for_port(&mut self, port: impl Fn() -> Option<u16>) -> u16 {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if let Some(port) = port() {
                return port;
            }
            let ended = self.child.try_wait().expect("a child can be asked for its state");
            assert!(ended.is_none() && Instant::now() < deadline, "the web server did not start: {ended:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The name of what it runs for a request, if that is anything.
    pub(crate) fn runs(&self, request: &Request<'_>) -> Option<String> {
        let address = ([127, 0, 0, 1], self.port).into();
        let answer = Client::FIRST.try_ask(address, request).ok()?;
        (answer.status == 200).then(|| answer.text().to_owned())
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"))
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/gateways")
}

fn needed(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) => path.into(),
        None => panic!("{variable} is not set: this test needs it. Run need_web_servers of scripts/lib.sh"),
    }
}

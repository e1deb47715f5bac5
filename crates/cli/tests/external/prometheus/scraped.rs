//! A real Prometheus scrapes servers, evaluates the alerts, and answers what the dashboard asks.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::prometheus::expression::{of_alerts, of_dashboard};
use crate::prometheus::lived::Lived;
use crate::prometheus::{read, root, tool};

/// More than anything takes, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What it says, standard output and error.
const LOG: &str = "log";

/// Ends when dropped.
struct Prometheus {
    child: Child,
    folder: TempDir,
    address: SocketAddr,
}

impl Prometheus {
    /// With the configuration of `contrib/`, but for where servers are and how often they are
    /// asked.
    fn start(targets: &[SocketAddr]) -> Self {
        let folder = TempDir::new().expect("a directory");
        let targets: Vec<String> = targets.iter().map(SocketAddr::to_string).collect();
        let config = read("contrib/prometheus/prometheus.yaml");
        assert!(config.contains("[127.0.0.1:8090]"));
        let config = config.replace("[127.0.0.1:8090]", &format!("[{}]", targets.join(", ")));
        let often = "global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s }\n";
        fs::write(folder.path().join("prometheus.yaml"), format!("{often}{config}")).expect("a file");
        let alerts = root().join("contrib/prometheus/alerts.yaml");
        fs::copy(alerts, folder.path().join("alerts.yaml")).expect("a copy");
        // It cannot be told to choose a port, and the one that was free may be taken before it has
        // it.
        let mut last = String::new();
        for _ in 0..3 {
            let (mut child, address) = spawn(folder.path());
            if is_ready(&mut child, address) {
                return Self { child, folder, address };
            }
            last = fs::read_to_string(folder.path().join(LOG)).unwrap_or_default();
        }
        panic!("prometheus does not start: {last}");
    }

    /// What its API says.
    fn ask(&self, path: &str, query: &str) -> Value {
        ask(self.address, path, query)
            .unwrap_or_else(|| panic!("no answer to {path} {query}: {}", self.log()))
    }

    /// Asks until there is something.
    fn wait_for(&self, what: &str, is_there: impl Fn(&Value) -> bool, path: &str, query: &str) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.ask(path, query);
            if is_there(&answer["data"]) {
                return answer["data"].clone();
            }
            assert!(began.elapsed() < PATIENCE, "{what}: {answer}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts it on a port that nobody had a moment ago.
fn spawn(folder: &Path) -> (Child, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("some port is free");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let log = File::create(folder.join(LOG)).expect("a file");
    let child = Command::new(tool("SLIDEGATE_PROMETHEUS"))
        .args(["--config.file=prometheus.yaml", "--storage.tsdb.path=data"])
        .arg(format!("--web.listen-address={address}"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file can be had twice"))
        .stderr(log)
        .spawn();
    (child.expect("prometheus can be started"), address)
}

/// Waits until it answers; not if it has ended.
fn is_ready(child: &mut Child, address: SocketAddr) -> bool {
    let began = Instant::now();
    while ask(address, "/api/v1/status/runtimeinfo", "").is_none() {
        if child.try_wait().expect("a child can be asked for its state").is_some() {
            return false;
        }
        assert!(began.elapsed() < PATIENCE, "prometheus does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

/// By curl, which reads whatever way Prometheus chooses to send it.
fn ask(address: SocketAddr, path: &str, query: &str) -> Option<Value> {
    let mut command = Command::new("curl");
    command.args(["--silent", "--get", &format!("http://{address}{path}")]);
    if !query.is_empty() {
        command.args(["--data-urlencode", &format!("query={query}")]);
    }
    let answer: Value = serde_json::from_slice(&command.output().expect("curl").stdout).ok()?;
    (answer["status"] == "success").then_some(answer)
}

fn all<'a>(list: &'a Value, is_so: impl Fn(&Value) -> bool + 'a) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_so))
}

#[test]
fn a_real_prometheus_reads_all_of_it() {
    let lived = Lived::new();
    let prometheus = Prometheus::start(&[lived.memory.admin(), lived.redis.admin()]);
    let up = |data: &Value| all(&data["activeTargets"], |target| target["health"] == "up");
    let targets = prometheus.wait_for("servers are scraped", up, "/api/v1/targets", "");
    assert_eq!(targets["activeTargets"].as_array().map(Vec::len), Some(2));

    let evaluated = |data: &Value| all(&data["groups"][0]["rules"], |rule| rule["health"] == "ok");
    let rules = prometheus.wait_for("alerts are evaluated", evaluated, "/api/v1/rules", "");
    let rules = rules["groups"][0]["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), of_alerts().len());

    for expression in of_dashboard() {
        let query = expression.text.replace("$__rate_interval", "1m").replace("$__range", "1h");
        let query = query.replace("$instance", ".*").replace("$rule", ".*");
        let found = |data: &Value| data["result"].as_array().is_some_and(|result| !result.is_empty());
        prometheus.wait_for(&query, found, "/api/v1/query", &query);
    }
}

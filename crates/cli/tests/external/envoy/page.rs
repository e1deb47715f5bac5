//! The page: its files, its blocks, and what it tells to type.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use slidegate_testkit::program::{ShellStep, blocks, console, run_all};
use tempfile::TempDir;

use super::setup::Setup;
use super::site::Site;

const PAGE: &str = include_str!("../../../../../docs/envoy.md");

/// The block that begins with a comment and has a text in it.
pub(crate) fn block(comment: &str, text: &str) -> &'static str {
    let first = format!("# {comment}\n");
    let mut found =
        blocks(PAGE, "yaml").into_iter().filter(|block| block.starts_with(&first) && block.contains(text));
    let block = found.next().unwrap_or_else(|| panic!("a block `{comment}` with {text}"));
    assert_eq!(found.next(), None, "one block `{comment}` with {text}");
    block
}

/// A file, by its name.
pub(crate) fn file(name: &str) -> String {
    format!("{}\n", block(name, ""))
}

/// What the page tells to type, with the addresses of a site.
fn steps(site: &Site) -> Vec<ShellStep> {
    let addresses = [
        ("127.0.0.1:8000", site.proxy.address()),
        ("127.0.0.1:8080", site.service.address()),
        ("127.0.0.1:9901", site.proxy.admin()),
    ];
    console(PAGE, |line| {
        addresses
            .iter()
            .fold(line.to_owned(), |line, (of_page, here)| line.replace(of_page, &here.to_string()))
    })
}

/// The API that the page starts. Ends when dropped.
struct Api {
    child: Child,
    port: u16,
}

impl Api {
    /// On a port that is free, by the lines of the page.
    fn start(lines: &str, folder: &Path) -> Self {
        let script = lines.replace("9000 &", "0").replace("\npython3", "\nexec python3 -u");
        let mut child = Command::new("sh")
            .args(["-ec", &script])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh");
        let stdout = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let port = line.split(' ').skip_while(|word| *word != "port").nth(1);
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no port: {line}"));
        Self { child, port }
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A machine that stalled for a second between two requests changes the times that are printed, and
/// nothing else does: only then all begins anew.
#[test]
fn the_page_tells_the_truth() {
    let start = blocks(PAGE, "sh")[0];
    let api =
        start.strip_suffix("\nslidegate serve policy.yaml &\nenvoy -c envoy.yaml").expect("its last lines");
    let mut last = String::new();
    for _ in 0..5 {
        let folder = TempDir::new().expect("a folder");
        let api = Api::start(api, folder.path());
        let setup = Setup::of_page().envoy("port_value: 9000", &format!("port_value: {}", api.port));
        let site = Site::of(&setup, folder);
        let steps = steps(&site);
        assert!(steps.len() >= 5, "{steps:?}");
        match run_all(&steps, &site.service, site.folder.path()) {
            Ok(()) => return,
            Err(slow) => last = slow,
        }
    }
    panic!("never fast enough: {last}");
}

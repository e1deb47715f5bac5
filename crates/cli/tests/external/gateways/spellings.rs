//! Paths as real web servers read them: whatever they take for a limited path is limited.

use slidegate_testkit::program::{ServerProcess, file, path};

use super::client::{Client, Request};
use super::gateway::NGINX;
use super::web_server::WebServer;
use super::{LOGIN, recipes};

/// How many spellings are made up for each server.
const MADE_UP: u32 = 600;

/// The rules of the recipes, and one for all that is read, but for the health check.
fn policy(more: &str) -> String {
    let text = std::fs::read_to_string(recipes().join("policy.yaml")).expect("the policy of the recipes");
    let reading = "  - { name: reading, match: { method: GET }, key: [ip], limits: [3/day], allow: [{ path: [/health, /ready] }] }\n";
    text.replace("3/min", "3/day") + reading + more
}

/// A web server behind nginx, as the recipe says.
struct Site {
    gateway: super::gateway::Running,
    web_server: WebServer,
    service: ServerProcess,
}

impl Site {
    fn open(web_server: WebServer, more: &str) -> Self {
        let file = file(&policy(more));
        let service = ServerProcess::start(&[path(&file)]);
        let gateway = NGINX.start(service.address().port(), web_server.port());
        Self { gateway, web_server, service }
    }

    fn ask(&self, request: &Request<'_>) -> Option<(u16, String)> {
        let answer = Client::FIRST.try_ask(self.gateway.address(), request).ok()?;
        Some((answer.status, answer.text().to_owned()))
    }

    /// Uses up both limits.
    fn exhaust(&self) {
        for _ in 0..3 {
            assert_eq!(self.ask(&LOGIN), Some((200, "login".to_owned())));
            assert_eq!(self.ask(&get("/login")), Some((200, "login".to_owned())));
        }
        assert_eq!(self.ask(&LOGIN).map(|(status, _)| status), Some(429));
        assert_eq!(self.ask(&get("/login")).map(|(status, _)| status), Some(429));
        assert_eq!(self.ask(&get("/health")), Some((200, "health".to_owned())));
    }

    /// Whatever is sent: what is limited does not run. Returns what runs if it is sent to the web
    /// server itself.
    fn withstands(&self, target: &str) -> Option<String> {
        let login = Request { target, ..LOGIN };
        let runs = self.web_server.runs(&login);
        if runs.as_deref() == Some("login") {
            // Who does not refuse it for what it is (400) has to refuse it for the limit.
            let answer = self.ask(&login);
            assert!(answer.is_none_or(|(status, _)| status >= 400), "POST {target} runs");
        }
        if self.web_server.runs(&get(target)).is_some_and(|name| name != "health" && name != "ready") {
            let answer = self.ask(&get(target));
            assert!(answer.is_none_or(|(status, _)| status >= 400), "GET {target} runs");
        }
        runs
    }

    fn withstands_all(&self, spellings: &[&str], pieces: &[&str]) {
        for target in spellings {
            let runs = self.withstands(target);
            assert_eq!(runs.as_deref(), Some("login"), "{target} is not what this server takes for /login");
        }
        let (mut state, mut ran) = (1_u32, 0);
        for _ in 0..MADE_UP {
            let mut target = String::from("/");
            for _ in 0..=(state >> 16) % 6 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                target += pieces[(state >> 20) as usize % pieces.len()];
            }
            ran += u32::from(self.withstands(&target).as_deref() == Some("login"));
        }
        assert!(ran > MADE_UP / 50, "too few of what was made up is /login: {ran}");
    }
}

fn get(target: &str) -> Request<'_> {
    Request { method: "GET", target, headers: &[], body: b"" }
}

#[test]
fn tomcat() {
    let site = Site::open(WebServer::tomcat(&["login", "health", "ready"]), "");
    site.exhaust();
    let spellings = [
        "/login",
        "/login;x=1",
        "/login;a=%2Fb",
        "/;a/login",
        "//login",
        "/./login",
        "/x/../login",
        "/x/..;/login",
        "/x/..;a=%2Fb/login",
        "/x/%2e%2e;/login",
        "/health/..;/login",
        "/health;/../login;x",
        "/x%2F..%2Flogin",
        "/x/..%2flogin",
        "/x\\..\\login",
        "/x%5C..%5Clogin",
        "/%5Clogin",
        "/%6cogin",
    ];
    let pieces = [
        "login", "login", "health", "/", "/", "..", "..;", ";", "%2F", "\\", "%5c", ".", "x", "%2e%2e",
        ";a=b", "%6cogin",
    ];
    site.withstands_all(&spellings, &pieces);
    // What can be read in too many ways is refused as such.
    let odd = Request {
        headers: &[("X-Forwarded-Uri", r"/a;b%3Bc%2Fd\e%5Cf/%67/../login")],
        ..get("/v1/authorize")
    };
    assert_eq!(Client::FIRST.ask(site.service.address(), &odd).status, 400);
}

#[test]
fn express() {
    let site = Site::open(WebServer::express(), "paths: { ignore_case: true }\n");
    site.exhaust();
    let spellings = ["/login", "/LOGIN", "/Login/", "/login?x", "/lOgIn#x"];
    let pieces = [
        "login", "LogIn", "health", "%68ealth", "HEALTH", "/", "..", "%2F", ";", "#", "?", "x", "users",
        "posts",
    ];
    site.withstands_all(&spellings, &pieces);
    // It decodes nothing before it looks for a route, and so takes this for a page.
    for target in ["/%68ealth", "/health;x", "/x%2F..%2Fhealth"] {
        assert_eq!(site.web_server.runs(&get(target)).as_deref(), Some("page"), "{target}");
        assert_eq!(site.ask(&get(target)).map(|(status, _)| status), Some(429), "{target}");
    }
}

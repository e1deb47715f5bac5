//! TLS from the command line: `serve` with certificates, `check` and curl against it, and what each
//! says when it cannot.
#![cfg(unix)]

use std::process::Command;
use std::time::{Duration, Instant};

use slidegate_testkit::certificates::{Authority, CertificateFiles, Pem, Usage};
use slidegate_testkit::program::{Ended, ServerProcess, command, executable, file, path, run};

const RULES: &str = "rules: [{name: login, match: {path: /login}, key: [ip], limits: [1000/min]}]";
/// More than a change of files may take to be noticed: five times two seconds.
const DEADLINE: Duration = Duration::from_secs(10);

/// An authority, the files of a server that it vouches for, and those of a client.
struct Scene {
    authority: Authority,
    files: CertificateFiles,
}

impl Scene {
    fn new(purpose: Usage) -> Self {
        let authority = Authority::new("authority");
        let files = CertificateFiles::of(&authority.sign(purpose, 1));
        files.write("ca.crt", &authority.certificate);
        Self { authority, files }
    }

    /// Writes a certificate and its key for a client.
    fn client(&self, name: &str, pem: &Pem) {
        self.files.write(&format!("{name}.crt"), &pem.certificate);
        self.files.write(&format!("{name}.key"), &pem.key);
    }

    fn path(&self, name: &str) -> String {
        self.files.path(name).to_str().expect("a path in UTF-8").to_owned()
    }

    fn policy(&self, more: &str) -> tempfile::NamedTempFile {
        let (certificate, key) = (self.path("tls.crt"), self.path("tls.key"));
        file(&format!(
            "version: 1\nserver: {{tls: {{certificate: {certificate:?}, key: {key:?}{more}}}}}\n{RULES}\n"
        ))
    }

    fn serve(&self) -> ServerProcess {
        ServerProcess::start(&[path(&self.policy(""))])
    }

    /// For clients with a certificate alone.
    fn serve_mutual(&self) -> ServerProcess {
        let more = format!(", client_ca: {:?}", self.path("ca.crt"));
        ServerProcess::start(&[path(&self.policy(&more))])
    }
}

fn check(url: &str, more: &[&str]) -> Ended {
    run(&[&["check", "path=/login", "ip=203.0.113.7", "--server", url], more].concat())
}

fn curl(url: &str, more: &[&str]) -> Ended {
    let body = r#"{"attributes":{"path":"/login","ip":"203.0.113.7"}}"#;
    let mut command = Command::new("curl");
    command.args(["-s", "-S", "-o", "/dev/null", "-w", "%{http_code} %{http_version}"]);
    command.args(["-H", "content-type: application/json", "-d", body]);
    command.args(more).arg(format!("{url}/v1/check"));
    command.output().expect("curl; need_http_tools in scripts/lib.sh installs it").into()
}

#[test]
fn check_trusts_the_authority_of_the_option() {
    let scene = Scene::new(Usage::Server);
    let server = scene.serve();
    assert!(server.url().starts_with("https://127.0.0.1:"), "{}", server.url());
    let ca = scene.path("ca.crt");
    let ended = check(&server.url(), &["--cacert", &ca]);
    assert_eq!((ended.code, ended.stdout.lines().next()), (Some(0), Some("allowed: 999 left")), "{ended:?}");
    let by_name = server.url().replace("127.0.0.1", "localhost");
    assert_eq!(check(&by_name, &["--cacert", &ca]).code, Some(0));
    let mut by_variable = command(&["check", "path=/login", "ip=203.0.113.7"]);
    by_variable.env("SLIDEGATE_SERVER", server.url()).env("SLIDEGATE_CACERT", &ca);
    assert_eq!(Ended::from(by_variable.output().expect("it runs")).code, Some(0));
}

/// Every way in which it can fail, what it ends with, and what it says to do.
#[test]
fn errors_say_what_to_do() {
    let scene = Scene::new(Usage::Server);
    let (server, ca) = (scene.serve(), scene.path("ca.crt"));
    let late = Scene::new(Usage::ExpiredServer);
    let late_server = late.serve();
    let plain = ServerProcess::start(&[]);
    let elsewhere =
        ServerProcess::spawn(&mut command(&["serve", path(&scene.policy("")), "--http", "127.0.0.2:0"]));
    let (https, http) = (server.url(), server.url().replace("https", "http"));
    let plain_https = plain.url().replace("http", "https");
    let (late_ca, no_file) = (late.path("ca.crt"), scene.path("none.crt"));
    let key = scene.path("tls.key");
    let rows: [(&str, Vec<&str>, i32, &str, &str); 8] = [
        (&https, vec![], 3, "signed by an unknown authority", "--cacert"),
        (&https, vec!["--cacert", &late_ca], 3, "a different authority of the same name", "--cacert"),
        (
            &elsewhere.url(),
            vec!["--cacert", &ca],
            3,
            "is not valid for 127.0.0.2",
            "use a host name from the certificate",
        ),
        (&late_server.url(), vec!["--cacert", &late_ca], 3, "has expired", "renew it"),
        (&plain_https, vec!["--cacert", &ca], 3, "does not use TLS", &plain.url()),
        (&http, vec![], 3, "not an HTTP response", &https),
        (&https, vec!["--cacert", &no_file], 2, "none.crt cannot be read", "none.crt"),
        (&https, vec!["--cacert", &key], 2, "tls.key has no certificate", "-----BEGIN CERTIFICATE-----"),
    ];
    for (url, more, code, what, remedy) in rows {
        let ended = check(url, &more);
        assert_eq!(ended.code, Some(code), "{what}: {ended:?}");
        assert!(ended.stderr.contains(what) && ended.stderr.contains(remedy), "{what}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn certificates_of_clients() {
    let scene = Scene::new(Usage::Server);
    let server = scene.serve_mutual();
    scene.client("known", &scene.authority.sign(Usage::Client, 2));
    scene.client("late", &scene.authority.sign(Usage::ExpiredClient, 3));
    scene.client("stranger", &Authority::new("stranger").sign(Usage::Client, 4));
    let ca = scene.path("ca.crt");
    let rows = [
        (Some("known"), Some(0), "", ""),
        (None, Some(3), "the server requires a client certificate", "--cert and its key with --key"),
        (Some("late"), Some(3), "has expired", "renew it"),
        (Some("stranger"), Some(3), "rejected the client certificate", "client_ca"),
    ];
    for (name, code, what, remedy) in rows {
        let files = name.map(|name| [scene.path(&format!("{name}.crt")), scene.path(&format!("{name}.key"))]);
        let mut more = vec!["--cacert", ca.as_str()];
        if let Some([cert, key]) = &files {
            more.extend(["--cert", cert, "--key", key]);
        }
        // What a server says last is not to be lost, however the two are scheduled.
        for _ in 0..10 {
            let ended = check(&server.url(), &more);
            assert_eq!(ended.code, code, "{name:?}: {ended:?}");
            assert!(ended.stderr.contains(what) && ended.stderr.contains(remedy), "{}", ended.stderr);
        }
        let fetched = curl(&server.url(), &more);
        assert_eq!(fetched.code == Some(0), code == Some(0), "{name:?}: {fetched:?}");
    }
    let [cert, key] = ["known.crt", "late.key"].map(|name| scene.path(name));
    for (more, what) in [
        (vec!["--cert", cert.as_str()], "--key"),
        (vec!["--key", key.as_str()], "--cert"),
        (vec!["--cert", &cert, "--key", &key], "late.key does not match the certificate in"),
        (vec!["--cert", &cert, "--key", &cert], "known.crt has no private key"),
    ] {
        let ended = check(&server.url(), &more);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(what), "{}", ended.stderr);
    }
}

#[test]
fn curl_is_served() {
    let scene = Scene::new(Usage::Server);
    let server = scene.serve();
    let ca = scene.path("ca.crt");
    for more in [
        &["--cacert", ca.as_str()][..],
        &["-k"],
        &["--cacert", &ca, "--tls-max", "1.2"],
        &["--cacert", &ca, "--tlsv1.3"],
    ] {
        let ended = curl(&server.url(), more);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "200 1.1"), "{more:?}: {ended:?}");
    }
    // 60: the certificate cannot be trusted.
    assert_eq!(curl(&server.url(), &[]).code, Some(60));
    // Nobody gets an answer in plain text.
    let plain = curl(&server.url().replace("https", "http"), &[]);
    assert!(plain.code != Some(0) && plain.stdout.starts_with("000"), "{plain:?}");
}

#[test]
fn serve_names_what_it_cannot_use() {
    let scene = Scene::new(Usage::Server);
    scene.files.write("tls.key", &scene.authority.sign(Usage::Server, 2).key);
    let ended = run(&["serve", path(&scene.policy("")), "--http", "127.0.0.1:0"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    // miette breaks lines.
    let stderr: String =
        ended.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(stderr.contains("server.tls: the key in") && stderr.contains("does not match"), "{stderr}");
}

#[test]
fn possible_problems_are_reported_at_the_start() {
    use std::os::unix::fs::PermissionsExt;

    let scene = Scene::new(Usage::ExpiringServer);
    let key = scene.files.path("tls.key");
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).expect("a file");
    let (code, log) = scene.serve().terminate();
    assert_eq!(code, Some(0));
    assert!(log.contains("the certificate expires in 5 days"), "{log}");
    assert!(log.contains("other users can read the private key") && log.contains("chmod 600"), "{log}");

    let (_, log) = Scene::new(Usage::ExpiredServer).serve().terminate();
    assert!(log.contains("the certificate expired") && log.contains("put a new one in its file"), "{log}");
    let (_, log) = Scene::new(Usage::Server).serve().terminate();
    assert_eq!(log, "");
}

#[test]
fn a_new_certificate_is_used_and_a_broken_one_is_not() {
    let scene = Scene::new(Usage::Server);
    let server = scene.serve();
    let next = Authority::new("next");
    scene.files.write("next.crt", &next.certificate);
    let [ca, next_ca] = ["ca.crt", "next.crt"].map(|name| scene.path(name));

    scene.files.replace("tls.crt", "no certificate");
    let pem = next.sign(Usage::Server, 2);
    assert_eq!(check(&server.url(), &["--cacert", &ca]).code, Some(0));
    scene.files.replace("tls.key", &pem.key);
    scene.files.replace("tls.crt", &pem.certificate);
    let began = Instant::now();
    while check(&server.url(), &["--cacert", &next_ca]).code != Some(0) {
        assert!(began.elapsed() < DEADLINE, "it is not taken");
    }
    assert_eq!(check(&server.url(), &["--cacert", &ca]).code, Some(3));
    let (code, _) = server.terminate();
    assert_eq!(code, Some(0));
}

/// The page is run as it stands, from top to bottom, but for the port.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../../docs/tls.md");
    let blocks = |language: &str| -> Vec<String> {
        let opening = format!("```{language}\n");
        let found = page.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
        found.map(str::to_owned).collect()
    };
    let directory = tempfile::tempdir().expect("a directory");
    let shell = |script: &str| {
        let program = executable();
        let program = program.parent().expect("a directory");
        let search = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
        let output =
            Command::new("sh").args(["-ec", script]).current_dir(&directory).env("PATH", search).output();
        Ended::from(output.expect("sh"))
    };
    for script in blocks("sh") {
        let ended = shell(&script);
        assert_eq!(ended.code, Some(0), "{script}\n{}", ended.stderr);
    }
    let policies = blocks("yaml");
    let consoles = blocks("console");
    assert!(policies.len() == 2 && consoles.len() == 2, "a conversation for every policy");
    for (policy, console) in policies.iter().zip(consoles) {
        std::fs::write(directory.path().join("policy.yaml"), policy).expect("a file");
        let mut command = command(&["serve", "policy.yaml", "--http", "127.0.0.1:0"]);
        let server = ServerProcess::spawn(command.current_dir(&directory));
        let port = server.address().port().to_string();
        for step in console.split("\n$ ") {
            let (script, prints) = step.trim_start_matches("$ ").split_once('\n').unwrap_or((step, ""));
            // A line that ends in a backslash goes on.
            let (script, prints) = match prints.split_once('\n') {
                Some((more, prints)) if script.ends_with('\\') => (format!("{script}\n{more}"), prints),
                _ => (script.to_owned(), prints),
            };
            let ended = shell(&script.replace("8443", &port));
            let printed = format!("{}{}", ended.stdout, ended.stderr).replace(&port, "8443");
            assert_eq!(printed.trim_end(), prints.trim_end(), "{script}");
        }
    }
}

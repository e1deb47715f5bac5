//! `slidegate admin` against live servers: what it prints, what it ends with, and that all servers
//! of a store follow.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;
use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use slidegate_testkit::program::{Ended, ServerProcess, command, file, path, run};
use slidegate_testkit::servers::{self, Flavour};

const LOGIN: &str = r#"{"attributes":{"method":"POST","path":"/login","ip":"203.0.113.7"}}"#;

/// Runs `slidegate admin` for this server.
fn admin(server: &ServerProcess, arguments: &[&str]) -> Ended {
    let url = server.admin_url().expect("an admin listener");
    run(&[&["admin"], arguments, &["--url", &url]].concat())
}

/// The same, where it has to be done.
fn done(server: &ServerProcess, arguments: &[&str]) -> String {
    let ended = admin(server, arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    ended.stdout
}

fn login(server: &ServerProcess) -> u16 {
    server.check(LOGIN).status
}

/// What is said to be so within two seconds is so within ten, however busy the machine is.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "not within 10 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_key_can_be_looked_at_and_unblocked() {
    let server = ServerProcess::start(&[]);
    for expected in [200, 200, 200, 200, 200, 429] {
        assert_eq!(login(&server), expected);
    }
    let inspection = done(&server, &["inspect", "--rule", "login", "ip=203.0.113.7"]);
    assert!(
        inspection.starts_with("login ip=203.0.113.7\n  5/min  5 used, 0 left, next slot in "),
        "{inspection}"
    );
    let all = done(&server, &["inspect", "ip=203.0.113.7"]);
    assert!(all.contains("everyone ip=203.0.113.7 (observe mode)\n  100/min  5 used, 95 left"), "{all}");
    let reset = done(&server, &["reset", "--rule", "login", "ip=203.0.113.7"]);
    assert_eq!(reset, "reset login ip=203.0.113.7: 5/min\n");
    assert_eq!(login(&server), 200);
    let json: Value =
        serde_json::from_str(&done(&server, &["inspect", "ip=203.0.113.7", "--json"])).expect("JSON");
    assert_eq!(
        (&json["subjects"][0]["rule"], &json["subjects"][0]["limits"][0]["used"]),
        (&"login".into(), &1.into())
    );
}

#[test]
fn overrides_can_be_set_and_listed_and_ended() {
    let server = ServerProcess::start(&[]);
    assert_eq!(done(&server, &["override", "list"]), "no overrides\n");
    let add = ["override", "add", "--rule", "login", "--when", "ip=203.0.113.7", "--for", "2h"];
    let set = done(&server, &[&add[..], &["--limit", "1/min", "--reason", "a test"]].concat());
    let rest = set.strip_prefix("added ").expect("what was done");
    let (id, what) = rest.split_once(": ").expect("an id");
    assert_eq!(what, "rule login, where ip is 203.0.113.7: limits 1/min, expires in 2 h\n");
    assert_eq!([login(&server), login(&server)], [200, 429]);
    let list = done(&server, &["override", "list"]);
    assert!(
        list.starts_with(&format!("{id}  rule login, where ip is 203.0.113.7: limits 1/min, expires in ")),
        "{list}"
    );
    assert!(list.ends_with("  reason: a test\n"), "{list}");
    assert!(done(&server, &["policy"]).contains("ip is 203.0.113.7: 1/min"));
    assert_eq!(done(&server, &["override", "remove", id]), format!("removed {id}\n"));
    assert_eq!(login(&server), 200);
    assert_eq!(admin(&server, &["override", "remove", id]).code, Some(1));
    // Several values of one attribute are alternatives.
    let two = ["--when", "ip=203.0.113.8", "--deny"];
    let set = done(&server, &[&add[..], &two].concat());
    assert!(set.contains("where ip is 203.0.113.7 or 203.0.113.8: deny"), "{set}");
    assert_eq!(login(&server), 403);
}

/// Values come from clients, and reasons from other operators: a terminal is not to obey them.
#[test]
fn escape_sequences_in_data_are_not_printed() {
    let server = ServerProcess::start(&[]);
    let url = server.admin_url().expect("an admin listener");
    let hostile = "\u{1b}]0;pwned\u{7}\u{9b}2J\r\nlogin";
    let add = ["override", "add", "--rule", "login", "--when", "ip=203.0.113.7", "--for", "2h"];
    done(&server, &[&add[..], &["--limit", "1/min", "--reason", hostile]].concat());
    let user = format!("userId={hostile}");
    let commands: [&[&str]; 3] = [
        &["override", "list"],
        &["inspect", "--rule", "rlaas", &user],
        &["inspect", "--rule", hostile, "ip=203.0.113.7"],
    ];
    for arguments in commands {
        for json in [&[][..], &["--json"]] {
            let all = [&["admin"], arguments, &["--url", &url], json].concat();
            let output = command(&all).env("CLICOLOR_FORCE", "1").output().expect("it runs");
            let ended = Ended::from(output);
            let text = format!("{}{}", ended.stdout, ended.stderr);
            for sequence in ["\u{1b}]", "\u{7}", "\u{9b}", "\r", "\nlogin"] {
                assert!(!text.contains(sequence), "{arguments:?}: {text:?}");
            }
        }
    }
}

#[test]
fn the_state_of_the_server_is_printed() {
    let server = ServerProcess::start(&[]);
    let status = done(&server, &["status"]);
    assert!(status.starts_with(concat!("slidegate ", env!("CARGO_PKG_VERSION"), ": ready\n")), "{status}");
    assert!(status.contains("\npolicy: built in, 4 rules, loaded "), "{status}");
    assert!(status.contains("\nstore: memory, available, "), "{status}");
    assert!(status.contains("\noverrides: 0 active, 0 inactive\n"), "{status}");
    assert_eq!(done(&server, &["ready"]), "ready, store available\n");
    let reload = admin(&server, &["reload"]);
    assert_eq!(reload.code, Some(1), "{reload:?}");
    assert!(reload.stderr.starts_with("error: 409 Conflict: "), "{}", reload.stderr);
}

#[test]
fn a_policy_is_read_again_on_request() {
    let policy = file("version: 1\nrules: [{name: login, key: [ip], limits: [2/min]}]\n");
    let server = ServerProcess::start(&[path(&policy), "--log", "off"]);
    let write = |text: &str| std::fs::write(policy.path(), text).expect("it can be written");
    write("version: 1\nrules: [{name: login, key: [ip], limits: [3/min]}]\n");
    // The server looks at its file by itself, too.
    let output = done(&server, &["reload"]);
    assert!(output.starts_with("reloaded: "), "{output}");
    assert_eq!(server.check(LOGIN).json()["remaining"], 2);
    write("version: 1\nrules: [{name: login, key: [ip], limits: [3/fortnight]}]\n");
    let refused = admin(&server, &["reload"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("3/fortnight"), "{}", refused.stderr);
    assert_eq!(server.check(LOGIN).json()["remaining"], 1);
}

#[test]
fn exit_codes_are_as_documented() {
    let token = ["--admin-token", "correct-horse-battery"];
    let server = ServerProcess::start(&token);
    let unauthorized = admin(&server, &["status"]);
    assert_eq!(unauthorized.code, Some(2), "{unauthorized:?}");
    assert!(unauthorized.stderr.starts_with("error: 401 Unauthorized: "), "{}", unauthorized.stderr);
    let with = |arguments: &[&str]| admin(&server, &[arguments, &["--token", token[1]]].concat());
    assert_eq!(with(&["status"]).code, Some(0));
    let nothing = with(&["inspect", "colour=red"]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(nothing.stdout.contains("rules have keys: login (ip)"), "{}", nothing.stdout);
    assert_eq!(with(&["reset", "--rule", "nobody", "ip=::1"]).code, Some(1));
    assert_eq!(with(&["inspect", "ip=nowhere"]).code, Some(2));
    let add = ["override", "add", "--rule", "login", "--for"];
    assert_eq!(with(&[&add[..], &["soon", "--deny"]].concat()).code, Some(2));
    for wrong in [
        &["nonsense"][..],
        &["inspect", "ip"],
        &["look", "ip=203.0.113.7"],
        &["override", "remove", "../../v1/reload"],
        &["override", "add", "--rule", "login", "--for", "1h"],
        &["override", "add", "--rule", "login", "--for", "1h", "--deny", "--allow"],
        &["override", "add", "--for", "1h", "--deny"],
        &["status", "--url", "8090"],
    ] {
        let ended = run(&[&["admin"], wrong].concat());
        assert_eq!(ended.code, Some(2), "{wrong:?}: {ended:?}");
    }
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let nobody = run(&["admin", "status", "--url", &format!("http://{free}")]);
    assert_eq!(nobody.code, Some(3), "{nobody:?}");
    assert!(nobody.stderr.contains("slidegate serve --admin 127.0.0.1:8090"), "{}", nobody.stderr);
    // The other listener is no admin listener.
    let checks = run(&["admin", "status", "--url", &server.url()]);
    assert_eq!(checks.code, Some(2), "{checks:?}");
    let mut by_variable = command(&["admin", "ready"]);
    by_variable.env("SLIDEGATE_ADMIN_URL", server.admin_url().expect("a URL"));
    let ended = by_variable.env("SLIDEGATE_ADMIN_TOKEN", token[1]).output().expect("it runs");
    assert_eq!(Ended::from(ended).code, Some(0));
}

/// A policy of thousands of rules is some megabytes.
#[test]
fn a_long_answer_is_read() {
    const RULES: usize = 3_000;
    let rule = |n| {
        let shared = "key: [org, ip], limits: [10/s, 600/min, 9000/h], tiers: {gold: [200/s, 9000/min]}";
        format!("  - {{name: rule-{n}, match: {{path: '/api/{n}/{{*rest}}'}}, {shared}}}\n")
    };
    let policy = file(&format!("version: 1\nrules:\n{}", (0..RULES).map(rule).collect::<String>()));
    let server = ServerProcess::start(&[path(&policy)]);
    let json = done(&server, &["policy", "--json"]);
    assert!(json.len() > 1 << 20, "{}", json.len());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["rules"].as_array().map(Vec::len), Some(RULES));
    assert!(done(&server, &["policy"]).contains(&format!("rule-{}", RULES - 1)));
}

#[test]
fn an_answer_without_an_end_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let talks = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _request = stream.read(&mut [0; 1_024]).expect("it asks");
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("it listens");
        while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
    });
    let ended = run(&["admin", "status", "--url", &url]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("the response exceeds 64 MiB"), "{}", ended.stderr);
    talks.join().expect("it is over");
}

/// Whatever is written in a file or as a flag or as a variable: it does not start where strangers
/// could come in.
#[test]
fn it_does_not_start_where_strangers_could_come_in() {
    let beyond = ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0", "192.0.2.1:0"];
    let rules = "rules: [{name: login, limits: [2/min]}]";
    let plain = file(&format!("version: 1\n{rules}"));
    let local = file(&format!("version: 1\nserver: {{admin: '127.0.0.1:0'}}\n{rules}"));
    for address in beyond {
        for policy in [&plain, &local] {
            let base = ["serve", path(policy), "--http", "127.0.0.1:0"];
            let flag = run(&[&base[..], &["--admin", address]].concat());
            let by_variable = command(&base).env("SLIDEGATE_ADMIN", address).output().expect("it runs");
            for ended in [flag, by_variable.into()] {
                assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{address}: {ended:?}");
                let stderr: String =
                    ended.stderr.replace('│', "").split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(stderr.contains("or give it a token"), "{address}: {stderr}");
            }
            let empty = run(&[&base[..], &["--admin", address, "--admin-token", ""]].concat());
            assert_eq!(empty.code, Some(2), "{address}: {empty:?}");
        }
        let written = file(&format!("version: 1\nserver: {{admin: '{address}'}}\n{rules}"));
        let ended = run(&["serve", path(&written), "--http", "127.0.0.1:0"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{address}: {ended:?}");
        assert!(ended.stderr.contains("token"), "{}", ended.stderr);
    }
    // With a token it does, and says what that is worth without TLS.
    let server = ServerProcess::start(&[
        path(&plain),
        "--admin",
        "0.0.0.0:0",
        "--admin-token",
        "correct-horse-battery",
    ]);
    let port = server.admin().port();
    let ended = run(&["admin", "status", "--url", &format!("http://127.0.0.1:{port}")]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0));
    assert!(log.contains("is sent unencrypted"), "{log}");
    assert!(!log.contains("correct-horse"), "{log}");
}

/// Whatever is told otherwise.
#[test]
fn changes_are_in_the_audit_log() {
    let server = ServerProcess::start(&["--log", "off"]);
    assert_eq!(login(&server), 200);
    done(&server, &["status"]);
    done(&server, &["inspect", "ip=203.0.113.7"]);
    done(&server, &["reset", "--rule", "login", "ip=203.0.113.7"]);
    assert_eq!(admin(&server, &["override", "remove", "none"]).code, Some(1));
    let (_, log) = server.terminate();
    let lines: Vec<&str> = log.lines().collect();
    let [reset, remove] = lines[..] else { panic!("{log}") };
    for word in [
        "slidegate::audit",
        "action=\"reset\"",
        "outcome=\"done\"",
        "status=200",
        "peer=127.0.0.1",
        "what=\"rule=login ip=203.0.113.7\"",
        "before=\"login 5/min: 1 used\"",
    ] {
        assert!(reset.contains(word), "{word} is not in {reset}");
    }
    assert!(remove.contains("action=\"override.remove\" outcome=\"refused\" status=404"), "{remove}");
}

/// Without a token, whoever shows a certificate may come from anywhere, and the log tells whose it
/// was.
#[test]
fn certificates_open_it_too() {
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    let operator = authority.sign(Usage::Client, 2);
    files.write("ca.crt", &authority.certificate);
    files.write("operator.crt", &operator.certificate);
    files.write("operator.key", &operator.key);
    let at = |name: &str| files.path(name).to_str().expect("a path in UTF-8").to_owned();
    let tls = format!("certificate: {:?}, key: {:?}", at("tls.crt"), at("tls.key"));
    let listen = "listen: '0.0.0.0:0'";
    let rules = "rules: [{name: login, key: [ip], limits: [2/min]}]";
    let open = file(&format!("version: 1\nserver: {{admin: {{{listen}, tls: {{{tls}}}}}}}\n{rules}"));
    let ended = run(&["serve", path(&open), "--http", "127.0.0.1:0"]);
    assert_eq!(ended.code, Some(1), "a certificate of its own keeps nobody out: {ended:?}");

    let client_ca = format!("client_ca: {:?}", at("ca.crt"));
    let policy =
        file(&format!("version: 1\nserver: {{admin: {{{listen}, tls: {{{tls}, {client_ca}}}}}}}\n{rules}"));
    let arguments = ["serve", path(&policy), "--http", "127.0.0.1:0", "--log", "warn"];
    let server = ServerProcess::spawn(&mut command(&arguments));
    let url = format!("https://127.0.0.1:{}", server.admin().port());
    let ca = at("ca.crt");
    let reset = ["admin", "reset", "ip=203.0.113.7", "--url", &url, "--cacert", &ca];
    let stranger = run(&reset);
    assert_eq!(stranger.code, Some(3), "{stranger:?}");
    let (cert, key) = (at("operator.crt"), at("operator.key"));
    let trusted = run(&[&reset[..], &["--cert", &cert, "--key", &key]].concat());
    assert_eq!(
        (trusted.code, trusted.stdout.as_str()),
        (Some(0), "reset login ip=203.0.113.7: 2/min\n"),
        "{trusted:?}"
    );
    let (_, log) = server.terminate();
    let audit: Vec<&str> = log.lines().filter(|line| line.contains("slidegate::audit")).collect();
    let [line] = audit[..] else { panic!("{log}") };
    let fingerprint = line.split_once("certificate=\"").and_then(|(_, rest)| rest.split_once('"'));
    let fingerprint = fingerprint.unwrap_or_else(|| panic!("{line}")).0;
    assert!(fingerprint.len() == 64 && fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
    assert!(!log.contains("sent unencrypted"), "{log}");
}

/// Two servers on one Redis are one limiter, for operators too.
#[test]
fn two_servers_follow_what_is_changed_on_one() {
    let redis = servers::RedisServer::start(Flavour::Redis70);
    let policy = file(&format!(
        "version: 1\nstore: {{kind: redis, url: '{}', timeout: 10s}}\nrules: [{{name: login, key: [ip], limits: [2/h]}}]\n",
        redis.url()
    ));
    let start = || ServerProcess::start(&[path(&policy), "--log", "off"]);
    let (one, other) = (start(), start());
    assert_eq!([login(&one), login(&other)], [200, 200]);
    assert_eq!([login(&one), login(&other)], [429, 429]);

    done(&one, &["reset", "ip=203.0.113.7"]);
    assert_eq!(login(&one), 200);
    eventually("reset on the other server", || login(&other) == 200);
    assert_eq!([login(&one), login(&other)], [429, 429]);

    let add = ["override", "add", "--rule", "login", "--when", "ip=203.0.113.7", "--allow", "--for"];
    let set = done(&other, &[&add[..], &["1h"]].concat());
    let id = set.split([' ', ':']).nth(1).expect("an id").to_owned();
    assert_eq!(login(&other), 200);
    eventually("an override of the other server", || login(&one) == 200);
    assert!(done(&one, &["override", "list"]).starts_with(&id));

    // A restart keeps it.
    drop(other);
    let other = start();
    eventually("an override after a restart", || login(&other) == 200);

    done(&one, &["override", "remove", &id]);
    assert_eq!(login(&one), 429);
    eventually("the end of an override", || login(&other) == 429);

    done(&one, &[&add[..], &["5s"]].concat());
    assert_eq!(login(&one), 200);
    eventually("an override that expires", || [login(&one), login(&other)] == [429, 429]);
    assert_eq!(done(&other, &["override", "list"]), "no overrides\n");
}

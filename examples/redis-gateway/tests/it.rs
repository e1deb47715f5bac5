//! Two gateways over one Redis, in front of one service.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use slidegate_testkit::program::{HttpReply, HttpRequest, ServerProcess, console, run_all};
use slidegate_testkit::servers::{Flavour, RedisServer};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// Service that answers with what it was asked.
fn upstream() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener of Tokio");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let echo = |request: Request| async move {
            format!("{} {} {:?}", request.method(), request.uri(), request.headers().get("x-note"))
        };
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            axum::serve(listener, Router::new().fallback(echo)).await.expect("it serves");
        });
    });
    address
}

fn gateway(redis: &RedisServer, upstream: SocketAddr) -> ServerProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redis-gateway"));
    let command = command.env("LISTEN", "127.0.0.1:0").env("UPSTREAM", upstream.to_string());
    // A busy machine may take longer than a gateway should wait.
    let command = command.env("REDIS", redis.url()).env("REDIS_TIMEOUT_MS", "30000");
    ServerProcess::spawn(command.current_dir(FOLDER).env_remove("POLICY").env_remove("GATEWAYS"))
}

fn get(gateway: &ServerProcess) -> HttpReply {
    gateway.ask(&HttpRequest::get("/"))
}

#[test]
fn the_readme_is_true() {
    let (mut redis, upstream) = (RedisServer::start(Flavour::Redis70), upstream());
    let gateways = [gateway(&redis, upstream), gateway(&redis, upstream)];
    let steps = console(include_str!("../README.md"), |line| {
        let ports = gateways.iter().map(|gateway| gateway.address().port().to_string());
        ["3001", "3002"]
            .iter()
            .zip(ports)
            .fold(line.to_owned(), |line, (port, real)| line.replace(port, &real))
    });
    let (before, after) = steps.split_at(1);
    assert_eq!(after.len(), 1);
    let run = |steps| run_all(steps, &gateways[0], Path::new(FOLDER)).expect("no time is in the output");
    run(before);
    redis.kill();
    run(after);
}

#[test]
fn requests_pass_through_with_their_parts() {
    let (redis, upstream) = (RedisServer::start(Flavour::Redis70), upstream());
    let gateway = gateway(&redis, upstream);
    let request = HttpRequest { headers: &["x-note: hello"], ..HttpRequest::post("/a/b?c=d", "body") };
    let reply = gateway.ask(&request);
    assert_eq!((reply.status, &*reply.body), (200, "POST /a/b?c=d Some(\"hello\")"));
    let headers = ["ratelimit", "ratelimit-policy"].map(|name| reply.header(name).expect("a header"));
    assert_eq!(headers, ["\"api-6/min\";r=5;t=60", "\"api-6/min\";q=6;w=60"]);
}

#[test]
fn all_gateways_admit_one_quota_and_refuse_with_the_same_wait() {
    let (redis, upstream) = (RedisServer::start(Flavour::Redis70), upstream());
    let gateways = [(); 2].map(|()| gateway(&redis, upstream));
    for left in (0..6).rev() {
        let reply = get(&gateways[left % 2]);
        let state = reply.header("ratelimit").expect("the numbers");
        assert_eq!(reply.status, 200);
        assert!(state.starts_with(&format!("\"api-6/min\";r={left};t=")), "{state}");
    }
    let waits = gateways.each_ref().map(|gateway| {
        let reply = get(gateway);
        assert_eq!(reply.status, 429);
        let wait_ms = reply.json()["retry_after_ms"].as_u64().expect("an exact wait");
        assert_eq!(reply.header("retry-after"), Some(&*wait_ms.div_ceil(1_000).to_string()));
        wait_ms
    });
    assert!(waits[1] <= waits[0], "{waits:?}");
    // A gateway that starts now knows what the others admitted.
    assert_eq!(get(&gateway(&redis, upstream)).status, 429);
}

#[test]
fn without_redis_each_gateway_enforces_its_share() {
    let (mut redis, upstream) = (RedisServer::start(Flavour::Redis70), upstream());
    let gateways = [(); 2].map(|()| gateway(&redis, upstream));
    // The first gateway admits one request, the second none, and then Redis is gone.
    assert_eq!(get(&gateways[0]).status, 200);
    redis.kill();
    let statuses = gateways.each_ref().map(|gateway| [(); 4].map(|()| get(gateway).status));
    assert_eq!(statuses, [[200, 200, 429, 429], [200, 200, 200, 429]]);
    let login = gateways[0].ask(&HttpRequest::post("/login", "password=guess"));
    assert_eq!(login.status, 429);
    assert!(login.body.contains("temporary-reduced-capacity"), "{}", login.body);
    // It is back, empty: the whole quota again, within five times the two seconds that a recovery may
    // take.
    redis.restart();
    let (began, mut admitted) = (Instant::now(), 0);
    while admitted < 6 {
        assert!(began.elapsed() < Duration::from_secs(10), "{admitted} of 6 were admitted");
        thread::sleep(Duration::from_millis(5));
        admitted += u32::from(get(&gateways[1]).status == 200);
    }
}

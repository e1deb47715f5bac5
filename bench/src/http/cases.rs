//! Comparisons.

use std::path::Path;

use super::Scale;
use super::answer::Expected;
use super::contender::Contender;
use super::policy;
use super::requests::{Requests, address};
use super::server::{Server, beside_us};
use super::turns::Measured;
use crate::report::{Must, Report};

const OK: &str = "HTTP/1.1 200 ";
const ALLOWED: Expected = Expected { status: OK, says: r#""allowed":true"# };
const DENIED: Expected = Expected { status: "HTTP/1.1 429 ", says: r#""allowed":false"# };

/// A check, admitted and refused, beside a handler that does nothing and a peer's service.
pub fn check(report: &mut Report, scale: Scale) {
    const BARE: usize = 0;
    const ADMITTED: usize = 1;
    const REFUSED: usize = 2;
    const PEER: usize = 3;
    let bare = Server::start(&beside_us("bare_axum"), |command, address| {
        command.arg(address.to_string());
    });
    let ours = policy::serve(&policy::allowed_and_denied());
    let peer = throttlecrab();
    let checks = |path: &'static str| Requests::checks(move |_| path.to_owned());
    let nothing = Expected { status: OK, says: "" };
    let contenders = vec![
        Contender::new("bare axum handler", &bare, checks("/allowed"), nothing),
        Contender::new("slidegate, allowed", &ours, checks("/allowed"), ALLOWED),
        Contender::new("slidegate, denied", &ours, checks("/denied"), DENIED),
        Contender::new("throttlecrab-server, allowed", &peer, throttles(), ALLOWED),
    ];
    let measured = Measured::of(contenders, scale);
    report.say("\nPOST /v1/check, 32 connections, one core for the server; ratios to the bare handler");
    measured.say(report, BARE);
    for (index, name) in [(ADMITTED, "allowed"), (REFUSED, "denied")] {
        let name = format!("http: checks per second / bare handler, {name}");
        report.bar(name, measured.ratio(index, BARE), Must::AtLeast(0.85));
    }
    let name = "http: checks per second / throttlecrab-server, allowed";
    report.bar(name, measured.ratio(ADMITTED, PEER), Must::AtLeast(1.0));
}

/// A check that one of ten rules matches, and one of a thousand.
pub fn rules(report: &mut Report, scale: Scale) {
    const FEW: u32 = 10;
    const MANY: u32 = 1000;
    let (few, many) = (policy::serve(&policy::many(FEW)), policy::serve(&policy::many(MANY)));
    let checks = |rules: u32| Requests::checks(move |client| policy::path_of(client % rules, client));
    let contenders = vec![
        Contender::new("slidegate, 10 rules", &few, checks(FEW), ALLOWED),
        Contender::new("slidegate, 1,000 rules", &many, checks(MANY), ALLOWED),
    ];
    let measured = Measured::of(contenders, scale);
    report.say("\nPOST /v1/check by the number of rules, one of which matches; ratios to ten rules");
    measured.say(report, 0);
    report.bar("http: time per check with 1,000 rules / with 10", measured.ratio(0, 1), Must::AtMost(1.2));
}

/// throttlecrab's service on its best store, as `cargo install` makes it.
fn throttlecrab() -> Server {
    Server::start(Path::new("throttlecrab-server"), |command, address| {
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        command.args(["--http", "--http-host", &host, "--http-port", &port]);
        command.args(["--store", "adaptive", "--log-level", "error"]);
    })
}

fn throttles() -> Requests {
    Requests::post("/throttle", |client| {
        let key = address(client);
        format!(r#"{{"key":"{key}","max_burst":1000,"count_per_period":1000,"period":1,"quantity":1}}"#)
    })
}

//! The service, with everything that is to be observed and with nothing.

use std::net::SocketAddr;

use super::watchers::Watchers;
use crate::cores::free_address;
use crate::http::Scale;
use crate::http::answer::Expected;
use crate::http::contender::Contender;
use crate::http::policy;
use crate::http::requests::Requests;
use crate::http::server::{Server, beside_us};
use crate::http::turns::Measured;
use crate::report::{Must, Report};
use crate::resp::connections::Load;
use crate::resp::contender::Contender as Commanded;
use crate::resp::replies::Expected as Replies;

/// Many short turns: the machine is now faster and now slower, for longer than a turn, so that both
/// of a pair mostly meet with the same; and in the middle of many pairs it does not matter if one
/// did not.
pub const FULL: Scale = Scale { rounds: 41, requests: 8_000 };
/// Fewer and shorter rounds.
pub const QUICK: Scale = Scale { rounds: 5, requests: 4_000 };
/// Number of times that both services are started: the memory that a process happens to get matters
/// too.
const STARTS: usize = 5;

/// Telemetry of the service: off or on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Observed {
    Nothing,
    All,
}

/// Listener of the requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entrance {
    Http,
    Resp,
}

/// Service whose admin listener has this address.
fn serve(observed: Observed, entrance: Entrance, admin: SocketAddr) -> Server {
    let settings = format!(
        "observe: {{ enabled: {} }}\nserver: {{ admin: \"{admin}\", connections: {{ idle_timeout: 1h }} }}\n",
        observed == Observed::All
    );
    let file = policy::file(&(policy::allowed_and_denied() + &settings));
    Server::start(&beside_us("slidegate"), |command, address| {
        let address = address.to_string();
        let listen = match entrance {
            Entrance::Http => ["--http", &address, "--admin", &admin.to_string()],
            Entrance::Resp => ["--http", "127.0.0.1:0", "--resp", &address],
        };
        command.args(["serve", "-"]).args(listen).stdin(file);
    })
}

/// Measures a service without telemetry and one with it, at each start.
fn measured(entrance: Entrance, measure: impl Fn([&Server; 2]) -> Measured) -> Measured {
    let starts = (0..STARTS).map(|_| {
        let admin = free_address();
        let (off, on) =
            (serve(Observed::Nothing, entrance, free_address()), serve(Observed::All, entrance, admin));
        let _watchers = Watchers::of(admin);
        measure([&off, &on])
    });
    starts.reduce(Measured::and).expect("they are started")
}

/// Checks over HTTP.
pub fn http(report: &mut Report, scale: Scale) {
    let expected = [("/allowed", "HTTP/1.1 200 "), ("/denied", "HTTP/1.1 429 ")];
    for (path, status) in expected {
        let measured = measured(Entrance::Http, |[off, on]| {
            let contender = |name, server| {
                let requests = Requests::checks(move |_| path.to_owned());
                Contender::new(name, server, requests, Expected { status, says: "" })
            };
            Measured::of(vec![contender("not observed", off), contender("observed", on)], scale)
        });
        tell(report, &measured, &format!("http, {}", &path[1..]));
    }
}

/// Checks over the protocol of Redis, 16 pipelined.
pub fn resp(report: &mut Report, scale: Scale) {
    let expected = [("/allowed", b"*5\r\n:1\r\n"), ("/denied", b"*5\r\n:0\r\n")];
    let scale = Scale { requests: 4 * scale.requests, ..scale };
    for (path, response) in expected {
        let measured = measured(Entrance::Resp, |[off, on]| {
            let contender = |name, server| {
                let command = |client: &str| format!("SG.CHECK 1 method POST path {path} ip {client}");
                Commanded::new(name, server, Load::PIPELINED, Replies::five(response), command)
            };
            Measured::of(vec![contender("not observed", off), contender("observed", on)], scale)
        });
        tell(report, &measured, &format!("resp 16 pipelined, {}", &path[1..]));
    }
}

fn tell(report: &mut Report, measured: &Measured, what: &str) {
    report.say(&format!(
        "\n{what}: a viewer of the console and a scrape each second; ratios to nothing to see"
    ));
    measured.say(report, 0);
    // By its own core's time, since the load and the watchers share the other one.
    let figure = 1.0 / measured.cpu_ratio(1, 0);
    report.bar(
        format!("observe: throughput of the service / not observed, {what}"),
        figure,
        Must::AtLeast(0.95),
    );
}

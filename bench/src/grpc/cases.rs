//! Comparisons.

use super::contender::Contender;
use super::messages::{OK, OVER_LIMIT};
use crate::http::Scale;
use crate::http::policy;
use crate::http::server::{Server, beside_us};
use crate::http::turns::Measured;
use crate::report::{Must, Report};

/// A call, admitted and refused, beside a handler that does nothing.
pub fn call(report: &mut Report, scale: Scale) {
    const BARE: usize = 0;
    const ADMITTED: usize = 2;
    const REFUSED: usize = 3;
    let (short, long) = (bare("short"), bare("long"));
    let ours = ours(&policy::allowed_and_denied());
    let contenders = vec![
        Contender::new("bare tonic, a short answer", &short, "/allowed", OK),
        Contender::new("bare tonic, an answer like ours", &long, "/allowed", OK),
        Contender::new("slidegate, allowed", &ours, "/allowed", OK),
        Contender::new("slidegate, denied", &ours, "/denied", OVER_LIMIT),
    ];
    let measured = Measured::of(contenders, scale);
    report.say(
        "\nShouldRateLimit, 8 connections with 8 calls on each, one core for the server; ratios to the first",
    );
    measured.say(report, BARE);
    for (index, name) in [(ADMITTED, "allowed"), (REFUSED, "denied")] {
        let name = format!("grpc: calls per second / bare tonic, {name}");
        report.bar(name, measured.ratio(index, BARE), Must::AtLeast(0.85));
    }
}

/// Our service with a policy.
fn ours(policy: &str) -> Server {
    let file = policy::file(policy);
    Server::start(&beside_us("slidegate"), |command, address| {
        command.args(["serve", "-", "--http", "127.0.0.1:0", "--grpc", &address.to_string()]).stdin(file);
    })
}

/// A handler that does nothing but answer.
fn bare(answer: &'static str) -> Server {
    Server::start(&beside_us("bare_tonic"), |command, address| {
        command.arg(address.to_string()).arg(answer);
    })
}

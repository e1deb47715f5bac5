//! Comparisons.

use super::connections::Load;
use super::contender::Contender;
use super::replies::Expected;
use super::servers::{redis, slidegate, throttlecrab};
use crate::http::turns::Measured;
use crate::http::{Scale, policy};
use crate::report::{Must, Report};

/// Policy with one rule, by address.
const ONE_RULE: &str = "version: 1\nrules: [{ name: each, key: [ip], limits: [1000/s] }]\n";
const USED_UP: &str = "version: 1\nrules: [{ name: each, key: [ip], limits: [1/day] }]\n";

const NUMBER: Expected = Expected::line(b":");
const PONG: Expected = Expected::line(b"+PONG");
const ALLOWED: Expected = Expected::five(b"*5\r\n:1\r\n");
const DENIED: Expected = Expected::five(b"*5\r\n:0\r\n");
/// The first of redis-cell's numbers says whether it was limited.
const NOT_LIMITED: Expected = Expected::five(b"*5\r\n:0\r\n");

/// throttlecrab-server takes so many times as long as the others.
const SLOW: usize = 25;
/// Factor by which single commands take longer than pipelines.
const ONE_BY_ONE_SLOW: usize = 8;

fn ping(_: &str) -> String {
    "PING".to_owned()
}

fn incr(client: &str) -> String {
    format!("INCR {client}")
}

fn check(client: &str) -> String {
    format!("SG.CHECK 1 ip {client}")
}

fn check_login(client: &str) -> String {
    format!("SG.CHECK 1 method POST path /allowed ip {client}")
}

fn limit(client: &str) -> String {
    format!("SG.LIMIT {client} 1000 1000")
}

/// A burst that lasts: what has been asked is still counted at the next command.
fn cl_throttle(client: &str) -> String {
    format!("CL.THROTTLE {client} 100000 1000 60")
}

/// CL.THROTTLE whose window ends before the next one: each time the key is new.
fn cl_throttle_anew(client: &str) -> String {
    format!("CL.THROTTLE {client} 1000 1000 1")
}

fn throttle(client: &str) -> String {
    format!("THROTTLE {client} 100000 1000 60")
}

/// Pipelines of 16 beside INCR of Redis and the service of a peer.
pub fn pipelined(report: &mut Report, scale: Scale) {
    const INCR: usize = 0;
    const PEER: usize = 1;
    const CHECK: usize = 2;
    const DENY: usize = 3;
    const CELL: usize = 4;
    let load = Load::PIPELINED;
    let (redis, peer) = (redis(), throttlecrab());
    let (one_rule, used_up) = (slidegate(ONE_RULE), slidegate(USED_UP));
    let by_path = slidegate(&policy::allowed_and_denied());
    let contenders = vec![
        Contender::new("Redis, INCR", &redis, load, NUMBER, incr),
        Contender::new("throttlecrab-server, THROTTLE", &peer, load, ALLOWED, throttle).shorter(SLOW),
        Contender::new("slidegate, SG.CHECK", &one_rule, load, ALLOWED, check),
        Contender::new("slidegate, SG.CHECK, denied", &used_up, load, DENIED, check),
        Contender::new("slidegate, CL.THROTTLE", &one_rule, load, NOT_LIMITED, cl_throttle),
        Contender::new("slidegate, CL.THROTTLE, anew", &one_rule, load, NOT_LIMITED, cl_throttle_anew),
        Contender::new("slidegate, SG.LIMIT", &one_rule, load, ALLOWED, limit),
        Contender::new("slidegate, SG.CHECK by method and path", &by_path, load, ALLOWED, check_login),
    ];
    let measured = Measured::of(contenders, scale);
    report.say("\n16 pipelined on 48 connections, one core for the server; ratios to INCR of Redis");
    measured.say(report, INCR);
    for (index, name) in [(CHECK, "SG.CHECK"), (DENY, "SG.CHECK, denied"), (CELL, "CL.THROTTLE")] {
        let name = format!("resp: 16 pipelined, server time / INCR of Redis, {name}");
        report.bar(name, measured.cpu_ratio(index, INCR), Must::AtMost(1.0));
    }
    for (index, name) in [(CHECK, "SG.CHECK"), (CELL, "CL.THROTTLE")] {
        let name = format!("resp: 16 pipelined, commands per second / throttlecrab-server, {name}");
        report.bar(name, measured.ratio(index, PEER), Must::AtLeast(10.0));
    }
}

/// Single commands beside PING of Redis.
pub fn single(report: &mut Report, scale: Scale) {
    const PING: usize = 0;
    const CHECK: usize = 1;
    const CELL: usize = 2;
    let load = Load::ONE_BY_ONE;
    let (redis, ours) = (redis(), slidegate(ONE_RULE));
    let contenders = vec![
        Contender::new("Redis, PING", &redis, load, PONG, ping),
        Contender::new("slidegate, SG.CHECK", &ours, load, ALLOWED, check),
        Contender::new("slidegate, CL.THROTTLE", &ours, load, NOT_LIMITED, cl_throttle),
        Contender::new("slidegate, PING", &ours, load, PONG, ping),
        Contender::new("Redis, INCR", &redis, load, NUMBER, incr),
    ];
    let contenders = contenders.into_iter().map(|contender| contender.shorter(ONE_BY_ONE_SLOW)).collect();
    let measured = Measured::of(contenders, scale);
    report.say("\none command at a time on 32 connections, one core for the server; ratios to PING of Redis");
    measured.say(report, PING);
    for (index, name) in [(CHECK, "SG.CHECK"), (CELL, "CL.THROTTLE")] {
        let name = format!("resp: one at a time, commands per second / PING of Redis, {name}");
        report.bar(name, measured.ratio(index, PING), Must::AtLeast(0.85));
    }
}

//! Plans of attackers, and of as many well-behaved clients at the same rate.

use super::protocols::{Protocol, http_check};

/// Looks at a connection each second at most.
pub(super) const LOOKS_PER_SECOND: u32 = 100;

/// Plan of a client's connection.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Connections at a time; one that was ended is opened again.
    pub connections: usize,
    /// First bytes.
    pub first: Vec<u8>,
    /// Bytes of each action, by the number of requests sent so far.
    pub then: fn(&Protocol, u32) -> Vec<u8>,
    /// Requests that go with a look.
    pub requests: u32,
    /// Looks at each connection in a second.
    pub looks: u32,
    /// Bytes that are sent at first as fast as the server accepts them.
    pub flood_bytes: usize,
    /// Reading of answers.
    pub takes: Takes,
}

/// Reading of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Never.
    Nothing,
    /// Reads all that has arrived, at each action.
    Anything,
    /// Reads each answer before the next request.
    OneByOne,
}

/// An attack, and the company that it is compared with.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Name.
    pub name: &'static str,
    /// Plan of the attackers.
    pub attack: Plan,
    /// Plan of as many well-behaved clients at the same rate; `None` where no such plan exists.
    pub company: Option<Plan>,
}

/// All trials of a protocol.
pub fn trials(protocol: &Protocol) -> Vec<Trial> {
    let mut trials = vec![half_open(protocol), slow(protocol), never_reading(protocol), flooding(protocol)];
    if protocol.name == "http" {
        trials.extend([bodies(protocol), crowd()]);
    }
    trials
}

/// Clients that send nothing by themselves, and take what comes.
fn silent(connections: usize, first: Vec<u8>) -> Plan {
    let then = |_: &Protocol, _| Vec::new();
    Plan { connections, first, then, requests: 0, looks: 1, flood_bytes: 0, takes: Takes::Anything }
}

/// Clients that ask so many times a second each, one after the other.
fn asking(protocol: &Protocol, connections: usize, looks: u32) -> Plan {
    let then = |protocol: &Protocol, number| (protocol.request)(number);
    let first = (protocol.greeting)();
    Plan { then, requests: 1, looks, takes: Takes::OneByOne, ..silent(connections, first) }
}

/// A part of a request, and then nothing: cut off and opened again each second.
fn half_open(protocol: &Protocol) -> Trial {
    let first = [(protocol.greeting)(), (protocol.request)(0)[..20].to_vec()].concat();
    let company = Some(asking(protocol, 1_000, 1));
    Trial { name: "half-open", attack: silent(1_000, first), company }
}

/// A byte each second.
fn slow(protocol: &Protocol) -> Trial {
    let then = |protocol: &Protocol, number: u32| {
        (protocol.request)(0).into_iter().skip(number as usize).take(1).collect()
    };
    let attack = Plan { then, requests: 1, ..silent(100, (protocol.greeting)()) };
    Trial { name: "slow", attack, company: Some(asking(protocol, 100, 1)) }
}

/// Requests with long answers that nobody takes, ten each second on a connection.
fn never_reading(protocol: &Protocol) -> Trial {
    let many =
        |protocol: &Protocol, number: u32| (number..number + 10).flat_map(protocol.long_request).collect();
    let one = |protocol: &Protocol, number| (protocol.long_request)(number);
    let first = (protocol.greeting)();
    let attack = Plan { then: many, requests: 10, takes: Takes::Nothing, ..silent(200, first) };
    Trial { name: "never reading", attack, company: Some(Plan { then: one, ..asking(protocol, 200, 10) }) }
}

/// As many requests per second as others make, all at once.
fn flooding(protocol: &Protocol) -> Trial {
    let then = |protocol: &Protocol, number: u32| {
        (number..number + protocol.flood).flat_map(protocol.request).collect()
    };
    let attack = Plan { then, requests: protocol.flood, ..silent(200, (protocol.greeting)()) };
    Trial { name: "flooding", attack, company: Some(asking(protocol, 200, protocol.flood)) }
}

/// Bodies that are too large, as much as is taken; cut off and opened again each second. Of each
/// connection about 6 MB are taken: 4 MiB by the server, the rest by the system. The others send as
/// much each second, in bodies as large as they may be.
fn bodies(protocol: &Protocol) -> Trial {
    let first = b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n".to_vec();
    let large = |_: &Protocol, _| http_check(64_000);
    let company = Plan { then: large, ..asking(protocol, 20, 100) };
    let attack = Plan { flood_bytes: 100_000_000, ..silent(20, first) };
    Trial { name: "bodies", attack, company: Some(company) }
}

/// More connections than one address may have.
fn crowd() -> Trial {
    Trial { name: "crowd", attack: silent(10_000, Vec::new()), company: None }
}

//! View of a cluster by one of its nodes: CLUSTER NODES.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::RedisServer;

/// Node, as another one sees it.
pub(super) struct ClusterMember {
    pub(super) port: u16,
    /// Neither in a handshake nor suspected to be down.
    pub(super) trusted: bool,
    pub(super) duty: Duty,
}

/// Role of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    Primary { slots: Vec<RangeInclusive<u16>> },
    Replica { of: String },
}

impl Duty {
    pub(super) fn slots(&self) -> &[RangeInclusive<u16>] {
        match self {
            Self::Primary { slots } => slots,
            Self::Replica { .. } => &[],
        }
    }
}

/// All members by their port, as `server` sees them.
pub(super) fn of(server: &RedisServer) -> BTreeMap<u16, ClusterMember> {
    let text = server.command(&["CLUSTER", "NODES"]).text();
    text.lines().map(member).map(|member| (member.port, member)).collect()
}

/// `id ip:port@bus flags primary ping pong epoch link slot...`
fn member(line: &str) -> ClusterMember {
    let words: Vec<&str> = line.split(' ').collect();
    let [_, address, flags, primary, _, _, _, _, slots @ ..] = &words[..] else {
        panic!("not a node: {line}")
    };
    let port = address.split(['@', ',']).next().and_then(|address| address.rsplit(':').next());
    let is = |flag| flags.split(',').any(|other| other == flag);
    ClusterMember {
        port: port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no port: {line}")),
        trusted: !["handshake", "noaddr", "fail?", "fail"].into_iter().any(is),
        duty: if is("slave") {
            Duty::Replica { of: (*primary).to_owned() }
        } else {
            // Migrating slots are in brackets, besides the range that they still belong to.
            Duty::Primary {
                slots: slots.iter().filter(|slot| !slot.starts_with('[')).map(|slot| range(slot)).collect(),
            }
        },
    }
}

fn range(slots: &str) -> RangeInclusive<u16> {
    let (first, last) = slots.split_once('-').unwrap_or((slots, slots));
    let [first, last] =
        [first, last].map(|slot| slot.parse().unwrap_or_else(|_| panic!("not slots: {slots}")));
    first..=last
}

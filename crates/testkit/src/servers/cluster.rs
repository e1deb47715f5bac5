//! Redis Cluster of three primaries with one replica each.

use super::server::field_of;
use super::view::{self, Duty};
use super::{Flavour, RedisServer, wait_for};

const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;

/// Arguments of a node: a primary that is silent for a second is replaced.
const ARGS: [&str; 10] = [
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1000",
    "--cluster-announce-ip",
    "127.0.0.1",
    // A replica may take over however long ago it heard from its primary: slow machines are not
    // what is tested.
    "--cluster-replica-validity-factor",
    "0",
    "--repl-diskless-sync-delay",
    "0",
];

/// Redis Cluster. Nodes 0 to 2 begin as primaries; node 3 is the replica of 0, 4 of 1 and 5 of 2.
pub struct Cluster {
    nodes: Vec<RedisServer>,
}

impl Cluster {
    /// Starts the nodes, and returns when all of them report that the cluster is up.
    pub fn start(flavour: Flavour) -> Self {
        Self::start_with(flavour, &[])
    }

    /// [`Self::start`] with more arguments for every node.
    pub fn start_with(flavour: Flavour, args: &[&str]) -> Self {
        let args = [&ARGS, args].concat();
        let nodes = (0..2 * PRIMARIES).map(|_| RedisServer::start_with(flavour, &args)).collect();
        let cluster = Self { nodes };
        cluster.share_slots();
        cluster.introduce();
        for (n, replica) in cluster.nodes.iter().enumerate().skip(PRIMARIES) {
            replica.must(&["CLUSTER", "REPLICATE", &cluster.id(n - PRIMARIES)]);
        }
        cluster.wait_until_ok();
        cluster
    }

    /// URL with the addresses of all nodes, dead ones included, as clients are configured.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(RedisServer::url).collect()
    }

    /// Node by its index.
    pub fn node(&self, index: usize) -> &RedisServer {
        &self.nodes[index]
    }

    /// Slot of a key.
    pub fn slot_of(&self, key: &str) -> u16 {
        match self.someone().command(&["CLUSTER", "KEYSLOT", key]) {
            super::RespReply::Int(slot) => u16::try_from(slot).expect("a slot"),
            other => panic!("not a slot: {other:?}"),
        }
    }

    /// Node that has a slot now.
    pub fn primary_of(&self, slot: u16) -> usize {
        let view = view::of(self.someone());
        let owner =
            view.values().find(|member| member.duty.slots().iter().any(|range| range.contains(&slot)));
        let port = owner.expect("an owner of the slot").port;
        self.nodes.iter().position(|node| node.port() == port).expect("one of the nodes")
    }

    /// Kills a node without notice to the others. [`Self::wait_until_ok`] waits for their reaction.
    pub fn kill_primary(&mut self, index: usize) {
        let role = self.nodes[index].info("role");
        assert_eq!(role.as_deref(), Some("master"), "node {index}");
        self.nodes[index].kill();
    }

    /// Restarts a node that was killed.
    pub fn restart(&mut self, index: usize) {
        self.nodes[index].restart();
    }

    /// Waits until the nodes that are up agree on their roles, have all slots, and every replica
    /// follows its primary.
    pub fn wait_until_ok(&self) {
        wait_for("a cluster that is ok", || self.up().try_for_each(|node| self.is_content(node)));
    }

    pub(super) fn id(&self, index: usize) -> String {
        self.nodes[index].command(&["CLUSTER", "MYID"]).text()
    }

    /// Nodes that have slots now.
    pub(super) fn primaries(&self) -> impl Iterator<Item = &RedisServer> {
        self.up().filter(|node| node.info("role").as_deref() == Some("master"))
    }

    fn up(&self) -> impl Iterator<Item = &RedisServer> {
        self.nodes.iter().filter(|node| node.is_up())
    }

    fn someone(&self) -> &RedisServer {
        self.up().next().expect("a node that is up")
    }

    /// Assigns different epochs, so that the nodes need not settle whose claim is newer.
    fn share_slots(&self) {
        for (n, node) in self.nodes.iter().enumerate() {
            node.must(&["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()]);
        }
        for (n, node) in self.nodes.iter().take(PRIMARIES).enumerate() {
            let slots = (SLOTS * n / PRIMARIES..SLOTS * (n + 1) / PRIMARIES).map(|slot| slot.to_string());
            let command: Vec<String> =
                ["CLUSTER", "ADDSLOTS"].map(str::to_owned).into_iter().chain(slots).collect();
            node.must(&command);
        }
    }

    /// Introduces every node to every other, which is faster than gossip.
    fn introduce(&self) {
        for (n, node) in self.nodes.iter().enumerate() {
            for other in &self.nodes[n + 1..] {
                node.must(&["CLUSTER", "MEET", "127.0.0.1", &other.port().to_string()]);
            }
        }
        wait_for("nodes that know each other", || {
            let trusted = |node| view::of(node).values().filter(|member| member.trusted).count();
            let stranger = self.nodes.iter().map(trusted).find(|count| *count != self.nodes.len());
            stranger.map_or(Ok(()), |count| Err(format!("one knows {count}")))
        });
    }

    fn is_content(&self, node: &RedisServer) -> Result<(), String> {
        let state = field_of(&node.command(&["CLUSTER", "INFO"]).text(), "cluster_state");
        let (mine, first) = (view::of(node), view::of(self.someone()));
        let mut slots = 0;
        for other in self.up().map(RedisServer::port) {
            let (Some(member), Some(expected)) = (mine.get(&other), first.get(&other)) else {
                return Err(format!("{} does not know {other}", node.port()));
            };
            if !member.trusted || member.duty != expected.duty {
                return Err(format!(
                    "{} sees {other} as {:?}, another as {:?}",
                    node.port(),
                    member.duty,
                    expected.duty
                ));
            }
            slots += member.duty.slots().iter().map(ExactSizeIterator::len).sum::<usize>();
        }
        let is_replica = matches!(mine[&node.port()].duty, Duty::Replica { .. });
        let link = is_replica.then(|| node.info("master_link_status")).flatten();
        let content =
            state.as_deref() == Some("ok") && slots == SLOTS && link.is_none_or(|link| link == "up");
        content.then_some(()).ok_or_else(|| format!("{} says {state:?} with {slots} slots", node.port()))
    }
}

//! Cluster: maps slots to nodes, and refreshes the map when it has changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use parking_lot::{Mutex, RwLock};
use redis::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::batching::SlotRouting;
use super::breaker::CircuitState;
use super::checks::Checks;
use super::cluster_slots::{self, SlotRange};
use super::connection::Dialer;
use super::endpoint::{Address, RedisEndpoint};
use super::key_slot::SLOTS;
use super::node::{NodeTarget, RedisNode};
use crate::config::RedisConfig;
use crate::error::RedisError;

/// Nodes that are queried at the same time, so that one that hangs delays nobody.
const AT_ONCE: usize = 3;
/// Minimum interval between two queries for the slots.
const PACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct ClusterNodes {
    config: RedisConfig,
    seeds: Vec<RedisEndpoint>,
    checks: Arc<Checks>,
    map: RwLock<SlotMap>,
    refresh: Mutex<Refresh>,
}

#[derive(Debug)]
struct SlotMap {
    nodes: HashMap<Address, Arc<RedisNode>>,
    /// Primary of each slot, if known.
    slots: Vec<Option<Arc<RedisNode>>>,
    /// Error of the last discovery, if it failed.
    last_error: Option<RedisError>,
}

#[derive(Default, Debug)]
struct Refresh {
    begun: Option<Instant>,
    /// Closed when the running refresh ends.
    running: Option<watch::Receiver<()>>,
}

impl ClusterNodes {
    pub(super) fn new(config: &RedisConfig, seeds: &[RedisEndpoint], checks: Arc<Checks>) -> Arc<Self> {
        let map = SlotMap { nodes: HashMap::new(), slots: vec![None; usize::from(SLOTS)], last_error: None };
        Arc::new(Self {
            config: config.clone(),
            seeds: seeds.to_vec(),
            checks,
            map: RwLock::new(map),
            refresh: Mutex::default(),
        })
    }

    /// Node that has a slot. Waits for a discovery only if the slot is unknown.
    pub(super) async fn node_of(
        self: &Arc<Self>,
        slot: u16,
        deadline: Instant,
    ) -> Result<Arc<RedisNode>, RedisError> {
        if let Some(node) = self.node_for(slot) {
            return Ok(node);
        }
        if let Some(mut running) = self.refresh()
            && !self.is_overdue()
        {
            let ended = async { while running.changed().await.is_ok() {} };
            timeout_at(deadline, ended).await.map_err(|_| RedisError::TimedOut)?;
        }
        self.node_for(slot).ok_or_else(|| {
            let last_error = self.map.read().last_error.clone();
            last_error
                .unwrap_or_else(|| RedisError::Unreachable(format!("no Cluster node serves slot {slot}")))
        })
    }

    /// True if the running discovery takes longer than a call may.
    fn is_overdue(&self) -> bool {
        self.refresh.lock().begun.is_some_and(|begun| begun.elapsed() > self.config.timeout)
    }

    fn node_for(&self, slot: u16) -> Option<Arc<RedisNode>> {
        self.map.read().slots.get(usize::from(slot)).cloned().flatten()
    }

    /// Node at an address that another one named.
    pub(super) fn node_at(&self, address: &Address) -> Arc<RedisNode> {
        if let Some(node) = self.map.read().nodes.get(address) {
            return node.clone();
        }
        self.map.write().node_at(address, self)
    }

    /// Assigns a slot to the node that another one named, and starts a discovery.
    pub(super) fn moved(self: &Arc<Self>, slot: u16, address: &Address) {
        let mut map = self.map.write();
        let node = map.node_at(address, self);
        if let Some(primary) = map.slots.get_mut(usize::from(slot)) {
            *primary = Some(node);
        }
        drop(map);
        self.refresh();
    }

    /// Starts a discovery in the background, one at a time and not too often. Returns a receiver
    /// that is closed when the running one ends.
    pub(super) fn refresh(self: &Arc<Self>) -> Option<watch::Receiver<()>> {
        let mut refresh = self.refresh.lock();
        if let Some(running) = refresh.running.as_ref().filter(|running| running.has_changed().is_ok()) {
            return Some(running.clone());
        }
        if refresh.begun.is_some_and(|begun| begun.elapsed() < PACE) {
            return None;
        }
        let (sender, receiver) = watch::channel(());
        *refresh = Refresh { begun: Some(Instant::now()), running: Some(receiver.clone()) };
        let cluster = self.clone();
        tokio::spawn(async move {
            let _until_done = sender;
            cluster.discover().await;
        });
        Some(receiver)
    }

    async fn discover(&self) {
        let dialer = Dialer { tls: self.config.tls.clone(), timeout: self.config.connect_timeout };
        let queries = self.candidates().into_iter().map(|endpoint| query_slots(endpoint, &dialer));
        let mut answers = stream::iter(queries).buffer_unordered(AT_ONCE);
        let mut last_error = RedisError::Unreachable("no Cluster node".to_owned());
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(ranges) => return self.map.write().install(&ranges, self),
                Err(error) => last_error = error,
            }
        }
        let mut map = self.map.write();
        if map.last_error.is_none() {
            tracing::warn!("cannot discover the slots of the Cluster: {last_error}");
        }
        map.last_error = Some(last_error);
    }

    /// Nodes to query: healthy ones, then configured ones, then the rest.
    fn candidates(&self) -> Vec<RedisEndpoint> {
        let map = self.map.read();
        let is_healthy = |entry: &(&Address, &Arc<RedisNode>)| entry.1.health() == CircuitState::Closed;
        let (healthy, rest): (Vec<_>, Vec<_>) = map.nodes.iter().partition(is_healthy);
        let unknown = self.seeds.iter().filter(|seed| !map.nodes.contains_key(&seed.address)).cloned();
        let at = |(address, _): (&Address, _)| self.seeds[0].at(address.clone());
        healthy.into_iter().map(at).chain(unknown).chain(rest.into_iter().map(at)).collect()
    }

    pub(super) fn nodes(&self) -> Vec<Arc<RedisNode>> {
        self.map.read().nodes.values().cloned().collect()
    }
}

impl SlotMap {
    fn node_at(&mut self, address: &Address, cluster: &ClusterNodes) -> Arc<RedisNode> {
        let make = || {
            let target = NodeTarget::Fixed(cluster.seeds[0].at(address.clone()));
            Arc::new(RedisNode::new(target, SlotRouting::Apart, &cluster.config, cluster.checks.clone()))
        };
        self.nodes.entry(address.clone()).or_insert_with(make).clone()
    }

    /// Replaces the map. Nodes without slots are dropped; calls to them end by themselves.
    fn install(&mut self, ranges: &[SlotRange], cluster: &ClusterNodes) {
        self.last_error = None;
        self.slots.fill(None);
        for range in ranges {
            let node = self.node_at(&range.primary, cluster);
            let slots = self.slots.get_mut(usize::from(range.first)..=usize::from(range.last));
            slots.into_iter().flatten().for_each(|primary| *primary = Some(node.clone()));
        }
        self.nodes.retain(|address, _| ranges.iter().any(|range| range.primary == *address));
    }
}

async fn query_slots(endpoint: RedisEndpoint, dialer: &Dialer) -> Result<Vec<SlotRange>, RedisError> {
    let unreachable = |why: String| RedisError::Unreachable(format!("{endpoint}: {why}"));
    let connection = dialer.open(&endpoint).await?;
    let answer = timeout(dialer.timeout, connection.query(&["CLUSTER", "SLOTS"])).await;
    let answer = answer.map_err(|_| unreachable("no reply in time".to_owned()))??;
    if let Value::ServerError(error) = answer {
        return Err(unreachable(error.to_string()));
    }
    match cluster_slots::read(answer, &endpoint.address) {
        Some(ranges) if !ranges.is_empty() => Ok(ranges),
        _ => Err(unreachable("reports no slots".to_owned())),
    }
}

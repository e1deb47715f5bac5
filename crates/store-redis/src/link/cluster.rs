//! A Cluster: which node has which slot, and finding out again when that has changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use parking_lot::{Mutex, RwLock};
use redis::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::batching::Slots;
use super::breaker::Health;
use super::checks::Checks;
use super::cluster_slots::{self, Range};
use super::connection::Dialer;
use super::endpoint::{Address, Endpoint};
use super::key_slot::SLOTS;
use super::node::{Node, Target};
use crate::config::Config;
use crate::error::RedisError;

/// Nodes asked at the same time for the shape of the Cluster, so that one that hangs holds nobody up.
const AT_ONCE: usize = 3;
/// The shape is asked for no more often than this.
const PACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Cluster {
    config: Config,
    seeds: Vec<Endpoint>,
    checks: Arc<Checks>,
    map: RwLock<Map>,
    refresh: Mutex<Refresh>,
}

#[derive(Debug)]
struct Map {
    nodes: HashMap<Address, Arc<Node>>,
    /// The primary of each slot, as far as it is known.
    slots: Vec<Option<Arc<Node>>>,
    /// Why the shape could not be found out the last time, if so.
    trouble: Option<RedisError>,
}

#[derive(Default, Debug)]
struct Refresh {
    begun: Option<Instant>,
    /// Ends with the refresh that is under way.
    running: Option<watch::Receiver<()>>,
}

impl Cluster {
    pub(super) fn new(config: &Config, seeds: &[Endpoint], checks: Arc<Checks>) -> Arc<Self> {
        let map = Map { nodes: HashMap::new(), slots: vec![None; usize::from(SLOTS)], trouble: None };
        Arc::new(Self {
            config: config.clone(),
            seeds: seeds.to_vec(),
            checks,
            map: RwLock::new(map),
            refresh: Mutex::default(),
        })
    }

    /// The node that has a slot. Waits for the shape of the Cluster only where nothing is known of the slot.
    pub(super) async fn node_of(
        self: &Arc<Self>,
        slot: u16,
        deadline: Instant,
    ) -> Result<Arc<Node>, RedisError> {
        if let Some(node) = self.known(slot) {
            return Ok(node);
        }
        if let Some(mut running) = self.refresh()
            && !self.is_overdue()
        {
            let ended = async { while running.changed().await.is_ok() {} };
            timeout_at(deadline, ended).await.map_err(|_| RedisError::TimedOut)?;
        }
        self.known(slot).ok_or_else(|| {
            let trouble = self.map.read().trouble.clone();
            trouble
                .unwrap_or_else(|| RedisError::Unreachable(format!("no node of the Cluster has slot {slot}")))
        })
    }

    /// Whether finding out the shape takes so long that there is no use in waiting for it.
    fn is_overdue(&self) -> bool {
        self.refresh.lock().begun.is_some_and(|begun| begun.elapsed() > self.config.timeout)
    }

    fn known(&self, slot: u16) -> Option<Arc<Node>> {
        self.map.read().slots.get(usize::from(slot)).cloned().flatten()
    }

    /// The node at an address that another one named.
    pub(super) fn node_at(&self, address: &Address) -> Arc<Node> {
        if let Some(node) = self.map.read().nodes.get(address) {
            return node.clone();
        }
        self.map.write().node_at(address, self)
    }

    /// A node said that another has the slot. Whether more has changed is found out in the background.
    pub(super) fn moved(self: &Arc<Self>, slot: u16, address: &Address) {
        let mut map = self.map.write();
        let node = map.node_at(address, self);
        if let Some(place) = map.slots.get_mut(usize::from(slot)) {
            *place = Some(node);
        }
        drop(map);
        self.refresh();
    }

    /// Finds out the shape in the background, one at a time and not too often. Gives what ends with the one under way.
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
            cluster.find_out().await;
        });
        Some(receiver)
    }

    async fn find_out(&self) {
        let dialer = Dialer { tls: self.config.tls.clone(), timeout: self.config.connect_timeout };
        let asked = self.candidates().into_iter().map(|endpoint| ask(endpoint, &dialer));
        let mut answers = stream::iter(asked).buffer_unordered(AT_ONCE);
        let mut trouble = RedisError::Unreachable("no node of the Cluster".to_owned());
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(ranges) => return self.map.write().install(&ranges, self),
                Err(error) => trouble = error,
            }
        }
        let mut map = self.map.write();
        if map.trouble.is_none() {
            tracing::warn!("cannot find out the shape of the Cluster: {trouble}");
        }
        map.trouble = Some(trouble);
    }

    /// Healthy nodes first, then those that the configuration names, then the rest.
    fn candidates(&self) -> Vec<Endpoint> {
        let map = self.map.read();
        let is_healthy = |entry: &(&Address, &Arc<Node>)| entry.1.health() == Health::Closed;
        let (healthy, rest): (Vec<_>, Vec<_>) = map.nodes.iter().partition(is_healthy);
        let unknown = self.seeds.iter().filter(|seed| !map.nodes.contains_key(&seed.address)).cloned();
        let at = |(address, _): (&Address, _)| self.seeds[0].at(address.clone());
        healthy.into_iter().map(at).chain(unknown).chain(rest.into_iter().map(at)).collect()
    }

    pub(super) fn nodes(&self) -> Vec<Arc<Node>> {
        self.map.read().nodes.values().cloned().collect()
    }
}

impl Map {
    fn node_at(&mut self, address: &Address, cluster: &Cluster) -> Arc<Node> {
        let make = || {
            let target = Target::Fixed(cluster.seeds[0].at(address.clone()));
            Arc::new(Node::new(target, Slots::Apart, &cluster.config, cluster.checks.clone()))
        };
        self.nodes.entry(address.clone()).or_insert_with(make).clone()
    }

    /// Nodes without slots are let go; what is under way to them ends by itself.
    fn install(&mut self, ranges: &[Range], cluster: &Cluster) {
        self.trouble = None;
        self.slots.fill(None);
        for range in ranges {
            let node = self.node_at(&range.primary, cluster);
            let places = self.slots.get_mut(usize::from(range.first)..=usize::from(range.last));
            places.into_iter().flatten().for_each(|place| *place = Some(node.clone()));
        }
        self.nodes.retain(|address, _| ranges.iter().any(|range| range.primary == *address));
    }
}

async fn ask(endpoint: Endpoint, dialer: &Dialer) -> Result<Vec<Range>, RedisError> {
    let unreachable = |why: String| RedisError::Unreachable(format!("{endpoint}: {why}"));
    let connection = dialer.open(&endpoint).await?;
    let answer = timeout(dialer.timeout, connection.query(&["CLUSTER", "SLOTS"])).await;
    let answer = answer.map_err(|_| unreachable("no answer in time".to_owned()))??;
    if let Value::ServerError(error) = answer {
        return Err(unreachable(error.to_string()));
    }
    match cluster_slots::read(answer, &endpoint.address) {
        Some(ranges) if !ranges.is_empty() => Ok(ranges),
        _ => Err(unreachable("knows no slots".to_owned())),
    }
}

//! Link: sends script calls to one server, to the primary that sentinels elect, or to Cluster
//! nodes.
//!
//! **A call is sent again only if it certainly did not run**: it was never sent, or the server said
//! so. The Cluster and Sentinel clients of the client library repeat calls that may have run, so
//! only its connection is used, and calls are routed here. No call takes longer than its deadline,
//! whatever the server does.

mod batching;
mod breaker;
mod checks;
mod cluster;
mod cluster_slots;
mod connection;
mod counting_stream;
mod endpoint;
mod job;
mod key_slot;
mod node;
mod node_task;
mod refusal;
mod reply;
mod send_batch;
mod sentinel;
mod tls;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub(super) use self::batching::SlotRouting;
pub use self::breaker::CircuitState;
pub use self::checks::Warning;
pub(super) use self::endpoint::RedisEndpoint;
pub(super) use self::key_slot::slot_of;
pub use self::refusal::WriteRefusal;
pub(super) use self::tls::RedisTls;

use self::checks::Checks;
use self::cluster::ClusterNodes;
use self::endpoint::Address;
use self::job::{Redirection, ScriptRef};
use self::node::{NodeRequest, NodeTarget, RedisNode};
use self::reply::{AttemptError, RetryStep};
use self::sentinel::SentinelSet;
use super::config::{RedisConfig, Servers};
use super::error::{CallFailure, RedisError};
use super::invocation::Invocation;

/// Attempts of one call, including the first, since a server last answered that it is busy. It may
/// do so until the deadline.
const ATTEMPTS: u32 = 5;
/// Pause before another attempt if only time can help; it doubles, three times at most.
const PAUSE: Duration = Duration::from_millis(2);

/// Link to the servers of a store. Connects at first use; clones share everything.
#[derive(Clone, Debug)]
pub(super) struct RedisLink {
    servers: Arc<Topology>,
    checks: Arc<Checks>,
    prefix: Arc<str>,
}

#[derive(Debug)]
enum Topology {
    One(Arc<RedisNode>),
    Cluster(Arc<ClusterNodes>),
}

/// Route of the next attempt, and its form.
struct CallRoute {
    /// Node instead of the one that has the slot.
    instead: Option<Address>,
    form: ScriptRef,
    manner: Redirection,
}

/// Attempt without a result.
struct FailedAttempt {
    setback: AttemptError,
    /// Node of the attempt, if there was one.
    node: Option<Arc<RedisNode>>,
}

impl RedisLink {
    pub(super) fn new(config: &RedisConfig) -> Self {
        let checks = Arc::new(Checks::default());
        let one = |target| {
            Topology::One(Arc::new(RedisNode::new(target, SlotRouting::Together, config, checks.clone())))
        };
        let servers = match &config.servers {
            Servers::One(endpoint) => one(NodeTarget::Fixed(endpoint.clone())),
            Servers::Sentinel { sentinels, name, primary } => one(NodeTarget::Elected(SentinelSet {
                endpoints: sentinels.clone(),
                name: name.clone(),
                primary: primary.clone(),
            })),
            Servers::Cluster(seeds) => Topology::Cluster(ClusterNodes::new(config, seeds, checks.clone())),
        };
        Self { servers: Arc::new(servers), checks, prefix: config.prefix.as_str().into() }
    }

    /// Runs a script, and returns the part of the reply for this request. Attempts that certainly
    /// did not run are repeated if that may help, until the deadline.
    pub(super) async fn call(
        &self,
        invocation: Invocation,
        deadline: Instant,
    ) -> Result<Vec<u8>, CallFailure> {
        let slot = invocation.slot;
        self.run(invocation, deadline).await.map_err(|FailedAttempt { setback, node }| {
            let failure = setback.into_failure();
            if let Some(node) = node {
                refusal::mark(&node, failure.error(), &self.prefix, slot);
            }
            failure
        })
    }

    async fn run(&self, invocation: Invocation, deadline: Instant) -> Result<Vec<u8>, FailedAttempt> {
        let invocation = Arc::new(invocation);
        let mut route = CallRoute { instead: None, form: ScriptRef::Sha, manner: Redirection::Ordinary };
        let mut last: Option<FailedAttempt> = None;
        let (mut attempt, mut most) = (0, ATTEMPTS);
        while attempt < most {
            if !self.wait_before(attempt, last.as_ref().map(|last| &last.setback), deadline).await {
                break;
            }
            let failed = match self.attempt(&invocation, &route, deadline).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed,
            };
            match &failed.setback {
                // The error of an earlier attempt says more than a breaker that it may have opened.
                AttemptError::Failed(CallFailure::NotRun(RedisError::Open)) if last.is_some() => break,
                AttemptError::Failed(_) => return Err(failed),
                AttemptError::Again { step, .. } => {
                    self.reroute(&mut route, invocation.slot, step);
                    attempt += 1;
                    if *step == RetryStep::Pause {
                        most = attempt + ATTEMPTS;
                    }
                }
            }
            last = Some(failed);
        }
        Err(last.unwrap_or_else(|| FailedAttempt {
            setback: AttemptError::Failed(CallFailure::NotRun(RedisError::TimedOut)),
            node: None,
        }))
    }

    async fn attempt(
        &self,
        invocation: &Arc<Invocation>,
        route: &CallRoute,
        deadline: Instant,
    ) -> Result<Vec<u8>, FailedAttempt> {
        let request = NodeRequest { invocation: invocation.clone(), form: route.form, manner: route.manner };
        let at = |node: &Arc<RedisNode>, setback| FailedAttempt { setback, node: Some(node.clone()) };
        let cluster = match &*self.servers {
            Topology::One(node) => {
                return node.attempt(request, deadline).await.map_err(|setback| at(node, setback));
            }
            Topology::Cluster(cluster) => cluster,
        };
        let nowhere = |error| FailedAttempt { setback: CallFailure::NotRun(error).into(), node: None };
        let node = match &route.instead {
            Some(address) => cluster.node_at(address),
            None => cluster.node_of(invocation.slot, deadline).await.map_err(nowhere)?,
        };
        node.attempt(request, deadline).await.map_err(|setback| {
            if setback.error().is_outage() || *setback.error() == RedisError::Open {
                cluster.refresh();
            }
            at(&node, setback)
        })
    }

    /// Changes the route of the next attempt.
    fn reroute(&self, route: &mut CallRoute, slot: u16, step: &RetryStep) {
        let cluster = match &*self.servers {
            Topology::Cluster(cluster) => Some(cluster),
            Topology::One(_) => None,
        };
        match step {
            RetryStep::Text => route.form = ScriptRef::Text,
            RetryStep::Ask(address) => {
                (route.instead, route.manner) = (Some(address.clone()), Redirection::Asking);
            }
            RetryStep::Moved(address) => {
                (route.instead, route.manner) = (None, Redirection::Ordinary);
                cluster.inspect(|cluster| cluster.moved(slot, address));
            }
            RetryStep::Demoted | RetryStep::Rediscover => {
                (route.instead, route.manner) = (None, Redirection::Ordinary);
                cluster.inspect(|cluster| drop(cluster.refresh()));
            }
            RetryStep::Pause | RetryStep::Reconnect => {
                (route.instead, route.manner) = (None, Redirection::Ordinary);
            }
        }
    }

    /// Waits if only time can help. `false` if the deadline is too near.
    async fn wait_before(&self, attempt: u32, setback: Option<&AttemptError>, deadline: Instant) -> bool {
        let pause = match setback {
            None
            | Some(AttemptError::Again {
                step: RetryStep::Text | RetryStep::Moved(_) | RetryStep::Ask(_),
                ..
            }) => Duration::ZERO,
            Some(_) => PAUSE * 2_u32.pow(attempt.saturating_sub(1).min(3)),
        };
        let resume = Instant::now() + pause;
        if resume >= deadline {
            return false;
        }
        if !pause.is_zero() {
            tokio::time::sleep_until(resume).await;
        }
        true
    }

    /// Routing of keys of different slots.
    pub(super) fn slots(&self) -> SlotRouting {
        match &*self.servers {
            Topology::One(_) => SlotRouting::Together,
            Topology::Cluster(_) => SlotRouting::Apart,
        }
    }

    /// State of each server, by address or by the name that sentinels monitor.
    pub(super) fn health(&self) -> Vec<(String, CircuitState)> {
        self.nodes().iter().map(|node| (node.server.name(), node.health())).collect()
    }

    /// Servers that answer and refuse to write, with the reason.
    pub(super) fn refusals(&self) -> Vec<(String, WriteRefusal)> {
        let refusal = |node: &Arc<RedisNode>| Some((node.server.name(), node.refusal.get()?));
        self.nodes().iter().filter_map(refusal).collect()
    }

    fn nodes(&self) -> Vec<Arc<RedisNode>> {
        match &*self.servers {
            Topology::One(node) => vec![node.clone()],
            Topology::Cluster(cluster) => cluster.nodes(),
        }
    }

    /// Enables warnings about permits, for a store that issues some.
    pub(super) fn expect_permits(&self) {
        self.checks.expect_permits();
    }

    /// Warnings about the setup of the servers so far.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.checks.warnings()
    }
}

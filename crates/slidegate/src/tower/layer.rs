//! Layer with the rules, the attributes of requests, and the form of refusals.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::Response;
use ::http::header::{HeaderName, InvalidHeaderName};
use ::http::request::Parts;
use bytes::Bytes;
use ipnet::{AddrParseError, IpNet};
use slidegate_core::{Limit, LimitError};
use tower_layer::Layer;

use super::attributes::RequestAttributes;
use super::refusal::{Refusal, RefuseFn};
use super::service::RateLimitService;
use crate::clock::{Clock, SystemClock};
use crate::gate::Gate;
use crate::headers::Headers;
use slidegate_policy::{Policy, PolicyErrors};
use slidegate_store::{Memory, SyncStore};

/// Name of the rule of a layer that is built from limits. Header fields start with it.
const RULE: &str = "requests";

/// Layer that limits the requests to a service.
///
/// ```
/// use slidegate::tower::RateLimitLayer;
///
/// let layer = RateLimitLayer::per_header("x-api-key", ["100/s"])?.trust_proxies(["10.0.0.0/8"])?;
/// # Ok::<(), slidegate::tower::LayerError>(())
/// ```
///
/// Clones share the state.
pub struct RateLimitLayer<S = Memory, C = SystemClock> {
    pub(super) gate: Arc<Gate<S, C>>,
    pub(super) options: Arc<LayerOptions>,
}

/// Options of a layer.
pub(super) struct LayerOptions {
    pub(super) attributes: RequestAttributes,
    pub(super) wait: Duration,
    pub(super) headers: Headers,
    pub(super) refuse: Option<Box<RefuseFn>>,
}

/// Error of a layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A limit is invalid.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The limits cannot be used together.
    #[error(transparent)]
    Policy(#[from] PolicyErrors),
    /// The name of a header is invalid.
    #[error(transparent)]
    Header(#[from] InvalidHeaderName),
    /// A network is invalid.
    #[error("invalid network `{network}`: write an address or a CIDR, as in 10.0.0.0/8")]
    Network {
        /// Text of the network.
        network: String,
    },
}

impl From<Infallible> for LayerError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl RateLimitLayer {
    /// Limits for every client address. Clients behind one address share them; IPv6 clients are told
    /// apart by their /64.
    ///
    /// The address is that of the peer, unless [`RateLimitLayer::trust_proxies`] says which proxies
    /// report another one.
    pub fn per_client<L: TryInto<Limit>>(limits: impl IntoIterator<Item = L>) -> Result<Self, LayerError>
    where
        LayerError: From<L::Error>,
    {
        Self::of_limits(&["ip"], limits)
    }

    /// Limits for every value of a header. Requests without it share one quota.
    pub fn per_header<L: TryInto<Limit>>(
        header: &str,
        limits: impl IntoIterator<Item = L>,
    ) -> Result<Self, LayerError>
    where
        LayerError: From<L::Error>,
    {
        let header: HeaderName = header.parse().map_err(LayerError::Header)?;
        let mut layer = Self::of_limits(&["key"], limits)?;
        layer.options_mut().attributes.add_header("key", header);
        Ok(layer)
    }

    /// Limits for all requests together.
    pub fn global<L: TryInto<Limit>>(limits: impl IntoIterator<Item = L>) -> Result<Self, LayerError>
    where
        LayerError: From<L::Error>,
    {
        Self::of_limits(&[], limits)
    }

    fn of_limits<L: TryInto<Limit>>(
        key: &[&str],
        limits: impl IntoIterator<Item = L>,
    ) -> Result<Self, LayerError>
    where
        LayerError: From<L::Error>,
    {
        let limits = limits.into_iter().map(TryInto::try_into).collect::<Result<Vec<Limit>, _>>()?;
        let policy = Policy::from_limits(RULE, key, limits)?;
        Ok(Self::new(Arc::new(Gate::new(policy, Memory::default()))))
    }
}

impl<S, C> RateLimitLayer<S, C> {
    /// Layer with the rules of a gate, over its store.
    pub fn new(gate: Arc<Gate<S, C>>) -> Self {
        let options = LayerOptions {
            attributes: RequestAttributes::default(),
            wait: Duration::ZERO,
            headers: Headers::default(),
            refuse: None,
        };
        Self { gate, options: Arc::new(options) }
    }

    /// Gate with the rules and the state.
    pub fn gate(&self) -> &Arc<Gate<S, C>> {
        &self.gate
    }

    /// Networks of proxies whose `X-Forwarded-For` is believed, as CIDRs or addresses. Without this the
    /// header is ignored, since every client can send one.
    pub fn trust_proxies<'n>(
        mut self,
        networks: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, LayerError> {
        let parse = |network: &str| {
            let parsed: Result<IpNet, AddrParseError> = network.parse();
            let parsed = parsed.or_else(|error| {
                network.parse().map(|address: IpAddr| IpNet::from(address.to_canonical())).map_err(|_| error)
            });
            parsed.map_err(|_| LayerError::Network { network: network.to_owned() })
        };
        let networks = networks.into_iter().map(parse).collect::<Result<Vec<IpNet>, _>>()?;
        self.options_mut().attributes.trusted_proxies = networks;
        Ok(self)
    }

    /// Attribute with the value of a header. A request that has the header twice, or not as UTF-8, is
    /// refused with 400.
    ///
    /// # Panics
    ///
    /// If the name of the header is invalid.
    pub fn attribute(mut self, name: &str, header: &str) -> Self {
        let header: HeaderName = header.parse().expect("a valid header name");
        self.options_mut().attributes.add_header(name, header);
        self
    }

    /// Attribute that a function computes from the head of a request, such as the user that another
    /// layer has authenticated.
    pub fn attribute_with(
        mut self,
        name: &str,
        function: impl for<'a> Fn(&'a Parts) -> Option<Cow<'a, str>> + Send + Sync + 'static,
    ) -> Self {
        self.options_mut().attributes.add_function(name, Box::new(function));
        self
    }

    /// Cost of a request; 1 by default. A cost of 0 is a peek: it charges nothing.
    pub fn cost_with(mut self, function: impl Fn(&Parts) -> u64 + Send + Sync + 'static) -> Self {
        self.options_mut().attributes.cost = Some(Box::new(function));
        self
    }

    /// Address of the peer, where neither axum's `ConnectInfo<SocketAddr>` nor a `SocketAddr` is among
    /// the request extensions.
    pub fn peer_with(mut self, function: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.options_mut().attributes.peer = Box::new(function);
        self
    }

    /// Delays a request up to this long until it is admitted, in order of arrival, instead of refusing
    /// it.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options_mut().wait = wait;
        self
    }

    /// Header fields of responses; the default is the draft standard (`RateLimit`,
    /// `RateLimit-Policy`).
    pub fn headers(mut self, headers: Headers) -> Self {
        self.options_mut().headers = headers;
        self
    }

    /// Response to refused requests. Header fields are added to it. The default is
    /// [`Refusal::problem`], and [`Refusal::grpc`] for gRPC calls.
    pub fn refuse_with(
        mut self,
        function: impl Fn(&Refusal<'_>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.options_mut().refuse = Some(Box::new(function));
        self
    }

    fn options_mut(&mut self) -> &mut LayerOptions {
        Arc::get_mut(&mut self.options).expect("a layer is configured before it is cloned or applied")
    }
}

impl<S, C> Clone for RateLimitLayer<S, C> {
    fn clone(&self) -> Self {
        Self { gate: Arc::clone(&self.gate), options: Arc::clone(&self.options) }
    }
}

impl<S, C> std::fmt::Debug for RateLimitLayer<S, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimitLayer").finish_non_exhaustive()
    }
}

impl<T, S: SyncStore, C: Clock> Layer<T> for RateLimitLayer<S, C> {
    type Service = RateLimitService<T, S, C>;

    fn layer(&self, inner: T) -> Self::Service {
        RateLimitService::new(inner, self.clone())
    }
}

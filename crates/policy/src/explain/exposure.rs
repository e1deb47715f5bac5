//! Warnings about listeners that are open to the network.

use std::net::SocketAddr;

use super::super::Settings;
use super::super::file::{ListenerSettings, Server, Tls};

impl Settings {
    /// Warnings about listeners that other machines can use without a token or a client certificate.
    pub fn warnings(&self) -> Vec<String> {
        let server = &self.server;
        let entrance = |entrance: &Option<ListenerSettings>| {
            entrance.as_ref().and_then(|entrance| Some((entrance.listen.value?, entrance.tls.clone())))
        };
        let listeners = [
            ("server.http", server.http.value.map(|address| (address, server.tls.clone()))),
            ("server.grpc", entrance(&server.grpc)),
            ("server.resp", entrance(&server.resp)),
        ];
        let open = listeners.into_iter().filter_map(|(setting, listener)| {
            let (address, tls) = listener?;
            server.is_open_at(address, tls.as_ref()).then(|| {
                format!(
                    "{setting}: {address} is reachable from other machines, where anyone can use up limits and read their usage: \
                     set server.token, or tls with a client_ca, or listen on 127.0.0.1"
                )
            })
        });
        open.collect()
    }
}

impl Server {
    /// Whether other machines can use a listener without authentication.
    fn is_open_at(&self, address: SocketAddr, tls: Option<&Tls>) -> bool {
        let asks = self.token.is_some() || tls.is_some_and(|tls| tls.client_ca.is_some());
        !asks && !address.ip().to_canonical().is_loopback()
    }
}

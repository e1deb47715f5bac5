//! Banner of a server: its addresses, its policy and store, and commands to try.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;

use anstyle::Style;
use slidegate_server::Listeners;
use slidegate_server::config::{Settings, StoreKind, StoreSettings, TlsSettings};
use tokio::net::TcpListener;

use super::listener::from_loopback;
use super::try_it::TryItServer;
use crate::policy::PolicyOrigin;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Addresses of the listeners, with the ports that the system chose.
pub(super) struct BoundAddresses {
    http: SocketAddr,
    grpc: Option<SocketAddr>,
    resp: Option<SocketAddr>,
    pub(super) admin: Option<SocketAddr>,
}

impl BoundAddresses {
    pub(super) fn of(listeners: &Listeners) -> io::Result<Self> {
        let of = |listener: &Option<TcpListener>| listener.as_ref().map(TcpListener::local_addr).transpose();
        let Listeners { http, grpc, resp, admin } = listeners;
        Ok(Self { http: http.local_addr()?, grpc: of(grpc)?, resp: of(resp)?, admin: of(admin)? })
    }

    /// Address of the HTTP listener for programs on this machine.
    pub(super) fn http_from_loopback(&self) -> SocketAddr {
        from_loopback(self.http)
    }
}

/// The banner.
pub(super) fn text(
    addresses: &BoundAddresses,
    origin: &PolicyOrigin,
    rules: usize,
    settings: &Settings,
) -> String {
    let BoundAddresses { http: address, grpc, resp, admin } = *addresses;
    let server = &settings.server;
    let mut text = String::new();
    let policy = match origin {
        PolicyOrigin::Example => "built-in example (`slidegate example` prints it)".to_owned(),
        PolicyOrigin::Demo => "demo, with about 200 simulated requests per second".to_owned(),
        PolicyOrigin::File { name } if rules == 1 => format!("{name}, 1 rule"),
        PolicyOrigin::File { name } => format!("{name}, {rules} rules"),
    };
    line(&mut text, &format!("{STRONG}slidegate {}{STRONG:#}", env!("CARGO_PKG_VERSION")));
    let url = |tls: Option<&Option<TlsSettings>>, scheme: &str, address| {
        format!("{scheme}{}://{address}", if tls.is_some_and(Option::is_some) { "s" } else { "" })
    };
    let http = url(Some(&server.tls), "http", address);
    line(&mut text, &format!("listening on {STRONG}{http}{STRONG:#}"));
    if let Some(grpc) = grpc {
        line(&mut text, &format!("grpc:   {}", url(server.grpc.as_ref().map(|of| &of.tls), "http", grpc)));
    }
    if let Some(resp) = resp {
        line(&mut text, &format!("resp:   {}", url(server.resp.as_ref().map(|of| &of.tls), "redis", resp)));
    }
    if let Some(admin) = admin {
        let tls = server.admin.as_ref().map(|of| &of.tls);
        line(&mut text, &format!("admin:  {}", url(tls, "http", admin)));
        line(&mut text, &format!("console: {STRONG}{}/{STRONG:#}", url(tls, "http", from_loopback(admin))));
    }
    line(&mut text, &format!("policy: {policy}"));
    line(&mut text, &format!("store:  {}", store(&settings.store)));
    if matches!(origin, PolicyOrigin::Example) {
        let needs_token = server.token.is_some();
        try_it(&mut text, &TryItServer { address, headers: server.headers, needs_token });
    }
    line(&mut text, "\nPress Ctrl-C to stop.");
    text
}

fn store(store: &StoreSettings) -> String {
    match store.kind {
        StoreKind::Memory => format!("memory, at most {}", size(store.max_memory)),
        StoreKind::Redis => match (&store.url, &store.sentinel) {
            (Some(url), _) => format!("Redis at {}", without_password(url)),
            (None, Some(sentinel)) => format!("Redis master {:?} of Sentinel", sentinel.name),
            (None, None) => format!("Redis Cluster, {} seed nodes", store.nodes.len()),
        },
    }
}

/// A URL without its credentials, since banners end up in logs.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("redis", url));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    format!("{scheme}://{host}")
}

/// A size in the largest unit in which it is a whole number.
fn size(bytes: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fitting = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    fitting.map_or_else(|| format!("{bytes} bytes"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

fn try_it(text: &mut String, server: &TryItServer) {
    line(text, "\nTry it in another terminal:");
    for one in server.commands() {
        line(text, &format!("\n{FAINT}# {}{FAINT:#}", one.title));
        line(text, &one.command);
        for output in one.output {
            line(text, &format!("{FAINT}    {output}{FAINT:#}"));
        }
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole() {
        let rows = [
            (256 << 20, "256 MiB"),
            (3 << 30, "3 GiB"),
            (1 << 10, "1 KiB"),
            (1_000, "1000 bytes"),
            (0, "0 bytes"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn passwords_are_removed() {
        let rows = [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("rediss://user:p@ss@db:6379/0", "rediss://db:6379/0"),
            ("redis://:secret@db", "redis://db"),
        ];
        for (url, expected) in rows {
            assert_eq!(without_password(url), expected);
        }
    }
}

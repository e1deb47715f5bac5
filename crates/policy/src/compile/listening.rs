//! Checks of listeners.

use std::net::SocketAddr;

use super::super::diagnostics::Diagnostics;
use super::super::file::{Admin, Bytes, Connections, DurationMs, MIN_SECRET_CHARS, Server, Spanned};
use super::settings::SHORT_SECRET;

/// Maximum number of connections, more than a process can have.
const MAX_CONNECTIONS: u32 = 1_000_000;
/// Minimum size of a request head, enough for any regular client.
const MIN_HEAD: u64 = 8 << 10;
/// Maximum size of a request.
const MAX_BYTES: u64 = 16 << 20;

pub(super) fn check(server: &Server, diagnostics: &Diagnostics) {
    check_token(server.token.as_ref(), diagnostics);
    check_connections(&server.connections, diagnostics);
    if let Some(admin) = &server.admin {
        check_admin(admin, diagnostics);
    }
    check_addresses(server, diagnostics);
}

fn check_token(token: Option<&Spanned<String>>, diagnostics: &Diagnostics) {
    if let Some(Spanned { at, value: Some(token) }) = token
        && token.chars().count() < MIN_SECRET_CHARS
    {
        diagnostics.report(*at, "the token is too short: it could be guessed", SHORT_SECRET);
    }
}

fn check_admin(admin: &Admin, diagnostics: &Diagnostics) {
    check_token(admin.token.as_ref(), diagnostics);
    let Some(listen) = admin.listen.value else { return };
    if !admin.is_guarded_at(listen) {
        let what = format!(
            "the admin listener on {} is reachable from other machines without authentication",
            listen.ip()
        );
        let help = "listen on 127.0.0.1, or add a `token`, or `tls` with a `client_ca`";
        diagnostics.report(admin.listen.at, what, help);
    }
}

/// Reports listeners with the same address.
fn check_addresses(server: &Server, diagnostics: &Diagnostics) {
    let listeners = [
        Some(("http", &server.http)),
        server.grpc.as_ref().map(|grpc| ("grpc", &grpc.listen)),
        server.resp.as_ref().map(|resp| ("resp", &resp.listen)),
        server.admin.as_ref().map(|admin| ("admin", &admin.listen)),
    ];
    let mut taken: Vec<(&str, SocketAddr)> = Vec::new();
    for (what, spot) in listeners.into_iter().flatten() {
        let Some(listen) = spot.value.filter(|listen| listen.port() != 0) else { continue };
        if let Some((other, _)) = taken.iter().find(|(_, address)| *address == listen) {
            diagnostics.report(spot.at, format!("{listen} is already used by `{other}`"), "use another port");
        }
        taken.push((what, listen));
    }
}

fn check_connections(connections: &Connections, diagnostics: &Diagnostics) {
    for count in [&connections.max, &connections.max_per_address] {
        if let Some(number) = count.value.filter(|number| !(1..=MAX_CONNECTIONS).contains(number)) {
            let help =
                format!("use 1 to {MAX_CONNECTIONS}; the defaults are 16384 in total and 4096 per address");
            diagnostics.report(count.at, format!("invalid number of connections {number}"), help);
        }
    }
    let Connections { head_timeout, body_timeout, write_timeout, idle_timeout, .. } = connections;
    for timeout in [head_timeout, body_timeout, write_timeout, idle_timeout] {
        if timeout.value == Some(DurationMs(0)) {
            diagnostics.report(timeout.at, "the timeout must not be 0", "write at least 1ms; 10s is common");
        }
    }
    check_size(&connections.max_head, MIN_HEAD, diagnostics);
    check_size(&connections.max_body, 1, diagnostics);
}

fn check_size(size: &Spanned<Bytes>, least: u64, diagnostics: &Diagnostics) {
    if let Some(Bytes(bytes)) = size.value.filter(|size| !(least..=MAX_BYTES).contains(&size.0)) {
        let help = format!("use {least} bytes to 16MiB; 64KiB is common");
        diagnostics.report(size.at, format!("request size of {bytes} bytes is out of range"), help);
    }
}

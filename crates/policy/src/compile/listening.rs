//! What can be wrong with listeners.

use std::net::SocketAddr;

use super::super::diagnostics::Diagnostics;
use super::super::file::{Admin, Bytes, Connections, DurationMs, MIN_SECRET_CHARS, Server, Spanned};
use super::settings::SHORT_SECRET;

/// More connections than a process can have.
const MAX_CONNECTIONS: u32 = 1_000_000;
/// Room for a request of any client that means well.
const MIN_HEAD: u64 = 8 << 10;
/// Nothing that is asked is larger.
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
        diagnostics.report(*at, "the token is too short, and could be guessed", SHORT_SECRET);
    }
}

fn check_admin(admin: &Admin, diagnostics: &Diagnostics) {
    check_token(admin.token.as_ref(), diagnostics);
    let Some(listen) = admin.listen.value else { return };
    if !admin.is_guarded_at(listen) {
        let what = format!(
            "{} can be reached by other machines, and anybody there could change limits",
            listen.ip()
        );
        let help = "listen at 127.0.0.1, or give it a `token`, or `tls` with a `client_ca`";
        diagnostics.report(admin.listen.at, what, help);
    }
}

/// Two listeners cannot be in one place.
fn check_addresses(server: &Server, diagnostics: &Diagnostics) {
    let listeners = [
        Some(("where checks are answered", &server.http)),
        server.grpc.as_ref().map(|grpc| ("where gRPC is spoken", &grpc.listen)),
        server.resp.as_ref().map(|resp| ("where the protocol of Redis is spoken", &resp.listen)),
        server.admin.as_ref().map(|admin| ("where operators come in", &admin.listen)),
    ];
    let mut taken: Vec<(&str, SocketAddr)> = Vec::new();
    for (what, spot) in listeners.into_iter().flatten() {
        let Some(listen) = spot.value.filter(|listen| listen.port() != 0) else { continue };
        if let Some((other, _)) = taken.iter().find(|(_, address)| *address == listen) {
            diagnostics.report(spot.at, format!("{listen} is {other}"), "give it a port of its own, as 8090");
        }
        taken.push((what, listen));
    }
}

fn check_connections(connections: &Connections, diagnostics: &Diagnostics) {
    for count in [&connections.max, &connections.max_per_address] {
        if let Some(number) = count.value.filter(|number| !(1..=MAX_CONNECTIONS).contains(number)) {
            let help =
                format!("choose 1 to {MAX_CONNECTIONS}; 16384 in all and 4096 from one address are usual");
            diagnostics.report(count.at, format!("at most {number} connections"), help);
        }
    }
    let Connections { head_timeout, body_timeout, write_timeout, idle_timeout, .. } = connections;
    for timeout in [head_timeout, body_timeout, write_timeout, idle_timeout] {
        if timeout.value == Some(DurationMs(0)) {
            diagnostics.report(
                timeout.at,
                "nothing can be done in no time",
                "write at least 1ms; 10s is usual",
            );
        }
    }
    check_size(&connections.max_head, MIN_HEAD, diagnostics);
    check_size(&connections.max_body, 1, diagnostics);
}

fn check_size(size: &Spanned<Bytes>, least: u64, diagnostics: &Diagnostics) {
    if let Some(Bytes(bytes)) = size.value.filter(|size| !(least..=MAX_BYTES).contains(&size.0)) {
        let help = format!("choose {least} bytes to 16MiB; 64KiB is usual");
        diagnostics.report(size.at, format!("at most {bytes} bytes of a request"), help);
    }
}

//! Where a needed attribute comes from in the lines of one file.

use std::io::Write;

use slidegate::http::{host_name, target_path};

use super::LineFields;
use super::escape::{quote_end, unescape};
use crate::access_log::address::ClientAddress;
use crate::access_log::format::AccessLogFormat;

/// Field of a line, and what makes an attribute's value of it.
#[derive(Debug)]
pub(in crate::access_log) enum FieldSource {
    /// Method of the request.
    Method,
    /// Path of the request, as the server's own checks take it.
    Path,
    /// Host, without its port and in lower case.
    Host,
    /// Address of the client.
    Address(ClientAddress),
    /// Name of the user.
    RemoteUser,
    /// `Referer`.
    Referer,
    /// `User-Agent`.
    UserAgent,
    /// `X-Forwarded-For` as it is.
    ForwardedFor,
    /// Status code as text.
    Status,
    /// Field `name=value` of lines that have such fields.
    Named(String),
    /// Column or JSON field, by its index.
    Mapped(usize),
    /// None: no line has it.
    Missing,
}

impl FieldSource {
    /// Source of an attribute or a field that every format names alike.
    pub(super) fn of_name(name: &str, address: &ClientAddress) -> Option<Self> {
        Some(match name {
            "method" => Self::Method,
            "path" => Self::Path,
            "host" => Self::Host,
            "ip" | "remote_addr" => Self::Address(address.clone()),
            "remote_user" => Self::RemoteUser,
            "referer" => Self::Referer,
            "user_agent" => Self::UserAgent,
            "x_forwarded_for" => Self::ForwardedFor,
            "status" => Self::Status,
            _ => return None,
        })
    }

    /// Whether lines of a format have this field.
    pub(super) fn is_in(&self, format: AccessLogFormat) -> bool {
        use AccessLogFormat::{AwsAlb, Envoy, Haproxy, TraefikCommon};
        match self {
            Self::Host => format.has_named_fields() || matches!(format, Envoy | AwsAlb),
            Self::RemoteUser => !matches!(format, Envoy | AwsAlb | Haproxy),
            Self::Referer => !matches!(format, Envoy | AwsAlb | Haproxy),
            Self::UserAgent => format != Haproxy,
            Self::ForwardedFor => !matches!(format, TraefikCommon | AwsAlb | Haproxy),
            _ => true,
        }
    }

    /// Appends the value of a line. Nothing if it has none.
    #[inline]
    pub(in crate::access_log) fn append(&mut self, fields: &LineFields<'_>, text: &mut Vec<u8>) {
        let escape = fields.escape;
        match self {
            Self::Method => text.extend_from_slice(fields.method),
            Self::Path => append_path(fields, text),
            Self::Host => append_host(fields, text),
            Self::Address(address) => address.append(fields.peer, fields.forwarded_for, text),
            Self::RemoteUser => text.extend_from_slice(&unescape(fields.remote_user, escape)),
            Self::Referer => text.extend_from_slice(&unescape(fields.referer, escape)),
            Self::UserAgent => text.extend_from_slice(&unescape(fields.user_agent, escape)),
            Self::ForwardedFor => text.extend_from_slice(&unescape(fields.forwarded_for, escape)),
            Self::Status => {
                if let Some(status) = fields.status {
                    // Writing to memory does not fail.
                    let _ = write!(text, "{status}");
                }
            }
            Self::Named(name) => {
                text.extend_from_slice(&unescape(named_field(fields.named, name.as_bytes()), escape));
            }
            Self::Mapped(index) => text.extend_from_slice(&unescape(fields.mapped.get(*index), escape)),
            Self::Missing => {}
        }
    }
}

/// Appends the path of the target. What is not UTF-8 is appended as it is: the line is not read then.
#[inline]
fn append_path(fields: &LineFields<'_>, text: &mut Vec<u8>) {
    let target = unescape(fields.target, fields.target_escape);
    // Of a target that is a path, this is all that `target_path` does.
    let end = memchr::memchr(b'?', &target).unwrap_or(target.len());
    match &target[..end] {
        path @ [b'/', ..] => text.extend_from_slice(path),
        _ if target.is_empty() => {}
        _ => match str::from_utf8(&target) {
            Ok(target) => text.extend_from_slice(target_path(target).as_bytes()),
            Err(_) => text.extend_from_slice(&target),
        },
    }
}

/// Appends the host that the line has, or that of an absolute target.
fn append_host(fields: &LineFields<'_>, text: &mut Vec<u8>) {
    let host = unescape(fields.host, fields.escape);
    let target = unescape(fields.target, fields.target_escape);
    let host = match (&*host, &*target) {
        (b"", [b'/', ..]) => return,
        (b"", target) => str::from_utf8(target).map(authority_of),
        (host, _) => str::from_utf8(host),
    };
    match host {
        Ok(host) => text.extend_from_slice(host_name(host).as_bytes()),
        // The line is not read then.
        Err(_) => text.push(0xff),
    }
}

/// Host and port of an absolute target; empty of others.
fn authority_of(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => {
            rest.split(['/', '?', '#']).next().unwrap_or_default()
        }
        _ => "",
    }
}

/// Value of a field `name=value` or `name="value"` behind the quoted fields. Empty if there is none.
pub(super) fn named_field<'l>(mut fields: &'l [u8], name: &[u8]) -> &'l [u8] {
    loop {
        fields = fields.trim_ascii_start();
        let Some(equals) = memchr::memchr2(b'=', b' ', fields) else { return b"" };
        let (found, rest) = fields.split_at(equals);
        if rest[0] == b' ' {
            fields = rest;
            continue;
        }
        let rest = &rest[1..];
        let (value, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => {
                let Some(end) = quote_end(quoted) else { return b"" };
                (&quoted[..end], &quoted[end + 1..])
            }
            None => rest.split_at(memchr::memchr(b' ', rest).unwrap_or(rest.len())),
        };
        if found == name {
            return if value == b"-" { b"" } else { value };
        }
        fields = after;
    }
}

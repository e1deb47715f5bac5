//! Where a needed attribute comes from in the lines of one file.

use std::fmt::Write;

use slidegate::http::{host_name, target_path};

use super::LineFields;
use super::escape::{Escape, quote_end, unescape};
use crate::access_log::address::ClientAddress;
use crate::access_log::format::AccessLogFormat;
use crate::access_log::report::UnreadableReason;

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
    pub(in crate::access_log) fn append(
        &mut self,
        fields: &LineFields<'_>,
        text: &mut String,
    ) -> Result<(), UnreadableReason> {
        let escape = fields.escape;
        match self {
            Self::Method => append_text(fields.method, escape, text),
            Self::Path => append_path(fields, text),
            Self::Host => append_host(fields, text),
            Self::Address(address) => {
                address.append(fields.peer, fields.forwarded_for, text);
                Ok(())
            }
            Self::RemoteUser => append_text(fields.remote_user, escape, text),
            Self::Referer => append_text(fields.referer, escape, text),
            Self::UserAgent => append_text(fields.user_agent, escape, text),
            Self::ForwardedFor => append_text(fields.forwarded_for, escape, text),
            Self::Status => {
                if let Some(status) = fields.status {
                    // Writing to a string does not fail.
                    let _ = write!(text, "{status}");
                }
                Ok(())
            }
            Self::Named(name) => append_text(named_field(fields.named, name.as_bytes()), escape, text),
            Self::Mapped(index) => append_text(fields.mapped.get(*index), escape, text),
            Self::Missing => Ok(()),
        }
    }
}

/// Appends the text of a field.
#[inline]
fn append_text(field: &[u8], escape: Escape, text: &mut String) -> Result<(), UnreadableReason> {
    text.push_str(&unescape(field, escape)?);
    Ok(())
}

#[inline]
fn append_path(fields: &LineFields<'_>, text: &mut String) -> Result<(), UnreadableReason> {
    if !fields.target.is_empty() {
        text.push_str(target_path(&unescape(fields.target, fields.escape)?));
    }
    Ok(())
}

/// Appends the host that the line has, or that of an absolute target.
fn append_host(fields: &LineFields<'_>, text: &mut String) -> Result<(), UnreadableReason> {
    let host = unescape(fields.host, fields.escape)?;
    if !host.is_empty() {
        text.push_str(&host_name(&host));
    } else if !fields.target.starts_with(b"/") {
        let target = unescape(fields.target, fields.escape)?;
        text.push_str(&host_name(authority_of(&target)));
    }
    Ok(())
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

//! HTTP requests as rules see them, and headers as typed values.

mod client_address;
mod fields;
#[doc(hidden)]
pub mod json;
mod shared_value;
#[doc(hidden)]
pub mod verdict_json;

use std::borrow::Cow;

pub use client_address::client_address;
pub use fields::HeaderFields;

/// Host without its port and in lower case, so that every spelling is under the same rules.
pub fn host_name(host: &str) -> Cow<'_, str> {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Path of a request's target: without the scheme and host that some proxies put before it, and
/// without the query. A `#` stays: not all servers end a path there.
pub fn target_path(target: &str) -> &str {
    // Most targets are a path, which cannot be behind a scheme.
    let absolute = if target.starts_with('/') { None } else { target.split_once("://") };
    let path = match absolute {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => match rest.find(['/', '?', '#']) {
            Some(end) => &rest[end..],
            None => "/",
        },
        _ => target,
    };
    match path.split('?').next() {
        None | Some("") => "/",
        Some(path) => path,
    }
}

//! HTTP requests as rules see them, and headers as typed values.

mod client_address;
mod fields;

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

//! Environment variables of OpenTelemetry that apply here.

use std::path::PathBuf;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::messages::KeyValue;
use crate::config::otlp_error::OtlpError;

const TIMEOUT: Duration = Duration::from_secs(10);
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SERVICE_NAME: &str = "service.name";
const SERVICE_VERSION: &str = "service.version";
const INSTANCE: &str = "service.instance.id";

/// Environment variables of OpenTelemetry.
pub(super) struct Variables {
    /// Whether export is off, whatever the file says.
    pub(super) disabled: bool,
    /// Attributes of this process.
    pub(super) resource: Vec<KeyValue>,
    /// Headers of every message.
    pub(super) headers: HeaderMap,
    /// Time limit of a message.
    pub(super) timeout: Duration,
    /// File with the trusted authorities, instead of those of the system.
    pub(super) certificate: Option<PathBuf>,
}

impl Variables {
    /// Reads the variables. `instance` is the instance id, unless a variable sets it.
    pub(super) fn read(
        get: impl Fn(&'static str) -> Option<String>,
        instance: String,
    ) -> Result<Self, OtlpError> {
        // As OpenTelemetry specifies, an empty variable is unset.
        let get = |name| get(name).filter(|value| !value.is_empty());
        let timeout = get("OTEL_EXPORTER_OTLP_TIMEOUT").map(|text| milliseconds(&text)).transpose()?;
        Ok(Self {
            disabled: get("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")),
            resource: resource(get("OTEL_SERVICE_NAME"), get(RESOURCE).as_deref(), instance)?,
            headers: get(HEADERS).map_or(Ok(HeaderMap::new()), |text| headers(&text))?,
            timeout: timeout.unwrap_or(TIMEOUT),
            certificate: get("OTEL_EXPORTER_OTLP_CERTIFICATE").map(PathBuf::from),
        })
    }
}

fn milliseconds(text: &str) -> Result<Duration, OtlpError> {
    let wrong = OtlpError::Variable {
        name: "OTEL_EXPORTER_OTLP_TIMEOUT",
        why: "expected a number of milliseconds, such as 10000",
    };
    let ms = text.trim().parse().ok().filter(|ms| *ms > 0);
    ms.map(Duration::from_millis).ok_or(wrong)
}

fn resource(
    name: Option<String>,
    variable: Option<&str>,
    instance: String,
) -> Result<Vec<KeyValue>, OtlpError> {
    let mut attributes = pairs(RESOURCE, variable.unwrap_or_default())?;
    if let Some(name) = name {
        attributes.retain(|(key, _)| key != SERVICE_NAME);
        attributes.push((SERVICE_NAME.to_owned(), name));
    }
    let own = [
        (SERVICE_NAME, "slidegate".to_owned()),
        (SERVICE_VERSION, env!("CARGO_PKG_VERSION").to_owned()),
        (INSTANCE, instance),
    ];
    for (key, value) in own {
        if attributes.iter().all(|(other, _)| other != key) {
            attributes.push((key.to_owned(), value));
        }
    }
    Ok(attributes.into_iter().map(|(key, value)| KeyValue::text(&key, value)).collect())
}

fn headers(text: &str) -> Result<HeaderMap, OtlpError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(HEADERS, text)? {
        let name = HeaderName::try_from(name).ok();
        let value = HeaderValue::try_from(value).ok();
        let (Some(name), Some(mut value)) = (name, value) else { return Err(wrong(HEADERS)) };
        // Most of them are secrets.
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

/// Pairs of `name=value,name=value`, with percent-encoded values.
fn pairs(variable: &'static str, text: &str) -> Result<Vec<(String, String)>, OtlpError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let value = percent_decode_str(value).decode_utf8().ok()?;
        (!name.is_empty()).then(|| (name.to_owned(), value.into_owned()))
    };
    parts.map(|part| pair(part).ok_or(wrong(variable))).collect()
}

fn wrong(name: &'static str) -> OtlpError {
    OtlpError::Variable { name, why: "expected name=value pairs, separated by commas" }
}

#[cfg(test)]
mod tests;

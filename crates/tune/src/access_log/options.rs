//! What to read, and how.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use jiff::tz::TimeZone;

use super::error::ReadError;
use super::format::{AccessLogFormat, CombinedServer};

/// Source of log lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogInput {
    /// File, plain or compressed with gzip or zstd.
    File(PathBuf),
    /// Standard input, plain or compressed.
    Stdin,
}

impl LogInput {
    /// Name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }
}

/// Attribute of requests and the field of the log that gives it, as in `--attribute api_key=FIELD`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeField {
    /// Name of the attribute.
    pub attribute: String,
    /// Field: a path such as `request.headers.X-Api-Key` in JSON, a column in CSV, a name elsewhere.
    pub field: String,
}

impl FromStr for AttributeField {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        match text.split_once('=') {
            Some((attribute, field)) if !attribute.is_empty() && !field.is_empty() => {
                Ok(Self { attribute: attribute.to_owned(), field: field.to_owned() })
            }
            _ => Err(ReadError::InvalidAttribute { text: text.to_owned() }),
        }
    }
}

/// What to read, and how.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Logs, merged by time.
    pub inputs: Vec<LogInput>,
    /// Format of all inputs; detected for each from its first lines if `None`.
    pub format: Option<AccessLogFormat>,
    /// Server that wrote logs in the combined format, which says what its stamps mean. nginx if `None`.
    pub combined_server: Option<CombinedServer>,
    /// Time zone of stamps that have none (HAProxy).
    pub timezone: TimeZone,
    /// Fields of attributes whose name is not that of a field.
    pub attributes: Vec<AttributeField>,
    /// Attributes that the visitor reads. Only these are extracted.
    pub needed: Vec<String>,
    /// Networks of proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// How long lines wait to be put in order, by the time in the log.
    pub reorder: Duration,
    /// Most lines that wait. When there are more, the earliest millisecond leaves before its time.
    pub max_reordered_lines: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            format: None,
            combined_server: None,
            timezone: TimeZone::UTC,
            attributes: Vec::new(),
            needed: Vec::new(),
            trusted_proxies: Vec::new(),
            reorder: Duration::from_secs(60),
            max_reordered_lines: 1_000_000,
        }
    }
}

impl ReadOptions {
    /// Field that an attribute was mapped to.
    pub(super) fn field_of(&self, attribute: &str) -> Option<&str> {
        let mapped = self.attributes.iter().find(|mapped| mapped.attribute == attribute)?;
        Some(&mapped.field)
    }
}

//! Fields of JSON and CSV by their names: which one is the time, the method, an attribute.

use std::cmp::Reverse;

use super::LineFields;
use super::escape::Escape;
use super::field_source::FieldSource;
use super::mapped::MappedValues;
use crate::access_log::address::ClientAddress;
use crate::access_log::format::{AccessLogFormat, TimeMeaning};
use crate::access_log::options::ReadOptions;
use crate::access_log::report::UnreadableReason;
use crate::access_log::timestamp::{LogTime, MinuteCache, digits};

/// Names under which well-known loggers write what a request is read from. The one that most lines
/// have is used, and the first of several.
const STARTS: [&str; 6] =
    ["start", "start_ms", "start_time", "StartUTC", "request_creation_time", "started_at"];
const ENDS: [&str; 10] = [
    "msec",
    "end",
    "end_ms",
    "end_time",
    "ts",
    "time",
    "timestamp",
    "@timestamp",
    "time_iso8601",
    "time_local",
];
const DURATIONS: [&str; 9] = [
    "duration_ms",
    "duration_us",
    "duration_ns",
    "Duration",
    "duration",
    "request_time",
    "response_time",
    "elapsed",
    "latency",
];
const STATUSES: [&str; 5] = ["status", "status_code", "DownstreamStatus", "code", "response.status"];
const METHODS: [&str; 5] = ["method", "request_method", "http_method", "RequestMethod", "request.method"];
const TARGETS: [&str; 8] =
    ["path", "uri", "request_uri", "url", "target", "RequestPath", "request.uri", "request.path"];
const HOSTS: [&str; 5] = ["host", "http_host", "server_name", "RequestHost", "request.host"];
const PEERS: [&str; 9] = [
    "ip",
    "remote_addr",
    "remote_ip",
    "client_ip",
    "ClientHost",
    "request.remote_ip",
    "peer",
    "client",
    "remote_address",
];
const FORWARDED: [&str; 3] = ["x_forwarded_for", "http_x_forwarded_for", "request.headers.X-Forwarded-For"];

/// What a field is read as.
#[derive(Clone, Copy, PartialEq, Debug)]
enum FieldRole {
    Time(TimeMeaning),
    /// Duration, and the milliseconds of its unit.
    Duration(f64),
    Status,
    Method,
    Target,
    Host,
    Peer,
    ForwardedFor,
    Attribute,
}

/// How many of a file's names are known before it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::access_log) enum FieldNames {
    /// All: those of a header.
    All,
    /// Those of the first lines.
    Some,
}

/// Whether a stamp has parts of a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::access_log) enum Fraction {
    Present,
    Absent,
}

/// No field is a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::access_log) struct NoTimeField;

impl NoTimeField {
    /// Fields that would be read as the time.
    pub(in crate::access_log) fn names() -> String {
        [&STARTS[..], &ENDS[..]].concat().join(", ")
    }
}

/// Fields that are read, each with its name: a path with dots in JSON.
#[derive(Default, Debug)]
pub(in crate::access_log) struct FieldMap {
    fields: Vec<(String, FieldRole)>,
}

/// Name of a field of the first lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SampleName {
    pub(super) name: String,
    /// Number of lines that have the field.
    pub(super) lines: usize,
    /// Number of the last of them.
    pub(super) last_line: usize,
}

impl SampleName {
    /// Name in the header of a file: all lines have the field.
    pub(super) fn of_header(name: &str) -> Self {
        Self { name: name.to_owned(), lines: 1, last_line: 1 }
    }
}

/// Names that a file has, and that the options map.
struct FieldNaming<'n> {
    names: &'n [SampleName],
    coverage: FieldNames,
    options: &'n ReadOptions,
}

impl FieldNaming<'_> {
    /// Field that a role is mapped to, or the well-known one that most lines have; the first of
    /// several. A spoilt line may have names that no other has.
    fn find(&self, attribute: &str, candidates: &[&str]) -> Option<String> {
        match self.options.field_of(attribute) {
            Some(field) => self.has_mapped(field).then(|| field.to_owned()),
            None => {
                let names = candidates.iter().filter(|name| self.lines(name) > 0);
                names.min_by_key(|name| Reverse(self.lines(name))).map(|name| (*name).to_owned())
            }
        }
    }

    /// Field of the duration, if no less than half of the lines with the time have one, or if it is
    /// mapped.
    fn duration(&self, time: &str) -> Option<String> {
        let is_common = |name: &String| {
            self.options.field_of("duration").is_some() || 2 * self.lines(name) >= self.lines(time)
        };
        self.find("duration", &DURATIONS).filter(is_common)
    }

    /// Field of the time, and what it is the time of: a mapped one, or a well-known one.
    fn time(&self) -> Option<(String, FieldRole)> {
        use TimeMeaning::{End, Start};
        let attributes = [("start", Start), ("end", End), ("time", End)];
        let mapped = attributes.into_iter().find(|(attribute, _)| self.options.field_of(attribute).is_some());
        let candidates = match mapped {
            Some((attribute, meaning)) => vec![(attribute, &[][..], meaning)],
            None => vec![("start", &STARTS[..], Start), ("end", &ENDS[..], End)],
        };
        let role = |(attribute, candidates, meaning)| {
            Some((self.find(attribute, candidates)?, FieldRole::Time(meaning)))
        };
        candidates.into_iter().filter_map(role).min_by_key(|(name, _)| Reverse(self.lines(name)))
    }

    /// Number of the first lines that have a field.
    fn lines(&self, name: &str) -> usize {
        self.names.iter().find(|field| field.name == name).map_or(0, |field| field.lines)
    }

    fn has_mapped(&self, name: &str) -> bool {
        self.coverage == FieldNames::Some || self.lines(name) > 0
    }
}

impl FieldMap {
    /// Map of a file with fields of these names.
    pub(super) fn of_names(
        names: &[SampleName],
        coverage: FieldNames,
        options: &ReadOptions,
        address: &ClientAddress,
    ) -> Result<(Self, Vec<FieldSource>), NoTimeField> {
        let naming = FieldNaming { names, coverage, options };
        let time = naming.time().ok_or(NoTimeField)?;
        let duration = naming.duration(&time.0);
        let mut map = Self { fields: vec![time] };
        if let Some(name) = duration {
            let unit_ms = unit_ms(&name);
            map.fields.push((name, FieldRole::Duration(unit_ms)));
        }
        let sources = map.add_requests(&naming, address);
        Ok((map, sources))
    }

    /// Map of the JSON of a server, which has its times under names of its own.
    pub(super) fn of_server(
        format: AccessLogFormat,
        names: &[SampleName],
        options: &ReadOptions,
        address: &ClientAddress,
    ) -> (Self, Vec<FieldSource>) {
        let times = match format {
            AccessLogFormat::CaddyJson => {
                [("ts", FieldRole::Time(TimeMeaning::End)), ("duration", FieldRole::Duration(1e3))]
            }
            _ => [("StartUTC", FieldRole::Time(TimeMeaning::Start)), ("Duration", FieldRole::Duration(1e-6))],
        };
        let mut map = Self { fields: times.map(|(name, role)| (name.to_owned(), role)).into() };
        let sources = map.add_requests(&FieldNaming { names, coverage: FieldNames::Some, options }, address);
        (map, sources)
    }

    /// Adds the status and what is needed of requests.
    fn add_requests(&mut self, naming: &FieldNaming<'_>, address: &ClientAddress) -> Vec<FieldSource> {
        if let Some(name) = naming.find("status", &STATUSES) {
            self.fields.push((name, FieldRole::Status));
        }
        let needed = naming.options.needed.iter();
        needed.map(|attribute| self.add_attribute(attribute, naming, address)).collect()
    }

    fn add_attribute(
        &mut self,
        attribute: &str,
        naming: &FieldNaming<'_>,
        address: &ClientAddress,
    ) -> FieldSource {
        let (candidates, role, source): (&[&str], _, _) = match attribute {
            "method" => (&METHODS, FieldRole::Method, FieldSource::Method),
            "path" => (&TARGETS, FieldRole::Target, FieldSource::Path),
            "host" => (&HOSTS, FieldRole::Host, FieldSource::Host),
            "ip" => (&PEERS, FieldRole::Peer, FieldSource::Address(address.clone())),
            "status" => return FieldSource::Status,
            name => (&[name][..], FieldRole::Attribute, FieldSource::Mapped(self.fields.len())),
        };
        let Some(name) = naming.find(attribute, candidates) else { return FieldSource::Missing };
        self.fields.push((name, role));
        if role == FieldRole::Peer
            && let Some(name) = naming.find("x_forwarded_for", &FORWARDED)
        {
            self.fields.push((name, FieldRole::ForwardedFor));
        }
        source
    }

    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Names of the fields in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_str())
    }

    /// What the time field is the time of.
    pub(super) fn time_meaning(&self) -> Option<TimeMeaning> {
        self.fields.iter().find_map(|(_, role)| match role {
            FieldRole::Time(meaning) => Some(*meaning),
            _ => None,
        })
    }

    pub(super) fn has_duration(&self) -> bool {
        self.fields.iter().any(|(_, role)| matches!(role, FieldRole::Duration(_)))
    }

    /// Fields of a line by its values.
    pub(super) fn fields<'v>(
        &self,
        values: &'v MappedValues,
        stamps: &mut MinuteCache,
    ) -> Result<(LineFields<'v>, Fraction), UnreadableReason> {
        let mut fields = LineFields::new(0, TimeMeaning::End, Escape::None);
        let (mut time, mut duration_ms) = (None, None);
        for (index, (_, role)) in self.fields.iter().enumerate() {
            let value = values.get(index);
            match role {
                FieldRole::Time(meaning) => {
                    fields.time_meaning = *meaning;
                    time = parse_time(value, stamps);
                }
                FieldRole::Duration(unit_ms) => {
                    duration_ms = Some(parse_duration(value, *unit_ms));
                }
                FieldRole::Status => {
                    fields.status = digits(value).and_then(|status| u16::try_from(status).ok());
                }
                FieldRole::Method => fields.method = value,
                FieldRole::Target => fields.target = value,
                FieldRole::Host => fields.host = value,
                FieldRole::Peer => fields.peer = value,
                FieldRole::ForwardedFor => fields.forwarded_for = value,
                FieldRole::Attribute => {}
            }
        }
        let LogTime { ms, has_fraction } = time.ok_or(UnreadableReason::NoTime)?;
        fields.stamp_ms = ms;
        if let Some(duration_ms) = duration_ms {
            fields.duration_ms = Some(duration_ms.ok_or(UnreadableReason::NoDuration)?);
        }
        fields.mapped = values;
        Ok((fields, if has_fraction { Fraction::Present } else { Fraction::Absent }))
    }
}

/// Milliseconds of a duration's unit by the name of its field: seconds, unless the name says otherwise.
fn unit_ms(name: &str) -> f64 {
    if name.ends_with("_ms") {
        1.0
    } else if name.ends_with("_us") {
        1e-3
    } else if name.ends_with("_ns") || name == "Duration" {
        1e-6
    } else {
        1e3
    }
}

/// Time as RFC 3339, as in the common log format, or as a number since the epoch, whose length says its unit.
fn parse_time(value: &[u8], stamps: &mut MinuteCache) -> Option<LogTime> {
    match value {
        [_, _, _, _, b'-', ..] => stamps.iso(value),
        [_, _, b'/', ..] => stamps.clf(value),
        _ => {
            let whole = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number: f64 = str::from_utf8(value).ok()?.parse().ok()?;
            // Seconds until the year 5138, milliseconds, microseconds, nanoseconds.
            let ms = match whole {
                1..=11 => number * 1e3,
                12..=14 => number,
                15..=17 => number / 1e3,
                18..=19 => number / 1e6,
                _ => return None,
            };
            let has_fraction = whole > 11 || value.contains(&b'.');
            Some(LogTime { ms: ms.round() as u64, has_fraction })
        }
    }
}

/// Duration in milliseconds: a number in the unit of the field, or with a unit of its own, such as `12ms`.
fn parse_duration(value: &[u8], unit_ms: f64) -> Option<u64> {
    let number_bytes = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let number: f64 = str::from_utf8(&value[..number_bytes]).ok()?.parse().ok()?;
    let unit_ms = match &value[number_bytes..] {
        b"" => unit_ms,
        b"s" => 1e3,
        b"ms" => 1.0,
        b"us" | b"\xc2\xb5s" => 1e-3,
        b"ns" => 1e-6,
        _ => return None,
    };
    Some((number * unit_ms).round() as u64)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::access_log::options::AttributeField;

    #[test]
    fn times() {
        let rows = [
            ("2025-11-15T09:46:01.5Z", Some((1_763_199_961_500, true))),
            ("15/Nov/2025:09:46:01 +0000", Some((1_763_199_961_000, false))),
            ("1763199961", Some((1_763_199_961_000, false))),
            ("1763199961.25", Some((1_763_199_961_250, true))),
            ("1763199961250", Some((1_763_199_961_250, true))),
            ("1763199961250000", Some((1_763_199_961_250, true))),
            ("1763199961250000000", Some((1_763_199_961_250, true))),
            ("-1", None),
            ("soon", None),
            ("", None),
        ];
        for (text, expected) in rows {
            let time = parse_time(text.as_bytes(), &mut MinuteCache::new(TimeZone::UTC));
            assert_eq!(time.map(|time| (time.ms, time.has_fraction)), expected, "{text}");
        }
    }

    #[test]
    fn a_mapped_time_is_preferred() {
        let names = ["start_time", "timestamp", "when"].map(SampleName::of_header);
        let rows = [
            ("", Some(("start_time", TimeMeaning::Start))),
            ("time=when", Some(("when", TimeMeaning::End))),
            ("end=timestamp", Some(("timestamp", TimeMeaning::End))),
            ("start=when end=timestamp", Some(("when", TimeMeaning::Start))),
            ("start=missing", None),
        ];
        for (attributes, expected) in rows {
            let attributes = attributes.split_whitespace().map(|text| text.parse().expect("an attribute"));
            let attributes = attributes.collect::<Vec<AttributeField>>();
            let options = ReadOptions { attributes, ..ReadOptions::default() };
            let naming = FieldNaming { names: &names, coverage: FieldNames::All, options: &options };
            let expected = expected.map(|(name, meaning)| (name.to_owned(), FieldRole::Time(meaning)));
            assert_eq!(naming.time(), expected);
        }
    }

    /// A spoilt line may look as if the file had other fields.
    #[test]
    fn fields_are_those_that_most_lines_have() {
        use TimeMeaning::{End, Start};
        // Fields with their number of lines; the time, its meaning and the duration.
        let rows = [
            ("timestamp=90 time=1 start_time=1", "timestamp", End, None),
            ("start_time=90 timestamp=90", "start_time", Start, None),
            ("time=90 duration=1", "time", End, None),
            ("time=90 duration=1 request_time=90", "time", End, Some("request_time")),
        ];
        for (fields, time, meaning, duration) in rows {
            let name = |field: &str| {
                let (name, lines) = field.split_once('=').expect("a number");
                SampleName { lines: lines.parse().expect("a number"), ..SampleName::of_header(name) }
            };
            let names: Vec<SampleName> = fields.split(' ').map(name).collect();
            let options = ReadOptions::default();
            let naming = FieldNaming { names: &names, coverage: FieldNames::Some, options: &options };
            assert_eq!(naming.time(), Some((time.to_owned(), FieldRole::Time(meaning))), "{fields:?}");
            assert_eq!(naming.duration(time).as_deref(), duration, "{fields:?}");
        }
    }

    #[test]
    fn durations() {
        let rows = [
            ("0.3", 1e3, Some(300)),
            ("300", 1.0, Some(300)),
            ("300123", 1e-3, Some(300)),
            ("12ms", 1e3, Some(12)),
            ("1.5s", 1.0, Some(1500)),
            ("900µs", 1.0, Some(1)),
            ("-1", 1.0, None),
            ("5 min", 1.0, None),
            ("", 1.0, None),
        ];
        for (text, unit_ms, expected) in rows {
            assert_eq!(parse_duration(text.as_bytes(), unit_ms), expected, "{text}");
        }
    }
}

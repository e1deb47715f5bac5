//! Parser of the lines of one file.
//!
//! A parser finds the fields of a line without copying them; [`LineBatch::push`] copies the values of
//! needed attributes.

mod alb;
mod combined;
mod csv;
mod envoy;
mod escape;
pub(super) mod field_map;
pub(super) mod field_source;
mod haproxy;
mod json;
mod mapped;
mod request_line;
mod traefik;

use jiff::tz::TimeZone;

use csv::CsvColumns;
use escape::Escape;
use field_map::{FieldMap, FieldNames, Fraction, NoTimeField, SampleName};
use field_source::FieldSource;
use mapped::{MappedValues, NO_VALUES};

use super::address::ClientAddress;
use super::format::{AccessLogFormat, FileFacts, TimeMeaning, TimeUnit};
use super::line_batch::LineBatch;
use super::options::ReadOptions;
use super::report::UnreadableReason;
use super::timestamp::MinuteCache;

/// Fields of a line. Empty ones are missing.
pub(super) struct LineFields<'l> {
    /// Stamp as Unix milliseconds.
    pub(super) stamp_ms: u64,
    /// What the stamp is the time of.
    pub(super) time_meaning: TimeMeaning,
    pub(super) duration_ms: Option<u64>,
    pub(super) status: Option<u16>,
    pub(super) method: &'l [u8],
    /// Target of the request: a path with its query, or an absolute URI.
    pub(super) target: &'l [u8],
    pub(super) host: &'l [u8],
    pub(super) peer: &'l [u8],
    pub(super) remote_user: &'l [u8],
    pub(super) forwarded_for: &'l [u8],
    pub(super) referer: &'l [u8],
    pub(super) user_agent: &'l [u8],
    /// Fields `name=value`.
    pub(super) named: &'l [u8],
    /// Columns or JSON fields of attributes.
    pub(super) mapped: &'l MappedValues,
    pub(super) escape: Escape,
    /// Escape of the target: none, if there is nothing escaped in it.
    pub(super) target_escape: Escape,
}

impl<'l> LineFields<'l> {
    /// Fields of a line with a stamp only.
    fn new(stamp_ms: u64, time_meaning: TimeMeaning, escape: Escape) -> Self {
        Self {
            stamp_ms,
            time_meaning,
            duration_ms: None,
            status: None,
            method: b"",
            target: b"",
            host: b"",
            peer: b"",
            remote_user: b"",
            forwarded_for: b"",
            referer: b"",
            user_agent: b"",
            named: b"",
            mapped: &NO_VALUES,
            escape,
            target_escape: escape,
        }
    }

    /// Start: the stamp, or the end minus the duration.
    #[inline]
    pub(super) fn start_ms(&self) -> u64 {
        match (self.time_meaning, self.duration_ms) {
            (TimeMeaning::End, Some(duration_ms)) => self.stamp_ms.saturating_sub(duration_ms),
            _ => self.stamp_ms,
        }
    }
}

/// Fields behind the request line that are worth the search for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QuotedFields {
    /// Some of them are needed.
    Needed,
    /// None is.
    Skipped,
}

/// Parser of the lines of one file.
pub(super) struct LineParser {
    facts: FileFacts,
    stamps: MinuteCache,
    sources: Vec<FieldSource>,
    quoted_fields: QuotedFields,
    /// Fields by their names, of JSON and CSV.
    map: FieldMap,
    csv: CsvColumns,
    values: MappedValues,
    /// Whether the next line is the header of a CSV file.
    expects_header: bool,
}

impl LineParser {
    /// Parser for a file of this format. The first lines say which fields JSON and CSV have.
    pub(super) fn new(
        format: AccessLogFormat,
        first_lines: &[u8],
        options: &ReadOptions,
    ) -> Result<Self, NoTimeField> {
        let address = ClientAddress::new(&options.trusted_proxies);
        let (mut time_meaning, time_unit, mut has_duration) = format.stamps();
        let header = if format == AccessLogFormat::Csv { csv::header(first_lines) } else { Vec::new() };
        let (map, sources) = match format {
            AccessLogFormat::Csv => {
                let names: Vec<_> = header.iter().map(|name| SampleName::of_header(name)).collect();
                FieldMap::of_names(&names, FieldNames::All, options, &address)?
            }
            AccessLogFormat::JsonLines => {
                FieldMap::of_names(&json::names(first_lines), FieldNames::Some, options, &address)?
            }
            AccessLogFormat::CaddyJson | AccessLogFormat::TraefikJson => {
                FieldMap::of_server(format, &json::names(first_lines), options, &address)
            }
            _ => (FieldMap::default(), text_sources(format, options, &address)),
        };
        if let Some(found) = map.time_meaning() {
            (time_meaning, has_duration) = (found, map.has_duration());
        }
        let missing = options.needed.iter().zip(&sources);
        let missing = missing.filter(|(_, source)| matches!(source, FieldSource::Missing));
        let facts = FileFacts {
            format,
            is_server_assumed: format == AccessLogFormat::NginxCombined
                && options.combined_server.is_none()
                && options.format.is_none(),
            time_meaning,
            time_unit,
            has_duration,
            missing_attributes: missing.map(|(name, _)| name.clone()).collect(),
        };
        let zone = if format == AccessLogFormat::Haproxy { options.timezone.clone() } else { TimeZone::UTC };
        let mut parser = Self {
            facts,
            stamps: MinuteCache::new(zone),
            quoted_fields: quoted_fields(format, &sources, options),
            sources,
            csv: CsvColumns::new(&header, &map),
            map,
            values: MappedValues::default(),
            expects_header: format == AccessLogFormat::Csv,
        };
        if matches!(format, AccessLogFormat::Csv | AccessLogFormat::JsonLines) {
            parser.facts.time_unit = parser.observed_unit(first_lines);
        }
        Ok(parser)
    }

    /// Expects the first line again.
    pub(super) fn restart(&mut self) {
        self.expects_header = self.facts.format == AccessLogFormat::Csv;
    }

    pub(super) fn facts(&self) -> &FileFacts {
        &self.facts
    }

    /// Parses a line without its end and adds it to a batch.
    #[inline]
    pub(super) fn parse(&mut self, line: &[u8], batch: &mut LineBatch) -> Result<(), UnreadableReason> {
        use AccessLogFormat::{
            ApacheCombined, ApacheTimed, AwsAlb, CaddyJson, Csv, Envoy, Haproxy, JsonLines, NginxCombined,
            NginxTimed, TraefikCommon, TraefikJson,
        };
        let (stamps, quoted) = (&mut self.stamps, self.quoted_fields);
        let fields = match self.facts.format {
            NginxCombined => combined::parse(line, stamps, TimeMeaning::End, quoted)?,
            ApacheCombined => combined::parse(line, stamps, TimeMeaning::Start, quoted)?,
            NginxTimed => combined::parse_timed(line, stamps, quoted)?,
            ApacheTimed => combined::parse_named_times(line, stamps)?,
            TraefikCommon => traefik::parse(line, stamps, quoted)?,
            Envoy => envoy::parse(line, stamps)?,
            Haproxy => haproxy::parse(line, stamps)?,
            AwsAlb => alb::parse(line, stamps)?,
            CaddyJson | TraefikJson | Csv | JsonLines => {
                if std::mem::take(&mut self.expects_header) {
                    return Ok(());
                }
                self.collect(line)?;
                self.map.fields(&self.values, &mut self.stamps)?.0
            }
        };
        batch.push(&fields, &mut self.sources)
    }

    /// Finds the values of a line of JSON or CSV.
    fn collect(&mut self, line: &[u8]) -> Result<(), UnreadableReason> {
        self.values.restart(self.map.len());
        match self.facts.format {
            AccessLogFormat::Csv => self.csv.collect(line, &mut self.values),
            _ => json::collect(line, &self.map, &mut self.values),
        }
    }

    /// Unit of the stamps of the first lines: whole seconds if none has parts of a second.
    fn observed_unit(&mut self, first_lines: &[u8]) -> TimeUnit {
        let header = usize::from(self.expects_header);
        let mut unit = TimeUnit::Millisecond;
        for line in first_lines.split(|byte| *byte == b'\n').skip(header) {
            if self.collect(line.trim_ascii_end()).is_err() {
                continue;
            }
            match self.map.fields(&self.values, &mut self.stamps) {
                Ok((_, Fraction::Present)) => return TimeUnit::Millisecond,
                Ok((_, Fraction::Absent)) => unit = TimeUnit::Second,
                Err(_) => {}
            }
        }
        unit
    }
}

/// Sources of needed attributes in lines of text.
fn text_sources(format: AccessLogFormat, options: &ReadOptions, address: &ClientAddress) -> Vec<FieldSource> {
    let source = |needed: &String| {
        let field = options.field_of(needed).unwrap_or(needed);
        match FieldSource::of_name(field, address) {
            Some(source) if source.is_in(format) => source,
            None if format.has_named_fields() => FieldSource::Named(field.to_owned()),
            _ => FieldSource::Missing,
        }
    };
    options.needed.iter().map(source).collect()
}

/// Whether what is behind the request line is needed.
fn quoted_fields(format: AccessLogFormat, sources: &[FieldSource], options: &ReadOptions) -> QuotedFields {
    use FieldSource::{Address, ForwardedFor, Host, Named, Referer, UserAgent};
    let is_behind = |source: &FieldSource| match source {
        Host | Referer | UserAgent | ForwardedFor | Named(_) => true,
        Address(_) => !options.trusted_proxies.is_empty(),
        _ => false,
    };
    if format == AccessLogFormat::ApacheTimed || sources.iter().any(is_behind) {
        QuotedFields::Needed
    } else {
        QuotedFields::Skipped
    }
}

/// Format of a line, the `index`-th of its file.
pub(super) fn detect_line(line: &[u8], index: usize, stamps: &mut MinuteCache) -> Option<AccessLogFormat> {
    if line.starts_with(b"{") {
        return json::detect(line);
    }
    if line.starts_with(b"[") {
        return envoy::parse(line, stamps).is_ok().then_some(AccessLogFormat::Envoy);
    }
    if let Ok(combined::LineStart { rest, .. }) = combined::start(line, stamps) {
        return Some(if traefik::duration_ms(rest).is_some() {
            AccessLogFormat::TraefikCommon
        } else if combined::has_named_times(rest) {
            AccessLogFormat::ApacheTimed
        } else if combined::is_timed(rest) {
            AccessLogFormat::NginxTimed
        } else {
            AccessLogFormat::NginxCombined
        });
    }
    if haproxy::find_stamp(line).is_some() {
        return Some(AccessLogFormat::Haproxy);
    }
    if alb::parse(line, stamps).is_ok() {
        return Some(AccessLogFormat::AwsAlb);
    }
    let is_header = index == 0 && line.contains(&b',') && !line.contains(&b'[');
    is_header.then_some(AccessLogFormat::Csv)
}

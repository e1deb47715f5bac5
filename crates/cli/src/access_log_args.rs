//! Arguments of commands that read access logs.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use ipnet::IpNet;
use slidegate::policy::format::parse_duration;
use slidegate_tune::access_log::{
    AccessLogFormat, AttributeField, CombinedServer, Directive, LogInput, ReadOptions, TimeZone,
    parse_time_zone,
};

use crate::flag_value::parse;

/// Logs, and how they are read.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct AccessLogArgs {
    /// Access logs, plain or compressed with gzip or zstd; `-` reads standard input. Several files
    /// are merged by time.
    #[arg(value_name = "LOG", required_unless_present = "formats")]
    pub(crate) logs: Vec<PathBuf>,
    /// Format of the logs, such as nginx, caddy or csv. Default: detected from the first lines.
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<AccessLogFormat>,
    /// Print what to configure in each server for logs with milliseconds and durations.
    #[arg(long)]
    pub(crate) formats: bool,
    /// Server that wrote logs in the combined format: nginx logs the end of a request, Apache its
    /// start. Default: nginx.
    #[arg(long, value_enum)]
    server: Option<LogServer>,
    /// Time zone of times that have none (HAProxy), and of times in the report.
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = time_zone, allow_hyphen_values = true)]
    pub(crate) timezone: TimeZone,
    /// Field of the log that gives an attribute, such as api_key=request.headers.X-Api-Key or
    /// time=timestamp. Repeatable.
    #[arg(long, value_name = "NAME=FIELD", value_parser = attribute)]
    attribute: Vec<AttributeField>,
    /// Networks of proxies whose X-Forwarded-For is trusted. Repeatable.
    #[arg(long, value_name = "NETWORK", value_parser = parse::<IpNet>)]
    trusted_proxies: Vec<IpNet>,
    /// How long lines wait to be put in order, by the time in the log.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    reorder: Duration,
}

/// Servers with the combined format.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum LogServer {
    Nginx,
    Apache,
}

impl AccessLogArgs {
    /// Options of reading, for a visitor that needs these attributes.
    pub(crate) fn options(&self, needed: Vec<String>) -> ReadOptions {
        let input = |path: &PathBuf| match path.as_os_str() == OsStr::new("-") {
            true => LogInput::Stdin,
            false => LogInput::File(path.clone()),
        };
        ReadOptions {
            inputs: self.logs.iter().map(input).collect(),
            format: self.format,
            combined_server: self.server.map(|server| match server {
                LogServer::Nginx => CombinedServer::Nginx,
                LogServer::Apache => CombinedServer::Apache,
            }),
            timezone: self.timezone.clone(),
            attributes: self.attribute.clone(),
            needed,
            trusted_proxies: self.trusted_proxies.clone(),
            reorder: self.reorder,
            ..ReadOptions::default()
        }
    }

    /// What to configure in each server, as text.
    pub(crate) fn directives() -> String {
        let one = |directive: &Directive| {
            let text = directive.text.trim_end();
            let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
            format!("{}: {}\n{lines}", directive.server, directive.note)
        };
        AccessLogFormat::directives().iter().map(one).collect::<Vec<_>>().join("\n")
    }
}

/// Help for a log with whole seconds: what its server should log, or what else to do.
pub(crate) fn milliseconds_help(format: AccessLogFormat, otherwise: &str) -> String {
    let help = format!("log milliseconds (`slidegate replay --formats` prints how), or {otherwise}");
    match format.directive() {
        Some(Directive { server, fields, text, .. }) => {
            format!("{help}. In {server}, log {fields}:\n\n{}", text.trim_end())
        }
        None => help,
    }
}

/// Fields that servers should log: `$msec $request_time`.
pub(crate) fn log_fields(directives: &[&Directive]) -> String {
    directives.iter().map(|directive| directive.fields).collect::<Vec<_>>().join(" or ")
}

fn format(text: &str) -> Result<AccessLogFormat, String> {
    text.parse().map_err(|error: slidegate_tune::access_log::UnknownFormat| error.to_string())
}

fn attribute(text: &str) -> Result<AttributeField, String> {
    text.parse().map_err(|error: slidegate_tune::access_log::ReadError| error.to_string())
}

fn time_zone(text: &str) -> Result<TimeZone, String> {
    parse_time_zone(text).map_err(|error| error.to_string())
}

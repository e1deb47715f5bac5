//! Formats: their names, what their stamps mean, and how to make servers log what is read best.

use std::fmt;
use std::str::FromStr;

/// Format of an access log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AccessLogFormat {
    /// `combined` of nginx, with or without `"$http_x_forwarded_for"`.
    NginxCombined,
    /// `combined` of Apache.
    ApacheCombined,
    /// `combined` followed by `$msec $request_time`: see [`AccessLogFormat::directives`].
    NginxTimed,
    /// `combined` followed by `start_ms=… duration_us=…`: see [`AccessLogFormat::directives`].
    ApacheTimed,
    /// Traefik's default, the common log format.
    TraefikCommon,
    /// Traefik's JSON.
    TraefikJson,
    /// Envoy's default.
    Envoy,
    /// HAProxy's `option httplog`.
    Haproxy,
    /// Caddy's JSON.
    CaddyJson,
    /// Load balancers for applications of AWS.
    AwsAlb,
    /// Comma-separated values with a header.
    Csv,
    /// A JSON object per line.
    JsonLines,
}

/// Server that wrote a log in the combined format.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CombinedServer {
    /// nginx, which stamps the end of a request.
    #[default]
    Nginx,
    /// Apache, which stamps its start.
    Apache,
}

/// What a stamp is the time of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeMeaning {
    /// Start of the request.
    Start,
    /// End of the request.
    End,
}

/// Unit of stamps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TimeUnit {
    /// Milliseconds, or finer.
    Millisecond,
    /// Whole seconds: the order of lines says more.
    Second,
}

/// What is known of the lines of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFacts {
    /// Format.
    pub format: AccessLogFormat,
    /// Whether nginx was assumed of lines that Apache writes alike.
    pub is_server_assumed: bool,
    /// What stamps are the time of.
    pub time_meaning: TimeMeaning,
    /// Unit of stamps.
    pub time_unit: TimeUnit,
    /// Whether lines have a duration.
    pub has_duration: bool,
    /// Needed attributes that no field gives.
    pub missing_attributes: Vec<String>,
}

impl FileFacts {
    /// Whether the start of a request is known, to the unit: it is stamped, or the end and the duration are.
    pub fn has_start(&self) -> bool {
        self.time_meaning == TimeMeaning::Start || self.has_duration
    }
}

impl fmt::Display for FileFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = match self.time_meaning {
            TimeMeaning::Start => "START",
            TimeMeaning::End => "END",
        };
        let unit = match self.time_unit {
            TimeUnit::Millisecond => "milliseconds",
            TimeUnit::Second => "whole seconds",
        };
        let duration = if self.has_duration { "with duration" } else { "no duration" };
        write!(f, "{}: time is the {meaning}, {unit}, {duration}", self.format)
    }
}

/// What to write into a server's configuration for logs with starts in milliseconds and durations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Directive {
    /// Server.
    pub server: &'static str,
    /// What its log has then, or has anyway.
    pub note: &'static str,
    /// What its default log lacks; empty where that suffices.
    pub fields: &'static str,
    /// Text of the configuration; empty where the default does.
    pub text: &'static str,
}

const NAMES: [(AccessLogFormat, &str, &str); 12] = [
    (AccessLogFormat::NginxCombined, "nginx", "nginx combined"),
    (AccessLogFormat::ApacheCombined, "apache", "Apache combined"),
    (AccessLogFormat::NginxTimed, "nginx-timed", "nginx combined with $msec $request_time"),
    (AccessLogFormat::ApacheTimed, "apache-timed", "Apache combined with start_ms and duration_us"),
    (AccessLogFormat::TraefikCommon, "traefik", "Traefik CLF"),
    (AccessLogFormat::TraefikJson, "traefik-json", "Traefik JSON"),
    (AccessLogFormat::Envoy, "envoy", "Envoy default"),
    (AccessLogFormat::Haproxy, "haproxy", "HAProxy httplog"),
    (AccessLogFormat::CaddyJson, "caddy", "Caddy JSON"),
    (AccessLogFormat::AwsAlb, "alb", "AWS ALB"),
    (AccessLogFormat::Csv, "csv", "CSV"),
    (AccessLogFormat::JsonLines, "json", "JSON lines"),
];

const DIRECTIVES: [Directive; 7] = [
    Directive {
        server: "nginx",
        note: "read as nginx-timed: ends and durations in milliseconds",
        fields: "$msec $request_time",
        text: r#"log_format slidegate
    '$remote_addr - $remote_user [$time_local] "$request" $status '
    '$body_bytes_sent "$http_referer" "$http_user_agent" '
    '"$http_x_forwarded_for" host="$host" $msec $request_time';
access_log /var/log/nginx/access.log slidegate;
"#,
    },
    Directive {
        server: "Apache",
        note: "read as apache-timed: starts in milliseconds, durations in microseconds",
        fields: "%{begin:msec}t %D",
        text: r#"LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" \"%{X-Forwarded-For}i\" host=\"%{Host}i\" start_ms=%{begin:msec}t duration_us=%D" slidegate
CustomLog logs/access.log slidegate
"#,
    },
    Directive {
        server: "Traefik",
        note: "read as traefik-json: starts and durations in nanoseconds",
        fields: "JSON",
        text: "accessLog:\n  format: json\n",
    },
    Directive {
        server: "HAProxy",
        note: "read as haproxy: starts and durations in milliseconds, in the time zone of the machine",
        fields: "",
        text: "option httplog\n",
    },
    Directive {
        server: "Envoy",
        note: "the default: starts and durations in milliseconds",
        fields: "",
        text: "",
    },
    Directive { server: "Caddy", note: "the default of log: ends and durations", fields: "", text: "log\n" },
    Directive {
        server: "AWS ALB",
        note: "the default: starts and durations in microseconds",
        fields: "",
        text: "",
    },
];

impl AccessLogFormat {
    /// Formats.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(format, ..)| *format)
    }

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        self.names().1
    }

    /// Configuration of each server for logs with starts in milliseconds and durations.
    pub fn directives() -> &'static [Directive] {
        &DIRECTIVES
    }

    /// Configuration that makes the server of a log with whole seconds log milliseconds and durations.
    /// `None` if the format has milliseconds, or any program may have written it.
    pub fn directive(self) -> Option<&'static Directive> {
        let server = match self {
            Self::NginxCombined => "nginx",
            Self::ApacheCombined => "Apache",
            Self::TraefikCommon => "Traefik",
            _ => return None,
        };
        DIRECTIVES.iter().find(|directive| directive.server == server)
    }

    fn names(self) -> (Self, &'static str, &'static str) {
        // Every format has a row, which a test checks.
        NAMES.into_iter().find(|(format, ..)| *format == self).unwrap_or(NAMES[0])
    }

    /// Whether lines may have fields `name=value`, such as `host="example.org"`.
    pub(super) fn has_named_fields(self) -> bool {
        matches!(self, Self::NginxCombined | Self::ApacheCombined | Self::NginxTimed | Self::ApacheTimed)
    }

    /// What stamps are the time of, their unit, and whether lines have a duration, where the format alone
    /// says it.
    pub(super) fn stamps(self) -> (TimeMeaning, TimeUnit, bool) {
        use TimeMeaning::{End, Start};
        use TimeUnit::{Millisecond, Second};
        match self {
            Self::NginxCombined => (End, Second, false),
            Self::ApacheCombined => (Start, Second, false),
            Self::TraefikCommon => (Start, Second, true),
            Self::NginxTimed | Self::CaddyJson => (End, Millisecond, true),
            Self::ApacheTimed | Self::TraefikJson | Self::Envoy | Self::Haproxy | Self::AwsAlb => {
                (Start, Millisecond, true)
            }
            Self::Csv | Self::JsonLines => (End, Millisecond, false),
        }
    }
}

impl fmt::Display for AccessLogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().2)
    }
}

/// Name that is not one of a format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown log format `{name}`: must be one of {}", NAMES.map(|(_, name, _)| name).join(", "))]
pub struct UnknownFormat {
    name: String,
}

impl FromStr for AccessLogFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let named = NAMES.iter().find(|(_, name, _)| *name == text);
        named.map(|(format, ..)| *format).ok_or_else(|| UnknownFormat { name: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name() {
        for format in AccessLogFormat::all() {
            assert_eq!(format.names().0, format);
            assert_eq!(format.name().parse(), Ok(format));
        }
    }

    /// A log with whole seconds has a remedy, where its server is known.
    #[test]
    fn whole_seconds_have_a_directive() {
        for format in AccessLogFormat::all() {
            let has_seconds = format.stamps().1 == TimeUnit::Second;
            assert_eq!(format.directive().is_some(), has_seconds, "{format}");
            let last = |text: &str| text.rsplit(' ').next().map(str::to_owned);
            if let Some(directive) = format.directive() {
                let field = last(directive.fields).expect("a field").to_lowercase();
                assert!(directive.text.to_lowercase().contains(&field), "{directive:?}");
            }
        }
    }

    const PAGE: &str = include_str!("../../../../docs/access-logs.md");

    /// Cells of the row of a table.
    fn cells(row: &str) -> Vec<&str> {
        row.trim_matches('|').split('|').map(str::trim).collect()
    }

    #[test]
    fn the_page_has_what_is_read_of_every_format() {
        for format in AccessLogFormat::all() {
            let name = format!("`{}`", format.name());
            let mut rows = PAGE.lines().filter(|line| line.starts_with('|')).map(cells);
            let row = rows.find(|row| row.get(1) == Some(&&*name)).unwrap_or_else(|| panic!("no {name}"));
            let (meaning, unit, has_duration) = format.stamps();
            let [_, _, page_meaning, page_unit, page_duration] = row[..] else { panic!("{row:?}") };
            if page_meaning != "by the field" {
                let is_end = page_meaning.replace('*', "").starts_with("the end");
                assert_eq!(is_end, meaning == TimeMeaning::End, "{row:?}");
                assert_eq!(page_unit == "1 s", unit == TimeUnit::Second, "{row:?}");
                assert_eq!(page_duration != "no", has_duration, "{row:?}");
            }
        }
    }

    /// What there is to copy is what `--formats` prints, which tests run in the real servers.
    #[test]
    fn the_page_has_the_directives() {
        for Directive { server, text, .. } in AccessLogFormat::directives() {
            let is_long = text.lines().count() > 1;
            assert_eq!(PAGE.contains(&format!("\n{server}:\n")), is_long, "{server}");
            let block = format!("\n{}\n```\n", text.trim_end());
            assert_eq!(PAGE.contains(&block), is_long, "{server}: {text}");
        }
    }
}

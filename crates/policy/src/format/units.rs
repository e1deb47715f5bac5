//! Percentages, durations, sizes and addresses.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use serde_json::{Value, json};
use slidegate_core::{LimitError, MAX_WINDOW_MS, parse_count, parse_window, window_units};

use super::schema::COUNT;
use super::{Format, Schemas, expected};
use crate::diagnostics::{Diagnostics, quote};
use crate::file::Percent;
use crate::yaml::{Kind, Node};

/// Expected form of a string.
struct TextForm {
    name: &'static str,
    example: &'static str,
}

/// Value that `parse` makes of the text of a scalar. `parse` returns help on how to fix an invalid
/// one.
fn parsed<T>(
    node: &Node,
    TextForm { name, example }: TextForm,
    diagnostics: &Diagnostics,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let Kind::Scalar { text, .. } = &node.kind else {
        expected(node, &format!("a {name}"), &format!("write {example}"), diagnostics);
        return None;
    };
    match parse(text.trim()) {
        Ok(value) => Some(value),
        Err(help) => {
            diagnostics.report(node.at, format!("invalid {name} {}", quote(text)), help);
            None
        }
    }
}

/// Pattern of a window: a unit, optionally with a count.
pub(crate) fn window_pattern() -> String {
    format!("([0-9]+ *)?({})", window_units().collect::<Vec<_>>().join("|"))
}

/// Duration in whole milliseconds: `50ms`, `30s`, `1min`, `2h`, `1day`.
impl Format for Duration {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let form = TextForm { name: "duration", example: "`50ms`, `30s`, `5min`, `2h` or `1day`" };
        parsed(node, form, diagnostics, parse_duration)
    }

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Duration", |_| json!({
            "description": "Duration: a whole number and `ms`, `s`, `min`, `h`, `day` or `week`. Only 0 needs no unit.",
            "anyOf": [{ "type": "string", "pattern": format!("^({}|0)$", window_pattern()) }, { "const": 0 }],
            "examples": ["50ms", "30s", "1min", "2h", "1day"],
        }))
    }
}

/// Duration as in a policy file: `30s`. The error is help on how to fix the text.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match parse_window(text) {
        // Zero needs no unit.
        _ if text == "0" => Ok(Duration::ZERO),
        _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("add a unit: `{text}s` for seconds, `{text}ms` for milliseconds"))
        }
        Ok(duration) if duration.as_millis() <= u128::from(MAX_WINDOW_MS) => Ok(duration),
        Ok(_) | Err(LimitError::WindowTooLong) => Err("the maximum is 1,000 days".to_owned()),
        Err(_) => {
            Err("write a whole number and ms, s, min, h, day or week, as in `50ms` or `30s`".to_owned())
        }
    }
}

impl Format for Percent {
    type Value = Self;

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Percent", |_| {
            json!({
                "description": "Percentage: 0% to 100% with up to two decimals.",
                "type": "string",
                "pattern": r"^([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)%$",
                "examples": ["25%", "0.5%"],
            })
        })
    }

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let form = TextForm { name: "percentage", example: "`25%`" };
        parsed(node, form, diagnostics, |text| {
            let wrong = || "write 0% to 100% with up to two decimals, as in `25%` or `0.5%`".to_owned();
            let number = text.strip_suffix('%').ok_or_else(wrong)?;
            let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
            let digits = |text: &str, most: usize| {
                let fits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
                if fits { text.parse::<u32>().map_err(|_| wrong()) } else { Err(wrong()) }
            };
            let tenths = if decimals.len() == 1 { 10 } else { 1 };
            let share = digits(whole, 3)? * 100 + digits(decimals, 2)? * tenths;
            if share <= 10_000 { Ok(Self(share)) } else { Err(wrong()) }
        })
    }
}

/// Size in bytes: `64KiB`, `256MiB`, `1GiB`, or a plain number.
#[derive(Debug)]
pub struct Size;

impl Format for Size {
    type Value = usize;

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Size", |_| json!({
            "description": "Size: a whole number and `KiB`, `MiB`, `GiB` or `TiB`; in bytes without a unit.",
            "type": ["string", "integer"],
            "minimum": 1,
            "pattern": format!("^{COUNT} *(KiB|MiB|GiB|TiB)?$"),
            "examples": ["256MiB", "1GiB", 65536],
        }))
    }

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<usize> {
        const UNITS: [(&str, u32); 5] = [("", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
        let form = TextForm { name: "size", example: "`256MiB`" };
        parsed(node, form, diagnostics, |text| {
            let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'_').count();
            let (count, unit) = text.split_at(digits);
            let shift = UNITS.iter().find(|(name, _)| *name == unit.trim_start()).map(|(_, shift)| shift);
            let bytes =
                parse_count(count).ok().zip(shift).and_then(|(count, shift)| count.checked_mul(1 << shift));
            match bytes {
                Some(bytes @ 1..) => Ok(usize::try_from(bytes).unwrap_or(usize::MAX)),
                _ => {
                    Err("write a whole number and KiB, MiB, GiB or TiB, as in `256MiB`; without a unit it is in bytes"
                        .to_owned())
                }
            }
        })
    }
}

impl Format for SocketAddr {
    type Value = Self;

    fn schema(_: &mut Schemas) -> Value {
        json!({
            "title": "address and port",
            "type": "string",
            "pattern": r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]+(%[0-9]+)?\]):[0-9]{1,5}$",
        })
    }

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let form = TextForm { name: "socket address", example: "`127.0.0.1:8080`" };
        parsed(node, form, diagnostics, |text| {
            let help =
                "write an IP address and a port, as in `127.0.0.1:8080`, `[::1]:8080` or `0.0.0.0:8080`";
            text.parse().map_err(|_| help.to_owned())
        })
    }
}

/// A single address is a network of one.
impl Format for IpNet {
    type Value = Self;

    fn schema(_: &mut Schemas) -> Value {
        json!({
            "title": "addresses or CIDR blocks",
            "type": "string",
            "pattern": r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$",
        })
    }

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let form = TextForm { name: "network", example: "`10.0.0.0/8`" };
        parsed(node, form, diagnostics, |text| {
            let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
            let help = "write an address or a CIDR block, as in `10.0.0.0/8` or `fd00::/8`";
            text.parse().ok().or_else(alone).ok_or_else(|| help.to_owned())
        })
    }
}

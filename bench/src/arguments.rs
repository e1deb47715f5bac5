//! Arguments of every benchmark: its parts, its thoroughness and its output format.

use std::process::ExitCode;

use crate::report::Format;

/// The arguments of a measurement.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// Output format.
    pub format: Format,
    /// Thoroughness: the full version or a short one.
    pub thoroughness: Thoroughness,
    /// The parts to measure, in their order.
    pub parts: Vec<&'static str>,
}

/// Thoroughness of a benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thoroughness {
    /// As long as the figures need.
    Full,
    /// Fewer and shorter rounds.
    Quick,
}

impl Thoroughness {
    /// One of two scales.
    pub fn choose<S>(self, full: S, quick: S) -> S {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// Reads the arguments of a program that has these parts; tells how to use it if they make no
/// sense.
pub fn read(program: &str, parts: &[&'static str]) -> Result<Arguments, ExitCode> {
    let (mut format, mut thoroughness, mut only) = (Format::Text, Thoroughness::Full, None);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => format = Format::Json,
            "--quick" => thoroughness = Thoroughness::Quick,
            name if parts.contains(&name) => only = Some(argument),
            _ => {
                eprintln!("usage: {program} [--json] [--quick] [{}]", parts.join(" | "));
                return Err(ExitCode::from(2));
            }
        }
    }
    let parts =
        parts.iter().copied().filter(|part| only.as_deref().is_none_or(|only| only == *part)).collect();
    Ok(Arguments { format, thoroughness, parts })
}

//! Charts as SVG: for reports in HTML, and as pictures of the documentation.
//!
//! A chart is as wide as its place: horizontal positions are percentages, vertical ones are pixels.
//! Text is never scaled, so that it can be read on a phone. Colours are classes: the page, or the
//! style of a picture, gives them for light and dark.
//!
//! ```
//! use slidegate_tune::chart::{Axis, Chart, Mark, Point, Tone};
//!
//! let points = [(0.0, 3.0), (1_000.0, 7.0), (2_000.0, 5.0)].map(|(x, y)| Point { x, y });
//! let chart = Chart {
//!     title: "Requests per second".to_owned(),
//!     summary: "Three seconds, at most 7 requests.".to_owned(),
//!     x: Axis::time(0, 2_000),
//!     y: Axis::counts(7),
//!     marks: vec![Mark::line("requests", Tone::Allowed, points)],
//!     height_px: 160,
//! };
//! assert!(chart.svg().starts_with("<svg"));
//! ```
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `axis` | scales and their ticks |
//! | `mark` | what is drawn: lines, areas, bars, thresholds, dots |
//! | `svg` | a chart as an element of a page |
//! | `picture` | charts as a file, with a title, a legend and colours |
//! | `sparkline` | a timeline in a cell of a table |

mod axis;
mod mark;
mod picture;
mod sparkline;
mod svg;

pub use axis::{Axis, compact};
pub use mark::{Bar, Mark, Point, Tone};
pub use picture::Picture;
pub use sparkline::sparkline;

/// Chart with two axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// What it shows, in a sentence: for readers that do not see it.
    pub summary: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is drawn, from back to front.
    pub marks: Vec<Mark>,
    /// Height, with the labels of the horizontal axis.
    pub height_px: u32,
}

/// Style of the parts of a chart. It expects the colours of [`COLOURS`].
pub const STYLE: &str = include_str!("chart/style.css");

/// Colours for light and dark, as custom properties of the root element.
pub const COLOURS: &str = include_str!("chart/colours.css");

/// Text for an element or an attribute of HTML or SVG. Characters that the format does not have, and
/// those that reorder the text around them, are made visible.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ if crate::printable::is_control(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.extend(c.escape_unicode());
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

//! What a chart draws.

/// Point in the units of the axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// On the horizontal axis.
    pub x: f64,
    /// On the vertical axis.
    pub y: f64,
}

/// Bar from the base to a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Left edge.
    pub from: f64,
    /// Right edge.
    pub to: f64,
    /// Value on the vertical axis.
    pub value: f64,
    /// Colour.
    pub tone: Tone,
    /// Text that appears when somebody points at it.
    pub label: String,
}

/// Colour by meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tone {
    /// Requests, and whatever is not denied.
    Allowed,
    /// Denials.
    Denied,
    /// What would be denied.
    Observed,
    /// For comparison only.
    Muted,
    /// Another series.
    Second,
    /// One more series.
    Third,
}

impl Tone {
    /// Class in the style of charts.
    pub fn class(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Observed => "observed",
            Self::Muted => "muted",
            Self::Second => "second",
            Self::Third => "third",
        }
    }
}

/// What a chart draws.
#[derive(Clone, PartialEq, Debug)]
pub enum Mark {
    /// Line through points.
    Line {
        /// Name in the legend.
        name: String,
        /// Colour.
        tone: Tone,
        /// Points, by their `x`.
        points: Vec<Point>,
    },
    /// Area between a line and the base.
    Area {
        /// Name in the legend.
        name: String,
        /// Colour.
        tone: Tone,
        /// Points, by their `x`.
        points: Vec<Point>,
    },
    /// Bars.
    Bars(Vec<Bar>),
    /// Vertical line at a value, with a label at its top.
    Threshold {
        /// Position on the horizontal axis.
        at: f64,
        /// Label.
        label: String,
    },
    /// Horizontal line at a value, with a label.
    Level {
        /// Position on the vertical axis.
        at: f64,
        /// Label.
        label: String,
    },
    /// Dot with a label.
    Dot {
        /// Position.
        at: Point,
        /// Colour.
        tone: Tone,
        /// Label.
        label: String,
    },
}

impl Mark {
    /// Line through points.
    pub fn line(name: &str, tone: Tone, points: impl IntoIterator<Item = Point>) -> Self {
        Self::Line { name: name.to_owned(), tone, points: points.into_iter().collect() }
    }

    /// Area between a line and the base.
    pub fn area(name: &str, tone: Tone, points: impl IntoIterator<Item = Point>) -> Self {
        Self::Area { name: name.to_owned(), tone, points: points.into_iter().collect() }
    }

    /// Entry of the legend.
    pub(super) fn key(&self) -> Option<(&str, Tone)> {
        match self {
            Self::Line { name, tone, .. } | Self::Area { name, tone, .. } if !name.is_empty() => {
                Some((name, *tone))
            }
            _ => None,
        }
    }
}

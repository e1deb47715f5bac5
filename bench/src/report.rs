//! Tables for people, one object per line for programs.

use std::fmt::Write as _;

/// Bound of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Must {
    /// Upper bound.
    AtMost(f64),
    /// Less than this.
    Below(f64),
    /// Lower bound.
    AtLeast(f64),
}

/// A figure that has to hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Name.
    pub name: String,
    /// Measurements.
    pub figure: f64,
    /// Bound that it has to meet.
    pub must: Must,
}

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Tables.
    Text,
    /// Only the figures with a bar; the tables go to stderr.
    Json,
}

/// Report of a benchmark.
#[derive(Debug)]
pub struct Report {
    format: Format,
    bars: Vec<Bar>,
}

impl Bar {
    /// Whether the figure meets its bound.
    pub fn holds(&self) -> bool {
        match self.must {
            Must::AtMost(most) => self.figure <= most,
            Must::Below(bound) => self.figure < bound,
            Must::AtLeast(least) => self.figure >= least,
        }
    }

    fn must(&self) -> String {
        match self.must {
            Must::AtMost(most) => format!("<= {most}"),
            Must::Below(bound) => format!("< {bound}"),
            Must::AtLeast(least) => format!(">= {least}"),
        }
    }

    /// Line of JSON. Names are our own and need no escaping.
    fn json(&self) -> String {
        let Self { name, figure, .. } = self;
        let (must, holds) = (self.must(), self.holds());
        format!(r#"{{"bar": "{name}", "figure": {figure:.3}, "must": "{must}", "holds": {holds}}}"#)
    }
}

impl Report {
    /// An empty one.
    pub fn new(format: Format) -> Self {
        Self { format, bars: Vec::new() }
    }

    /// A line of text, shown at once.
    pub fn say(&self, line: &str) {
        match self.format {
            Format::Text => println!("{line}"),
            Format::Json => eprintln!("{line}"),
        }
    }

    /// A row of a table: what it is about, and its cells.
    pub fn row(&self, label: &str, cells: &[String]) {
        let mut line = format!("{label:<42}");
        for cell in cells {
            write!(line, "{cell:>18}").expect("a string takes what is written");
        }
        self.say(line.trim_end());
    }

    /// Adds a figure with a bar.
    pub fn bar(&mut self, name: impl Into<String>, figure: f64, must: Must) {
        self.bars.push(Bar { name: name.into(), figure, must });
    }

    /// Writes all figures that have to hold; says whether all of them do.
    pub fn finish(self) -> bool {
        match self.format {
            Format::Text => self.say_bars(),
            Format::Json => self.bars.iter().for_each(|bar| println!("{}", bar.json())),
        }
        self.bars.iter().all(Bar::holds)
    }

    fn say_bars(&self) {
        println!("\n{:<80}{:>10}{:>12}  holds", "bar", "figure", "must");
        for bar in &self.bars {
            let holds = if bar.holds() { "yes" } else { "NO" };
            println!("{:<80}{:>10.3}{:>12}  {holds}", bar.name, bar.figure, bar.must());
        }
    }
}

/// A time and how ours compares with it, as a cell.
pub fn versus(ns: f64, ratio: f64) -> String {
    format!("{ns:.1} ({ratio:.2}x)")
}

/// 1000000 as `1,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Bar, Must};

    #[test]
    fn a_bar_is_one_line_of_json() {
        let bar = Bar { name: "counter, one key".into(), figure: 0.75, must: Must::AtMost(0.75) };
        let line = r#"{"bar": "counter, one key", "figure": 0.750, "must": "<= 0.75", "holds": true}"#;
        assert_eq!(bar.json(), line);
        let bar = Bar { must: Must::Below(0.75), ..bar };
        assert!(!bar.holds());
        let bar = Bar { must: Must::AtLeast(0.75), ..bar };
        assert!(bar.holds());
    }
}

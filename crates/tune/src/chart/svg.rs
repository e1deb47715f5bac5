//! Chart as an SVG element of a page.

use std::fmt::Write;

use super::{Bar, Chart, Mark, Point, Tone, escaped};

/// Space above the plot, for the label of the topmost line.
const TOP_PX: f64 = 16.0;
/// Space below the plot, for the labels of the horizontal axis.
const BOTTOM_PX: f64 = 20.0;
/// Least height of a bar, so that one request among thousands is visible.
const MIN_BAR_PX: f64 = 2.0;
/// Width of the coordinates of a path: they are stretched to the width of the plot.
const PATH_WIDTH: f64 = 1_000.0;

impl Chart {
    /// The chart as an SVG element that is as wide as its place.
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        let label = escaped(&format!("{}. {}", self.title, self.summary));
        let height = self.height_px;
        write(
            &mut svg,
            format_args!(
                "<svg class=\"chart inline\" role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"{height}\">"
            ),
        );
        self.draw(&mut svg);
        svg.push_str("</svg>");
        svg
    }

    /// Everything within the SVG element.
    pub(super) fn draw(&self, svg: &mut String) {
        for tick in &self.y.ticks {
            let (y, class) = (px(self.y_px(tick.at)), if tick.at == 0.0 { "base" } else { "grid" });
            write(svg, format_args!("<line class=\"{class}\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>"));
        }
        for mark in &self.marks {
            self.mark(svg, mark);
        }
        for tick in &self.y.ticks {
            let y = px(self.y_px(tick.at) + 4.0);
            write(
                svg,
                format_args!("<text x=\"-8\" y=\"{y}\" text-anchor=\"end\">{}</text>", escaped(&tick.label)),
            );
        }
        for tick in &self.x.ticks {
            let at = self.x.position(tick.at);
            let y = self.height_px - 4;
            write(
                svg,
                format_args!(
                    "<text x=\"{}\" y=\"{y}\"{}>{}</text>",
                    percent(at),
                    anchor(at),
                    escaped(&tick.label)
                ),
            );
        }
    }

    fn mark(&self, svg: &mut String, mark: &Mark) {
        match mark {
            Mark::Line { tone, points, .. } => self.path(svg, "line", *tone, &self.outline(points)),
            Mark::Area { tone, points, .. } => {
                let Some((first, last)) = points.first().zip(points.last()) else { return };
                let base = px(self.plot_px());
                let (from, to) = (self.path_x(first.x), self.path_x(last.x));
                let outline = self.outline(points).replacen('M', "L", 1);
                self.path(svg, "area", *tone, &format!("M{from} {base}{outline}L{to} {base}Z"));
            }
            Mark::Bars(bars) => bars.iter().for_each(|bar| self.bar(svg, bar)),
            Mark::Threshold { at, label } => {
                let (x, bottom) = (self.x.position(*at), px(TOP_PX + self.plot_px()));
                write(
                    svg,
                    format_args!(
                        "<line class=\"threshold\" x1=\"{0}\" x2=\"{0}\" y1=\"14\" y2=\"{bottom}\"/>",
                        percent(x)
                    ),
                );
                write(
                    svg,
                    format_args!(
                        "<text class=\"strong\" x=\"{}\" y=\"11\"{}>{}</text>",
                        percent(x),
                        anchor(x),
                        escaped(label)
                    ),
                );
            }
            Mark::Level { at, label } => {
                let y = self.y_px(*at);
                write(
                    svg,
                    format_args!("<line class=\"threshold\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>", px(y)),
                );
                write(
                    svg,
                    format_args!(
                        "<text class=\"strong\" x=\"100%\" y=\"{}\" text-anchor=\"end\">{}</text>",
                        px(y - 4.0),
                        escaped(label)
                    ),
                );
            }
            Mark::Dot { at, tone, label } => {
                let (x, y) = (self.x.position(at.x), self.y_px(at.y));
                write(
                    svg,
                    format_args!(
                        "<circle class=\"dot {}\" cx=\"{}\" cy=\"{}\" r=\"5\"/>",
                        tone.class(),
                        percent(x),
                        px(y)
                    ),
                );
                let (anchor, offset) = if x > 0.6 { (" text-anchor=\"end\"", -9) } else { ("", 9) };
                write(
                    svg,
                    format_args!(
                        "<text class=\"strong\" x=\"{}\" dx=\"{offset}\" y=\"{}\"{anchor}>{}</text>",
                        percent(x),
                        px(y - 6.0),
                        escaped(label)
                    ),
                );
            }
        }
    }

    /// A path in coordinates that are stretched horizontally only.
    fn path(&self, svg: &mut String, class: &str, tone: Tone, data: &str) {
        let plot = px(self.plot_px());
        write(
            svg,
            format_args!(
                "<svg y=\"{TOP_PX}\" width=\"100%\" height=\"{plot}\" viewBox=\"0 0 {PATH_WIDTH} {plot}\" preserveAspectRatio=\"none\" overflow=\"visible\">"
            ),
        );
        write(svg, format_args!("<path class=\"{class} {}\" d=\"{data}\"/></svg>", tone.class()));
    }

    fn outline(&self, points: &[Point]) -> String {
        let mut data = String::new();
        for (index, point) in points.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let y = px(self.y_px(point.y) - TOP_PX);
            write(&mut data, format_args!("{command}{} {y}", self.path_x(point.x)));
        }
        data
    }

    fn bar(&self, svg: &mut String, bar: &Bar) {
        let (from, to) = (self.x.position(bar.from), self.x.position(bar.to));
        let mut height = TOP_PX + self.plot_px() - self.y_px(bar.value);
        if bar.value > 0.0 {
            height = height.max(MIN_BAR_PX);
        }
        let (top, height) = (px(TOP_PX + self.plot_px() - height), px(height));
        let (x, width, tone) = (percent(from), percent((to - from) * 0.9), bar.tone.class());
        write(
            svg,
            format_args!(
                "<rect class=\"bar {tone}\" x=\"{x}\" width=\"{width}\" y=\"{top}\" height=\"{height}\">"
            ),
        );
        write(svg, format_args!("<title>{}</title></rect>", escaped(&bar.label)));
    }

    fn plot_px(&self) -> f64 {
        (f64::from(self.height_px) - TOP_PX - BOTTOM_PX).max(1.0)
    }

    fn y_px(&self, value: f64) -> f64 {
        TOP_PX + self.plot_px() * (1.0 - self.y.position(value))
    }

    fn path_x(&self, value: f64) -> String {
        px(self.x.position(value) * PATH_WIDTH)
    }
}

/// Anchor of a label that must not leave the chart.
fn anchor(position: f64) -> &'static str {
    match position {
        ..0.06 => "",
        0.94.. => " text-anchor=\"end\"",
        _ => " text-anchor=\"middle\"",
    }
}

/// Number with at most one decimal.
pub(super) fn px(number: f64) -> String {
    format!("{}", (number * 10.0).round() / 10.0)
}

fn percent(share: f64) -> String {
    format!("{}%", (share * 10_000.0).round() / 100.0)
}

pub(super) fn write(svg: &mut String, text: std::fmt::Arguments<'_>) {
    svg.write_fmt(text).expect("writing to a string does not fail");
}

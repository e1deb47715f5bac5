//! Charts as a file: with a title, a legend, and colours for light and dark.

use super::svg::write;
use super::{COLOURS, Chart, Mark, STYLE, escaped};

const WIDTH_PX: u32 = 720;
const MARGIN_PX: u32 = 16;
/// Width of the labels of the vertical axis.
const LABELS_PX: u32 = 36;
/// Height of the title and the legend.
const HEAD_PX: u32 = 58;
/// Height of the title of a chart.
const CHART_TITLE_PX: u32 = 20;
/// Space below a chart.
const GAP_PX: u32 = 14;
/// Width of a character of the legend, on average.
const CHARACTER_PX: usize = 7;

/// Charts below each other as one SVG file.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Title.
    pub title: String,
    /// What it shows, in sentences: for readers that do not see it.
    pub summary: String,
    /// Charts, from top to bottom.
    pub charts: Vec<Chart>,
}

impl Picture {
    /// The picture as the text of an SVG file.
    pub fn svg(&self) -> String {
        let charts: u32 = self.charts.iter().map(|chart| CHART_TITLE_PX + chart.height_px + GAP_PX).sum();
        let height = HEAD_PX + charts;
        let (title, summary) = (escaped(&self.title), escaped(&self.summary));
        let mut svg = String::new();
        write(
            &mut svg,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" width=\"{WIDTH_PX}\" height=\"{height}\" viewBox=\"0 0 {WIDTH_PX} {height}\">\n<title>{title}</title>\n<desc>{summary}</desc>\n<style>\n{COLOURS}{STYLE}</style>\n"
            ),
        );
        svg.push_str(
            "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"var(--card)\" stroke=\"var(--line)\"/>\n",
        );
        write(
            &mut svg,
            format_args!(
                "<text class=\"strong\" x=\"{MARGIN_PX}\" y=\"24\" font-size=\"14\">{title}</text>\n"
            ),
        );
        self.legend(&mut svg);
        let mut top = HEAD_PX;
        for chart in &self.charts {
            draw(&mut svg, chart, top);
            top += CHART_TITLE_PX + chart.height_px + GAP_PX;
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Names of lines and areas, each once.
    fn legend(&self, svg: &mut String) {
        let mut keys: Vec<_> = Vec::new();
        for key in self.charts.iter().flat_map(|chart| &chart.marks).filter_map(Mark::key) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut x = MARGIN_PX as usize;
        for (name, tone) in keys {
            write(
                svg,
                format_args!(
                    "<rect class=\"key {}\" x=\"{x}\" y=\"36\" width=\"10\" height=\"10\" rx=\"2\"/>",
                    tone.class()
                ),
            );
            write(svg, format_args!("<text x=\"{}\" y=\"45\">{}</text>\n", x + 16, escaped(name)));
            x += 16 + name.chars().count() * CHARACTER_PX + 20;
        }
    }
}

/// A chart below its title, at this height.
fn draw(svg: &mut String, chart: &Chart, top: u32) {
    let (left, width) = (MARGIN_PX + LABELS_PX, WIDTH_PX - 2 * MARGIN_PX - LABELS_PX);
    let (title, title_y) = (escaped(&chart.title), top + 14);
    write(svg, format_args!("<text class=\"strong\" x=\"{MARGIN_PX}\" y=\"{title_y}\">{title}</text>\n"));
    let (chart_y, height) = (top + CHART_TITLE_PX, chart.height_px);
    write(
        svg,
        format_args!(
            "<svg x=\"{left}\" y=\"{chart_y}\" width=\"{width}\" height=\"{height}\" overflow=\"visible\">\n"
        ),
    );
    chart.draw(svg);
    svg.push_str("\n</svg>\n");
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Point, Tone};
    use super::*;

    #[test]
    fn a_name_is_in_the_legend_once() {
        let chart = |title: &str, y| Chart {
            title: title.to_owned(),
            summary: String::new(),
            x: Axis::elapsed(1_000),
            y: Axis::counts(7),
            marks: vec![Mark::area("requests", Tone::Allowed, [Point { x: 0.0, y }])],
            height_px: 100,
        };
        let picture = Picture {
            title: "<two>".to_owned(),
            summary: "Two & more.".to_owned(),
            charts: vec![chart("one", 3.0), chart("other", 7.0)],
        };
        let svg = picture.svg();
        assert_eq!(svg.matches(">requests</text>").count(), 1);
        assert_eq!(svg.matches("<svg").count() - svg.matches("</svg>").count(), 0);
        for expected in ["&lt;two&gt;", "Two &amp; more.", ">one</text>", ">other</text>", "height=\"326\""] {
            assert!(svg.contains(expected), "{expected}\n{svg}");
        }
    }
}

//! Chart as a file: with its title, its legend, and colours for light and dark.

use super::svg::write;
use super::{COLOURS, Chart, STYLE, escaped};

const WIDTH_PX: u32 = 720;
const MARGIN_PX: u32 = 16;
/// Width of the labels of the vertical axis.
const LABELS_PX: u32 = 36;
/// Height of the title and the legend.
const HEAD_PX: u32 = 56;
/// Width of a character of the legend, on average.
const CHARACTER_PX: usize = 7;

impl Chart {
    /// The chart as the text of an SVG file.
    pub fn picture(&self) -> String {
        let height = HEAD_PX + self.height_px + MARGIN_PX;
        let mut svg = String::new();
        let title = escaped(&self.title);
        write(
            &mut svg,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" width=\"{WIDTH_PX}\" height=\"{height}\" viewBox=\"0 0 {WIDTH_PX} {height}\">\n"
            ),
        );
        write(&mut svg, format_args!("<title>{title}</title>\n<desc>{}</desc>\n", escaped(&self.summary)));
        write(
            &mut svg,
            format_args!("<style>\n{COLOURS}{STYLE}.chart {{ background: var(--card); }}\n</style>\n"),
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
        let (left, width) = (MARGIN_PX + LABELS_PX, WIDTH_PX - 2 * MARGIN_PX - LABELS_PX);
        write(
            &mut svg,
            format_args!(
                "<svg class=\"chart\" x=\"{left}\" y=\"{HEAD_PX}\" width=\"{width}\" height=\"{}\" overflow=\"visible\">\n",
                self.height_px
            ),
        );
        self.draw(&mut svg);
        svg.push_str("\n</svg>\n</svg>\n");
        svg
    }

    fn legend(&self, svg: &mut String) {
        let mut x = MARGIN_PX as usize;
        for (name, tone) in self.marks.iter().filter_map(super::Mark::key) {
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

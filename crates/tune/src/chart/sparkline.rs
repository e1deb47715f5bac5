//! Timeline in a cell of a table.

use super::svg::{px, write};
use super::{Tone, escaped};

const WIDTH: f64 = 120.0;
const HEIGHT_PX: f64 = 22.0;

/// Values over time as an SVG element, each by its share of the largest. `label` is for readers that
/// do not see it.
pub fn sparkline(values: &[u64], tone: Tone, label: &str) -> String {
    let mut svg = String::new();
    write(
        &mut svg,
        format_args!(
            "<svg class=\"sparkline\" role=\"img\" aria-label=\"{}\" width=\"100%\" height=\"{HEIGHT_PX}\" viewBox=\"0 0 {WIDTH} {HEIGHT_PX}\" preserveAspectRatio=\"none\">",
            escaped(label)
        ),
    );
    let largest = values.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / values.len().max(1) as f64;
    let mut data = String::new();
    for (index, value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let height = (*value as f64 / largest * (HEIGHT_PX - 2.0)).max(2.0);
        let (x, top, width) = (px(index as f64 * step), px(HEIGHT_PX - height), px(step.max(1.0)));
        write(&mut data, format_args!("M{x} {HEIGHT_PX}V{top}h{width}V{HEIGHT_PX}z"));
    }
    write(&mut svg, format_args!("<path class=\"bar {}\" d=\"{data}\"/></svg>", tone.class()));
    svg
}

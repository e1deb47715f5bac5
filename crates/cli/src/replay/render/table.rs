//! Tables in columns that fit the width of a terminal.

use anstyle::Style;

/// Space between two columns.
const GAP: usize = 2;
/// Least width of a column that is cut.
const LEAST: usize = 8;
const HEAD: Style = Style::new().dimmed();
const LAST: Style = Style::new().dimmed();

/// Side on which a column is flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Text of a cell, with its style.
#[derive(Clone, Debug)]
pub(crate) struct TextCell {
    text: String,
    style: Style,
}

impl TextCell {
    pub(crate) fn styled(text: String, style: Style) -> Self {
        Self { text, style }
    }
}

impl<T: Into<String>> From<T> for TextCell {
    fn from(text: T) -> Self {
        Self::styled(text.into(), Style::new())
    }
}

/// Table with a last column of any width, which is left out where there is no room.
pub(crate) struct TextTable {
    heads: Vec<(String, Align)>,
    last_head: String,
    rows: Vec<(Vec<TextCell>, String)>,
}

impl TextTable {
    pub(crate) fn new(heads: &[(&str, Align)]) -> Self {
        let heads = heads.iter().map(|(text, align)| ((*text).to_owned(), *align)).collect();
        Self { heads, last_head: String::new(), rows: Vec::new() }
    }

    /// The table with a head over the last column.
    pub(crate) fn with_last(self, head: &str) -> Self {
        Self { last_head: head.to_owned(), ..self }
    }

    pub(crate) fn add(&mut self, cells: Vec<TextCell>, last: &str) {
        self.rows.push((cells, last.to_owned()));
    }

    /// The table as lines of at most this width. Left columns are cut where they do not fit.
    pub(crate) fn render(&self, width: usize) -> String {
        let widths = self.widths(width);
        let used: usize = widths.iter().map(|width| width + GAP).sum();
        let last = self.rows.iter().map(|(_, last)| chars(last)).max().unwrap_or(0);
        let has_last = used + last <= width;
        let heads = self.heads.iter().map(|(text, _)| TextCell::styled(text.clone(), HEAD));
        let mut text = self.line(&heads.collect::<Vec<_>>(), &widths, has_last.then_some(&*self.last_head));
        for (cells, last) in &self.rows {
            text.push_str(&self.line(cells, &widths, has_last.then_some(last)));
        }
        text
    }

    /// Width of every column: as needed, and less of the first ones if that is too much.
    fn widths(&self, width: usize) -> Vec<usize> {
        let column = |index: usize| {
            let cells = self.rows.iter().filter_map(|(cells, _)| cells.get(index));
            cells.map(|cell| chars(&cell.text)).chain([chars(&self.heads[index].0)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.heads.len()).map(column).collect();
        for index in 0..widths.len() {
            let used: usize = widths.iter().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP);
            if used > width && self.heads[index].1 == Align::Left {
                widths[index] = widths[index].saturating_sub(used - width).max(LEAST.min(widths[index]));
            }
        }
        widths
    }

    fn line(&self, cells: &[TextCell], widths: &[usize], last: Option<&str>) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.heads) {
            let text = cut(&cell.text, *width);
            let padding = " ".repeat(width - chars(&text));
            let style = cell.style;
            let styled = if text.is_empty() { text } else { format!("{style}{text}{style:#}") };
            let (before, after) = match align {
                Align::Left => ("", &*padding),
                Align::Right => (&*padding, ""),
            };
            line.push_str(&format!("{before}{styled}{after}{}", " ".repeat(GAP)));
        }
        if let Some(last) = last.filter(|last| !last.is_empty()) {
            line.push_str(&format!("{LAST}{last}{LAST:#}"));
        }
        format!("{}\n", line.trim_end())
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Text of at most this width; the end of a longer one is `…`.
fn cut(text: &str, width: usize) -> String {
    if chars(text) <= width {
        return text.to_owned();
    }
    let head: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table =
            TextTable::new(&[("rule", Align::Left), ("denied", Align::Right)]).with_last("over time");
        table.add(vec![TextCell::from("login"), TextCell::from("812")], "▁▂▁");
        table.add(vec![TextCell::from("a-rule-with-a-long-name"), TextCell::from("0")], "▁▁▁");
        table
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_are_aligned() {
        let expected = "\
rule                     denied  over time
login                       812  ▁▂▁
a-rule-with-a-long-name       0  ▁▁▁
";
        assert_eq!(plain(&table().render(80)), expected);
    }

    #[test]
    fn a_narrow_table_is_cut() {
        let expected = "\
rule          denied
login            812
a-rule-with…       0
";
        assert_eq!(plain(&table().render(20)), expected);
    }
}

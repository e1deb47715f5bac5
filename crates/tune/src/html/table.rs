//! Tables. On a narrow screen a row becomes a block, and every cell says what it is.

use super::element::Emphasis;
use crate::chart::escaped;

/// Table, built row by row.
pub(super) struct HtmlTable {
    caption: &'static str,
    columns: Vec<HtmlColumn>,
    rows: String,
}

/// Column of a table.
#[derive(Clone, Debug)]
pub(super) struct HtmlColumn {
    title: String,
    class: &'static str,
}

impl HtmlColumn {
    pub(super) fn text(title: &str) -> Self {
        Self { title: title.to_owned(), class: "" }
    }

    pub(super) fn number(title: &str) -> Self {
        Self { title: title.to_owned(), class: "number" }
    }

    /// Column of small charts.
    pub(super) fn chart(title: &str) -> Self {
        Self { title: title.to_owned(), class: "spark" }
    }
}

/// Cell of a table: escaped HTML.
#[derive(Clone, Debug)]
pub(super) struct HtmlCell {
    html: String,
    emphasis: Emphasis,
}

impl HtmlCell {
    pub(super) fn text(text: &str) -> Self {
        Self::html(escaped(text))
    }

    /// Name of something that somebody chose: a rule, a subject, a limit.
    pub(super) fn code(text: &str) -> Self {
        Self::html(format!("<code>{}</code>", escaped(text)))
    }

    /// Content that is HTML already.
    pub(super) fn html(html: String) -> Self {
        Self { html, emphasis: Emphasis::Plain }
    }

    pub(super) fn with(self, emphasis: Emphasis) -> Self {
        Self { emphasis, ..self }
    }
}

impl HtmlTable {
    pub(super) fn new(caption: &'static str, columns: impl IntoIterator<Item = HtmlColumn>) -> Self {
        Self { caption, columns: columns.into_iter().collect(), rows: String::new() }
    }

    /// Adds a row. Its first cell is its heading.
    pub(super) fn add(&mut self, cells: impl IntoIterator<Item = HtmlCell>) {
        self.rows.push_str("<tr>");
        for (index, (cell, column)) in cells.into_iter().zip(&self.columns).enumerate() {
            let (tag, scope) = if index == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let class =
                [column.class, if cell.emphasis == Emphasis::Plain { "" } else { cell.emphasis.class() }];
            let class = class.join(" ");
            let class =
                if class.trim().is_empty() { String::new() } else { format!(" class=\"{}\"", class.trim()) };
            let label = escaped(&column.title);
            self.rows.push_str(&format!("<{tag}{scope}{class} data-label=\"{label}\">{}</{tag}>", cell.html));
        }
        self.rows.push_str("</tr>\n");
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn render(&self) -> String {
        let head = |column: &HtmlColumn| {
            let class =
                if column.class.is_empty() { String::new() } else { format!(" class=\"{}\"", column.class) };
            format!("<th scope=\"col\"{class}>{}</th>", escaped(&column.title))
        };
        let head: String = self.columns.iter().map(head).collect();
        format!(
            "<table>\n<caption class=\"unseen\">{}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
            escaped(self.caption),
            self.rows
        )
    }
}

//! Elements of the page.

use crate::chart::escaped;

/// Section with a heading. `id` is its anchor.
pub(super) fn section(id: &str, title: &str, content: &str) -> String {
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{}</h2>\n{content}</section>\n",
        escaped(title)
    )
}

/// Box with content.
pub(super) fn card(content: &str) -> String {
    format!("<div class=\"card\">\n{content}</div>\n")
}

/// Chart with a heading in a box.
pub(super) fn figure(title: &str, note: &str, chart: &str) -> String {
    let note =
        if note.is_empty() { String::new() } else { format!("<p class=\"hint\">{}</p>\n", escaped(note)) };
    card(&format!("<h3>{}</h3>\n{chart}\n{note}", escaped(title)))
}

/// Paragraph.
pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

/// List of sentences; nothing if there are none.
pub(super) fn list(sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|text| format!("<li>{}</li>\n", escaped(text))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// Meaning of a number by its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Emphasis {
    Plain,
    Good,
    Warning,
    Bad,
}

impl Emphasis {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warning => "warn",
            Self::Bad => "bad",
        }
    }
}

/// Word in a coloured box.
pub(super) fn badge(text: &str, emphasis: Emphasis) -> String {
    format!("<span class=\"badge {}\">{}</span>", emphasis.class(), escaped(text))
}

//! How the log was read, and the command that repeats the replay.

use super::ReportView;
use super::element::{card, section};
use super::table::{HtmlCell, HtmlColumn, HtmlTable};
use crate::chart::escaped;
use crate::numbers::count;
use crate::replay::LogFile;

/// Most unreadable lines of a file.
const MAX_LINES: usize = 5;

pub(super) fn render(view: &ReportView<'_>) -> String {
    let columns = [
        HtmlColumn::text("File"),
        HtmlColumn::text("Read as"),
        HtmlColumn::number("Lines"),
        HtmlColumn::number("Unreadable"),
        HtmlColumn::text("First unreadable lines"),
    ];
    let mut table = HtmlTable::new("Files of the log", columns);
    for file in &view.report.read.files {
        table.add(cells(file));
    }
    let command = format!(
        "<h3>Repeat it</h3>\n<pre tabindex=\"0\" aria-label=\"Command\"><code>{}</code></pre>\n",
        escaped(&view.options.command)
    );
    section("log", "The log", &format!("{}{}", card(&table.render()), card(&command)))
}

fn cells(file: &LogFile) -> Vec<HtmlCell> {
    let lines = file.unreadable_lines.iter().take(MAX_LINES);
    let lines: Vec<String> =
        lines.map(|line| format!("line {}: {}", count(line.line), line.reason)).collect();
    vec![
        HtmlCell::code(&file.name),
        HtmlCell::text(file.read_as.as_deref().unwrap_or("an empty file")),
        HtmlCell::text(&count(file.lines)),
        HtmlCell::text(&count(file.unreadable)),
        HtmlCell::text(&lines.join("; ")),
    ]
}

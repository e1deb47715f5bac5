//! How the log was read, and the command that repeats the replay.

use super::ReportView;
use super::element::{card, section};
use super::table::{HtmlCell, HtmlColumn, HtmlTable};
use crate::access_log::Directive;
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
    let directives: String = view.report.read.directives.iter().map(|server| directive(server)).collect();
    section("log", "The log", &format!("{}{directives}{}", card(&table.render()), card(&command)))
}

/// Configuration of a server for a log with milliseconds.
fn directive(directive: &Directive) -> String {
    let Directive { server, text, .. } = directive;
    card(&format!(
        "<h3>For sharper numbers, log milliseconds and durations in {server}</h3>\n<pre tabindex=\"0\" aria-label=\"Configuration of {server}\"><code>{}</code></pre>\n",
        escaped(text.trim_end())
    ))
}

fn cells(file: &LogFile) -> Vec<HtmlCell> {
    let lines = file.unreadable_lines.iter().take(MAX_LINES);
    let lines: Vec<String> =
        lines.map(|line| format!("line {}: {}", count(line.line), line.reason)).collect();
    vec![
        HtmlCell::code(&file.name),
        HtmlCell::text(file.read_as.as_deref().unwrap_or(if file.lines == 0 { "an empty file" } else { "" })),
        HtmlCell::text(&count(file.lines)),
        HtmlCell::text(&count(file.unreadable)),
        HtmlCell::text(&lines.join("; ")),
    ]
}

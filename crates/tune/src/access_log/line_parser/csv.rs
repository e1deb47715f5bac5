//! Comma-separated values: a header, and a line per request. Quotes within quotes are doubled.

use super::field_map::FieldMap;
use super::mapped::MappedValues;
use crate::access_log::report::UnreadableReason;

/// Which field of the map each column is.
#[derive(Default, Debug)]
pub(super) struct CsvColumns {
    columns: Vec<Vec<usize>>,
}

/// Names in the first line.
pub(super) fn header(first_lines: &[u8]) -> Vec<String> {
    let end = memchr::memchr(b'\n', first_lines).unwrap_or(first_lines.len());
    let line = first_lines[..end].trim_ascii_end();
    // Spreadsheets begin their files with a byte order mark.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let mut names = Vec::new();
    let mut text = Vec::new();
    for_each_column(line, |_, column| {
        text.clear();
        append(column.trim_ascii(), &mut text);
        names.push(String::from_utf8_lossy(&text).into_owned());
    });
    names
}

impl CsvColumns {
    pub(super) fn new(header: &[String], map: &FieldMap) -> Self {
        let fields = |column: &String| {
            let of_column = map.names().enumerate().filter(|(_, name)| *name == column);
            of_column.map(|(field, _)| field).collect()
        };
        Self { columns: header.iter().map(fields).collect() }
    }

    /// Finds the values of a line.
    pub(super) fn collect(&self, line: &[u8], values: &mut MappedValues) -> Result<(), UnreadableReason> {
        let count = for_each_column(line, |index, column| {
            for field in self.columns.get(index).into_iter().flatten() {
                let start = values.text.len();
                append(column, &mut values.text);
                values.set(*field, start);
            }
        });
        if count == self.columns.len() { Ok(()) } else { Err(UnreadableReason::OtherColumns) }
    }
}

/// Appends a column without its quotes.
fn append(column: &[u8], text: &mut Vec<u8>) {
    let Some(inside) = column.strip_prefix(b"\"").and_then(|column| column.strip_suffix(b"\"")) else {
        text.extend_from_slice(column);
        return;
    };
    let mut rest = inside;
    while let Some(quote) = memchr::memchr(b'"', rest) {
        text.extend_from_slice(&rest[..=quote]);
        rest = rest.get(quote + 2..).unwrap_or_default();
    }
    text.extend_from_slice(rest);
}

/// Calls with every column of a line, with its quotes. Returns their number.
fn for_each_column(line: &[u8], mut visit: impl FnMut(usize, &[u8])) -> usize {
    let mut rest = line;
    let mut index = 0;
    loop {
        let end = if rest.starts_with(b"\"") {
            let mut end = 1;
            // Behind the first quote that is not doubled.
            while let Some(quote) = memchr::memchr(b'"', rest.get(end..).unwrap_or_default()) {
                end += quote + 1;
                if rest.get(end) != Some(&b'"') {
                    break;
                }
                end += 1;
            }
            end + memchr::memchr(b',', rest.get(end..).unwrap_or_default())
                .unwrap_or(rest.len().saturating_sub(end))
        } else {
            memchr::memchr(b',', rest).unwrap_or(rest.len())
        };
        visit(index, rest.get(..end).unwrap_or(rest));
        index += 1;
        match rest.get(end + 1..) {
            Some(after) => rest = after,
            None => return index,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        let rows: [(&str, &[&str]); 9] = [
            ("a,b,c", &["a", "b", "c"]),
            ("a,,", &["a", "", ""]),
            ("", &[""]),
            (r#""a,b",c"#, &["a,b", "c"]),
            (r#""a ""b"" c",d"#, &[r#"a "b" c"#, "d"]),
            (r#""","#, &["", ""]),
            (r#"""","x"#, &[r#"""","x"#]),
            (r#"""""""#, &["\"\""]),
            (r#"a"b,c"#, &["a\"b", "c"]),
        ];
        for (line, expected) in rows {
            let mut found = Vec::new();
            for_each_column(line.as_bytes(), |_, column| {
                let mut text = Vec::new();
                append(column, &mut text);
                found.push(String::from_utf8(text).expect("text"));
            });
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn headers() {
        assert_eq!(header(b"\xef\xbb\xbftime, \"the path\"\r\n1,2\n"), ["time", "the path"]);
    }
}

//! The readings of a path, worked out in the simplest way: every way to read it is tried, with
//! lists of texts.

/// Segments, and whether a slash follows them.
pub(crate) type Reading = (Vec<String>, bool);

/// What stands for an escape until it is known what it means.
const SLASH: char = '\u{e000}';
const BACKSLASH: char = '\u{e001}';
const SEMICOLON: char = '\u{e002}';
const PERCENT: char = '\u{e005}';
/// The few letters and digits of which escapes are generated.
const LETTERS: [(&str, char, &str); 2] = [("%31", '\u{e003}', "1"), ("%66", '\u{e004}', "f")];

fn marked(path: &str) -> String {
    let mut text = path.replace("%25", &PERCENT.to_string());
    for (upper, lower, mark) in [("%2F", "%2f", SLASH), ("%5C", "%5c", BACKSLASH), ("%3B", "%3b", SEMICOLON)]
    {
        text = text.replace(upper, &mark.to_string()).replace(lower, &mark.to_string());
    }
    for (escape, mark, _) in LETTERS {
        text = text.replace(escape, &mark.to_string());
    }
    text
}

/// Every segment up to its first `;`.
fn without_parameters(text: &str) -> String {
    let segments = text.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
    segments.collect::<Vec<_>>().join("/")
}

fn without_empty(segments: &[String]) -> Vec<String> {
    segments.iter().filter(|segment| !segment.is_empty()).cloned().collect()
}

fn without_dots(segments: &[String]) -> Vec<String> {
    let mut resolved: Vec<String> = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match segment.as_str() {
            "." => {}
            ".." => drop(resolved.pop()),
            _ => resolved.push(segment.clone()),
        }
        // What dots lead to is a folder.
        if is_last && matches!(segment.as_str(), "." | "..") && !resolved.is_empty() {
            resolved.push(String::new());
        }
    }
    resolved
}

pub(crate) fn readings(path: &str) -> Vec<Reading> {
    let path = path.split('?').next().unwrap_or_default();
    let text = marked(path.strip_prefix('/').unwrap_or(path));
    let mut readings: Vec<Reading> = Vec::new();
    // Without these all ways are the same.
    let differs = text.contains([';', '\\', '#']) || !text.is_ascii();
    for ways in 0..if differs { 96_u32 } else { 1 } {
        let is = |bit: u32| ((ways / 3) >> bit) & 1 == 0;
        let mut text = text.clone();
        if is(0) {
            text = text.split('#').next().unwrap_or_default().to_owned();
        }
        if ways % 3 == 1 {
            text = without_parameters(&text);
        }
        text = text.replace(SLASH, if is(1) { "/" } else { "%2F" });
        text = text.replace('\\', if is(2) { "/" } else { "\\" });
        text = text.replace(BACKSLASH, if is(3) { "/" } else { "\\" });
        text = text.replace(SEMICOLON, ";");
        if ways % 3 == 0 {
            text = without_parameters(&text);
        }
        for (escape, mark, letter) in LETTERS {
            text = text.replace(mark, if is(4) { letter } else { escape });
        }
        text = text.replace(PERCENT, "%25");
        let mut all = resolutions(&text);
        // Whoever is behind drops parameters, and resolves again.
        if ways % 3 == 2 {
            let texts = all.iter().map(|segments| segments.join("/")).filter(|text| text.contains(';'));
            let behind = texts.flat_map(|text| resolutions(&without_parameters(&text)));
            all = [behind.collect(), all.clone()].concat();
        }
        for mut segments in all {
            let before = segments.len();
            while segments.last().is_some_and(String::is_empty) {
                segments.pop();
            }
            let reading = (segments.clone(), segments.len() < before && (before > 1 || path.len() > 1));
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        }
    }
    readings
}

/// Segments as servers resolve them: empty ones dropped, dots resolved, both, in either order, or
/// neither.
fn resolutions(text: &str) -> Vec<Vec<String>> {
    let sent: Vec<String> = text.split('/').map(str::to_owned).collect();
    let last = if text.ends_with('/') { vec![String::new()] } else { Vec::new() };
    let full = [without_empty(&sent), last].concat();
    let resolved = without_dots(&sent);
    vec![without_dots(&full), without_empty_but_last(&resolved), resolved, full, sent]
}

fn without_empty_but_last(segments: &[String]) -> Vec<String> {
    let last = segments.last().filter(|last| last.is_empty()).cloned();
    without_empty(segments).into_iter().chain(last).collect()
}

/// A template's segments, which are as they are written but for escapes.
pub(crate) fn template_segments(template: &str) -> Vec<String> {
    template.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

/// What a part of a path counts as if there are several readings of it.
pub(crate) fn canonical(part: &str) -> String {
    let text = marked(part).replace([SLASH, BACKSLASH, '\\'], "/").replace(SEMICOLON, ";");
    let text = LETTERS
        .iter()
        .fold(text, |text, (_, mark, letter)| text.replace(*mark, letter))
        .replace(PERCENT, "%25");
    let segments: Vec<String> = without_parameters(&text).split('/').map(str::to_owned).collect();
    let mut resolved = without_dots(&without_empty(&segments));
    resolved.retain(|segment| !segment.is_empty());
    resolved.join("/")
}

//! The pages of the documentation: their links, the paths that they name, and the length of their
//! lines.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folders with pages, each with everything below it.
const FOLDERS: [&str; 7] = ["docs", "bench", "clients", "contrib", "examples", "fuzz", "vectors"];
/// Folders of what is built or installed.
const GENERATED: [&str; 2] = ["target", "node_modules"];

fn children(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

/// The pages at the root and all in [`FOLDERS`].
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut paths = children(&root());
    paths.retain(|path| path.is_file());
    paths.extend(FOLDERS.map(|name| root().join(name)));
    while let Some(path) = paths.pop() {
        if path.is_dir() && !GENERATED.iter().any(|name| path.ends_with(name)) {
            paths.extend(children(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    found
}

/// Longest line of prose.
const MAX_COLUMNS: usize = 100;

/// The targets of the links of a page, code left out.
fn links(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    let targets = prose.flat_map(|text| text.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://")).collect()
}

/// What a heading is called in a link.
fn anchors(page: &str) -> Vec<String> {
    let prose = page.split("```").step_by(2).flat_map(str::lines);
    let titles = prose.filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let is_slug = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    titles
        .map(|title| title.chars().filter(is_slug).collect::<String>().to_lowercase().replace(' ', "-"))
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        for link in links(&page) {
            let (file, anchor) =
                link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            assert!(target.exists(), "{}: {link}", path.display());
            if let Some(anchor) = anchor {
                let there = anchors(&fs::read_to_string(&target).expect("a page"));
                assert!(there.iter().any(|name| name == anchor), "{}: {link}: {there:?}", path.display());
            }
            count += 1;
        }
    }
    assert!(count >= 150, "{count} links");
}

/// A file or folder that is moved is moved on the pages too.
#[test]
fn paths_in_prose_exist() {
    let mut count = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        let words = page.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
        let roots = ["clients/", "crates/", "docs/", "examples/", "scripts/", "vectors/", "bench/", "fuzz/"];
        for named in words.filter(|word| roots.iter().any(|root| word.starts_with(root))) {
            let named = named.split(' ').next().unwrap_or(named);
            assert!(root().join(named).exists(), "{}: {named}", path.display());
            count += 1;
        }
    }
    assert!(count >= 40, "{count} paths");
}

/// Tables and code aside.
#[test]
fn prose_fits_its_columns() {
    let mut wide = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        let mut is_code = false;
        for (number, line) in page.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            let columns = if is_code || line.starts_with('|') { 0 } else { line.chars().count() };
            if columns > MAX_COLUMNS {
                wide.push(format!("{}:{}: {columns} columns", path.display(), number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

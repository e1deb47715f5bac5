//! Links between the pages of the documentation lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages at the root and all below `docs/`.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("docs")];
    let mut entries: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md"].map(|name| root().join(name)).into();
    while let Some(folder) = folders.pop() {
        entries.extend(fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()));
        let (inner, files): (Vec<_>, Vec<_>) = entries.drain(..).partition(|path| path.is_dir());
        folders.extend(inner);
        found.extend(files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    found
}

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
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    titles
        .map(|title| title.chars().filter(kept).collect::<String>().to_lowercase().replace(' ', "-"))
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
    assert!(count >= 40, "{count} links");
}

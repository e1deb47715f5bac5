use std::fmt::Write;

use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use super::super::path_readings::{PathRules, Readings};
use super::*;

/// Few names, so that templates overlap.
const NAMES: [&str; 4] = ["a", "b", "ab", "%61"];

fn template(rng: &Rng) -> String {
    let mut text = String::new();
    for depth in 0..rng.below(5) {
        let _ = match rng.below(3) {
            0 => write!(text, "/{{p{depth}}}"),
            _ => write!(text, "/{}", rng.pick(&NAMES)),
        };
    }
    match rng.below(4) {
        0 => text + "/{*rest}",
        _ if text.is_empty() => "/".to_owned(),
        _ => text,
    }
}

fn path(rng: &Rng) -> String {
    let odd = ["c", "", ".", "..", "%2e%2e", "%2F", "a;b", "a\\b", "..;"];
    let segment = || if rng.one_in(6) { rng.pick(&odd) } else { rng.pick(&NAMES) };
    (0..rng.below(6)).map(|_| format!("/{}", segment())).collect()
}

fn readings(path: &str) -> Readings<'_> {
    Readings::new(path, PathRules::default()).expect("not too many")
}

fn whole(text: &str) -> Template {
    Template::whole(text, PathRules::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn parsed(text: &str, number: usize) -> Template {
    // Every third that can be one is a prefix.
    let prefix =
        number.is_multiple_of(3).then(|| Template::prefix(text, PathRules::default()).ok()).flatten();
    prefix.unwrap_or_else(|| whole(text))
}

/// What the walk finds is what a scan finds.
#[test]
fn a_walk_finds_what_a_scan_finds() {
    let generate = |rng: &Rng| {
        let templates: Vec<String> = (0..rng.below(24)).map(|_| template(rng)).collect();
        let paths: Vec<String> = (0..16).map(|_| path(rng)).collect();
        (templates, paths)
    };
    prove(generate, |templates, paths| {
        let templates: Vec<Template> =
            templates.iter().enumerate().map(|(n, text)| parsed(text, n)).collect();
        let mut trie = Trie::default();
        for (number, template) in templates.iter().enumerate() {
            trie.insert(template, number as u32);
        }
        for path in paths {
            // A path that can be read in too many ways is refused before it is looked for.
            let Ok(readings) = Readings::new(path, PathRules::default()) else { continue };
            for read in readings.all() {
                let mut found = RuleIndexes::new();
                trie.collect(read.view(), &mut found);
                found.sort_unstable();
                found.dedup();
                let scanned = (0_u32..).zip(&templates).filter(|(_, template)| template.matches(read.view()));
                let scanned: Vec<u32> = scanned.map(|(number, _)| number).collect();
                ensure!(*found == *scanned, "{read:?}: found {found:?}, a scan {scanned:?}");
            }
        }
        Ok(())
    });
}

/// Where `matchit`, which knows one match only, takes a set of templates: what it finds is among
/// what is found, and where it finds nothing there is nothing.
#[test]
fn matchit_agrees_where_it_can() {
    let generate = |rng: &Rng| {
        let templates: Vec<String> = (0..rng.between(1, 8)).map(|_| template(rng)).collect();
        // Its reading of paths is another: only plain ones.
        let plain = |_| (0..rng.below(6)).map(|_| format!("/{}", rng.pick(&["a", "b", "ab", "c"]))).collect();
        (templates, (0..8).map(plain).collect::<Vec<String>>())
    };
    let compared = std::cell::Cell::new(0);
    prove(generate, |templates, paths| {
        let (mut router, mut trie) = (matchit::Router::new(), Trie::default());
        for (number, text) in (0_u32..).zip(templates) {
            if router.insert(text.replace("%61", "a"), number).is_ok() {
                let template = whole(text);
                trie.insert(&template, number);
            }
        }
        for path in paths {
            let path = if path.is_empty() { "/" } else { path };
            let mut found = RuleIndexes::new();
            readings(path).all().for_each(|read| trie.collect(read.view(), &mut found));
            let expected = router.at(path).ok().map(|matched| *matched.value);
            compared.set(compared.get() + usize::from(expected.is_some()));
            let agrees = expected.map_or(found.is_empty(), |number| found.contains(&number));
            ensure!(agrees, "{path}: found {found:?}, matchit {expected:?}");
        }
        Ok(())
    });
    assert!(compared.get() > 0, "nothing was compared");
}

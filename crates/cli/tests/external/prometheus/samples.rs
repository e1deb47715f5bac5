//! What a scrape says: names, labels and values.

use std::collections::{BTreeMap, BTreeSet};

/// The samples of some scrapes: of each name its labels, and of each label its values.
#[derive(Default, Debug)]
pub(crate) struct Samples(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Samples {
    pub(crate) fn of<'a>(scrapes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut samples = Self::default();
        let lines = scrapes.into_iter().flat_map(str::lines);
        for line in lines.filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            let of_metric = samples.0.entry(name.to_owned()).or_default();
            for (label, value) in labels(&line[name.len()..]) {
                of_metric.entry(label).or_default().insert(value);
            }
        }
        samples
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The values of a label, if the metric has it.
    pub(crate) fn values(&self, name: &str, label: &str) -> Option<&BTreeSet<String>> {
        self.0.get(name)?.get(label)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The labels that follow a name.
fn labels(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((label, rest)) = text.get(1..).and_then(|rest| rest.split_once("=\"")) {
        let mut value = String::new();
        let mut letters = rest.char_indices();
        let end = loop {
            match letters.next().expect("a value ends") {
                (at, '"') => break at,
                (_, '\\') => match letters.next().expect("something is escaped").1 {
                    'n' => value.push('\n'),
                    escaped => value.push(escaped),
                },
                (_, letter) => value.push(letter),
            }
        };
        found.push((label.to_owned(), value));
        text = &rest[end + 1..];
    }
    found
}

#[test]
fn labels_are_read_as_they_were_written() {
    let samples = Samples::of(["# HELP a b\na{b=\"c\",d=\"e\\\"\\\\\\n}\"} 1\na{b=\"f\"} 2\ng 3\n"]);
    assert_eq!(samples.names().collect::<Vec<_>>(), ["a", "g"]);
    assert_eq!(samples.values("a", "b").map(BTreeSet::len), Some(2));
    assert!(samples.values("a", "d").is_some_and(|values| values.contains("e\"\\\n}")));
    assert_eq!(samples.values("g", "b"), None);
}

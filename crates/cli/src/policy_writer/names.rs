//! Names of rules: readable, valid and unique.

use std::collections::HashSet;

const MAX_NAME: usize = 64;

/// Names that are in use.
#[derive(Default)]
pub(crate) struct RuleNames(HashSet<String>);

impl RuleNames {
    /// A unique name made from a text. Invalid characters become `_`; a duplicate gets a number.
    pub(crate) fn unique(&mut self, text: &str) -> String {
        let mut name = String::new();
        for c in text.chars() {
            if c.is_ascii_alphanumeric() || "_.:-".contains(c) {
                name.push(c);
            } else if !name.ends_with('_') {
                name.push('_');
            }
        }
        if name.is_empty() {
            name.push_str("rule");
        }
        name.truncate(MAX_NAME);
        let mut unique = name.clone();
        let mut number = 1_u64;
        while !self.0.insert(unique.clone()) {
            number += 1;
            let suffix = format!("-{number}");
            unique = format!("{}{suffix}", &name[..name.len().min(MAX_NAME - suffix.len())]);
        }
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique() {
        let mut names = RuleNames::default();
        assert_eq!(names.unique("shop-path_/a b*"), "shop-path_a_b_");
        assert_eq!(names.unique("shop-path_/a b*"), "shop-path_a_b_-2");
        assert_eq!(names.unique("é"), "_");
        assert_eq!(names.unique(""), "rule");
        let long = "x".repeat(80);
        assert_eq!(names.unique(&long), "x".repeat(64));
        assert_eq!(names.unique(&long), format!("{}-2", "x".repeat(62)));
    }
}

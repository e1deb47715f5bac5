//! Names for rules: readable, within what a name may be, and each once.

use std::collections::HashSet;

const MAX_NAME: usize = 64;

#[derive(Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// A name like this one. What a name cannot hold becomes `_`; a second of the same gets a number.
    pub(super) fn take(&mut self, wish: &str) -> String {
        let mut name = String::new();
        for c in wish.chars() {
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
        let mut taken = name.clone();
        let mut number = 1_u64;
        while !self.0.insert(taken.clone()) {
            number += 1;
            let suffix = format!("-{number}");
            taken = format!("{}{suffix}", &name[..name.len().min(MAX_NAME - suffix.len())]);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_and_unique() {
        let mut names = Names::default();
        assert_eq!(names.take("shop-path_/a b*"), "shop-path_a_b_");
        assert_eq!(names.take("shop-path_/a b*"), "shop-path_a_b_-2");
        assert_eq!(names.take("é"), "_");
        assert_eq!(names.take(""), "rule");
        let long = "x".repeat(80);
        assert_eq!(names.take(&long), "x".repeat(64));
        assert_eq!(names.take(&long), format!("{}-2", "x".repeat(62)));
    }
}

//! Suggestions for misspelt names.

/// Name that is most similar to a text, if it is similar enough.
pub fn closest<'n>(text: &str, names: &[&'n str]) -> Option<&'n str> {
    const LONGEST: usize = 32;
    if text.len() > LONGEST {
        return None;
    }
    let text = text.to_lowercase().replace('-', "_");
    let slips = |name: &&str| distance(&text, &name.replace('-', "_"));
    let best = names.iter().copied().min_by_key(slips)?;
    // A third of a word: `lmits` is meant as `limits`, `ip` is not meant as `key`.
    let most = (best.len().max(text.len()) / 3).max(1);
    (slips(&best) <= most).then_some(best)
}

/// Edit distance: number of characters to add, remove, change or swap with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut next = vec![i];
        for j in 1..=to.len() {
            let same = from[i - 1] == to[j - 1];
            let mut best = (row[j - 1] + usize::from(!same)).min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(above[j - 2] + 1);
            }
            next.push(best);
        }
        above = std::mem::replace(&mut row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["name", "match", "key", "limits", "on_store_error"];
        for (text, meant) in [
            ("limit", Some("limits")),
            ("lmits", Some("limits")),
            ("ilmits", Some("limits")),
            ("Name", Some("name")),
            ("nmae", Some("name")),
            ("matches", Some("match")),
            ("on-store-error", Some("on_store_error")),
            ("keys", Some("key")),
            ("rate", None),
            ("", None),
            ("quota", None),
        ] {
            assert_eq!(closest(text, &names), meant, "{text}");
        }
    }
}

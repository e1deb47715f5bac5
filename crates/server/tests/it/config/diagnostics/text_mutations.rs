//! A good file, changed in every small way: never a panic, and errors that have a place.

use super::value_mutations::{changed, everything};
use super::{check, parse};

use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;

/// A file with every field that there is.
pub(crate) const EVERYTHING: &str = include_str!("everything.yaml");

/// Whether it is broken; what is said about it then is checked.
fn is_broken(text: &str) -> bool {
    match parse(text) {
        Ok(_) => false,
        Err(errors) => {
            check(text, &errors);
            true
        }
    }
}

#[test]
fn everything_is_good() {
    assert!(
        !is_broken(EVERYTHING),
        "{}",
        parse(EVERYTHING).err().map(|errors| errors.to_string()).unwrap_or_default()
    );
}

#[test]
fn every_prefix() {
    let prefixes = (0..EVERYTHING.len()).filter(|end| EVERYTHING.is_char_boundary(*end));
    let broken = prefixes.filter(|end| is_broken(&EVERYTHING[..*end])).count();
    assert!(broken > 500, "{broken}");
}

#[test]
fn every_line_left_out_repeated_or_moved() {
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let mut broken = [0; 4];
    for index in 0..lines.len() {
        let without = [&lines[..index], &lines[index + 1..]].concat().join("\n");
        let twice = [&lines[..=index], &lines[index..]].concat().join("\n");
        let indent = |text: &str| [&lines[..index], &[text], &lines[index + 1..]].concat().join("\n");
        let (deeper, tab) = (indent(&format!(" {}", lines[index])), indent(&format!("\t{}", lines[index])));
        for (count, text) in broken.iter_mut().zip([without, twice, deeper, tab]) {
            *count += usize::from(is_broken(&text));
        }
    }
    // A line can be left out if its field can, and said twice only if it is an item of a list.
    assert!(
        broken.into_iter().zip([9, 45, 40, 30]).all(|(broken, least)| broken >= least),
        "{broken:?} of {}",
        lines.len()
    );
}

#[test]
fn every_character_left_out_or_replaced() {
    const NEW: [&str; 17] =
        ["", "\0", "\t", "\n", "\"", "'", "{", "]", ":", "*", "&", "!", "%", "-", "#", "é", "\u{feff}"];
    let mut broken = 0;
    for (at, old) in EVERYTHING.char_indices() {
        let (before, after) = (&EVERYTHING[..at], &EVERYTHING[at + old.len_utf8()..]);
        // Four of them at every place, and all of them around it.
        for new in NEW.iter().cycle().skip(4 * at % NEW.len()).take(4) {
            broken += usize::from(is_broken(&format!("{before}{new}{after}")));
        }
    }
    assert!(broken > 4_000, "{broken}");
}

/// A small change somewhere.
#[derive(Clone, Copy, Debug)]
struct Edit {
    at: usize,
    len: usize,
    text: &'static str,
}

#[test]
fn many_edits_at_once() {
    const TEXTS: [&str; 16] = [
        "",
        " ",
        "\n",
        "\n  - ",
        ": ",
        "[",
        "}",
        "name: ",
        "<<: ",
        "&a ",
        "*a",
        "!!str ",
        "---\n",
        "\r",
        "\u{1F980}",
        "limits: [0/s]",
    ];
    let edit =
        |rng: &Rng| Edit { at: rng.next() as usize, len: rng.below(6) as usize, text: rng.pick(&TEXTS) };
    let generate = |rng: &Rng| ((), (0..rng.between(1, 6)).map(|_| edit(rng)).collect::<Vec<_>>());
    prove_part(2, generate, |(), edits| {
        let mut text = EVERYTHING.to_owned();
        for Edit { at, len, text: new } in edits {
            let start = text.floor_char_boundary(at % (text.len() + 1));
            let end = text.floor_char_boundary((start + len).min(text.len()));
            text.replace_range(start..end, new);
        }
        is_broken(&text);
        ensure!(text.len() < 4 * EVERYTHING.len(), "the text grew");
        Ok(())
    });
}

#[test]
fn every_value_of_another_type() {
    assert!(!is_broken(&everything().to_string()));
    let changed = changed();
    let broken = changed.iter().filter(|(_, value)| is_broken(&value.to_string())).count();
    assert!(changed.len() > 1_500 && broken > 1_000, "{broken} of {}", changed.len());
}

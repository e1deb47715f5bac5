//! The parser, held against another implementation.

use sfv::{BareItem, ListEntry, Parser};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use super::parse;

const KEYS: [&str; 3] = ["q", "r", "t"];

/// Pieces of which most lists are well-formed, and every mistake is likely.
const PIECES: [&str; 54] = [
    "\"burst\"",
    "\"a, \\\"b\\\\\"",
    "\"\"",
    "\"",
    "\\",
    "burst",
    "*a:b/c",
    "A!#",
    "r",
    "t",
    "q",
    ";r=0",
    ";t=30",
    ";q=100",
    ";r=-0",
    ";t=-5",
    ";r",
    ";t=1.5",
    ";t=\"3\"",
    "; r=7",
    ";R=0",
    ";*x.y-z_1=a",
    ";pk=:YWJj:",
    ":YWJj:",
    ":*:",
    ":",
    ";d=@12",
    "@1.5",
    "@-3",
    "%\"f%c3%bc\"",
    "%\"%c3\"",
    "%\"%C3\"",
    "%",
    "?1",
    "?0",
    "?2",
    "999999999999999",
    "1000000000000000",
    "123456789012.123",
    "1234567890123.1",
    "0.1234",
    "1.",
    "-",
    "(",
    ")",
    "(\"a\" b;r=0)",
    "()",
    " ",
    "\t",
    ",",
    ", ",
    ", ",
    "=",
    "\u{e9}",
];

#[test]
fn parses_what_sfv_parses() {
    prove(pieces, |(), pieces| {
        let value = pieces.concat();
        let expected = reference(&value);
        let found = parse(value.as_bytes())
            .map(|items| items.iter().map(|item| KEYS.map(|key| item.integer(key))).collect::<Vec<_>>());
        ensure!(found == expected, "{value:?}: {found:?}, expected {expected:?}");
        Ok(())
    });
}

/// Items with parameters, and now and then a piece that fits nowhere.
fn pieces(rng: &Rng) -> ((), Vec<&'static str>) {
    let mut pieces = Vec::new();
    for index in 0..rng.between(1, 4) {
        if index > 0 {
            pieces.push(", ");
        }
        pieces.push(rng.pick(&PIECES));
        for _ in 0..rng.below(4) {
            let parameter = rng.pick(&PIECES);
            if parameter.starts_with(';') || rng.one_in(4) {
                pieces.push(parameter);
            }
        }
    }
    ((), pieces)
}

/// The integers by another implementation.
fn reference(value: &str) -> Option<Vec<[Option<i64>; 3]>> {
    let list: sfv::List = Parser::new(value).parse().ok()?;
    let items = list.iter().filter_map(|member| match member {
        ListEntry::Item(item) => Some(KEYS.map(|key| match item.params.get(key) {
            Some(BareItem::Integer(number)) => Some((*number).into()),
            _ => None,
        })),
        ListEntry::InnerList(_) => None,
    });
    Some(items.collect())
}

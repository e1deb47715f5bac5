//! Files that were written to do harm.

use std::fmt::Write as _;

use slidegate::policy::decode;
use slidegate_testkit::cases::{Rng, prove_part};

use super::{check, parse};

/// The first error about a text, as `line:column what`.
fn first(text: &str) -> String {
    let errors = parse(text).err().unwrap_or_else(|| panic!("{} bytes of good policy", text.len()));
    check(text, &errors);
    let first = errors.iter().next().expect("there is one");
    format!("{}:{} {}", first.line, first.column, first.message)
}

#[test]
fn aliases_that_explode() {
    let mut text = "version: 1\na: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (new, old) in ('b'..='z').zip('a'..) {
        let _ = writeln!(text, "{new}: &{new} [{}]", vec![format!("*{old}"); 9].join(", "));
    }
    assert_eq!(first(&text), "7:8 with its aliases expanded the file has more than 100000 values");
}

#[test]
fn aliases_that_explode_as_fields() {
    let mut text = "version: 1\na: &a { x: 1, y: 2, z: 3 }\n".to_owned();
    for (new, old) in ('b'..='z').zip('a'..) {
        let _ = writeln!(text, "{new}: &{new} {{ x: *{old}, y: *{old}, z: *{old} }}");
    }
    assert!(first(&text).contains("with its aliases expanded"), "{}", first(&text));
}

#[test]
fn aliases_that_lie_deep() {
    let mut text = "version: 1\na0: &a0 x\n".to_owned();
    for level in 1..20_000 {
        let _ = writeln!(text, "a{level}: &a{level} [*a{}]", level - 1);
    }
    assert_eq!(first(&text), "34:12 nested too deeply");
}

#[test]
fn deep_nesting() {
    for (open, close) in [("[", "]"), ("{ a: ", "}"), ("- ", ""), ("? ", "")] {
        for levels in [40, 1_000, 100_000] {
            let text = format!("version: 1\nrules: {}x{}", open.repeat(levels), close.repeat(levels));
            first(&text);
            first(&format!("{}x", open.repeat(levels)));
        }
    }
    let stairs: String = (0..1_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert!(first(&stairs).ends_with("nested too deeply"), "{}", first(&stairs));
}

#[test]
fn a_file_that_is_too_long() {
    let text = format!("version: 1\n# {}\n", "x".repeat(1 << 20));
    assert_eq!(first(&text), format!("1:1 the file is too large: {} bytes", text.len()));
}

#[test]
fn huge_scalars() {
    let long = "x".repeat(1_000_000);
    for text in [
        format!("version: {long}"),
        format!("{long}: 1"),
        format!("version: 1\nrules: [{{ name: a, limits: [{long}] }}]"),
        format!("version: 1\n? {long}\n: 1"),
        format!("version: \"{long}\""),
        format!("version: '{long}"),
        format!("version: |\n  {long}"),
        format!("version: &{long} one"),
        format!("version: !{long} 1"),
        format!("version: 1\nrules: *{long}"),
        format!("version: {}", "9".repeat(1_000_000)),
    ] {
        first(&text);
        let rendered = parse(&text).err().map(|errors| errors.to_string()).unwrap_or_default();
        assert!(
            rendered.len() < 3_000_000 && rendered.lines().all(|line| line.chars().count() < 1_000_100),
            "{}",
            rendered.len()
        );
    }
}

#[test]
fn very_many_errors_are_counted() {
    let fields: String = (0..40_000).map(|number| format!("field{number}: 1\n")).collect();
    let twice = "a: 1\n".repeat(40_000);
    let limits = vec!["x"; 40_000].join(", ");
    for (text, count) in [
        (format!("version: 1\n{fields}"), 40_000),
        (format!("version: 1\n{twice}"), 40_000),
        (format!("version: 1\nrules: [{{ name: a, limits: [{limits}] }}]"), 40_001),
    ] {
        let errors = parse(&text).expect_err("it is broken");
        check(&text, &errors);
        assert_eq!((errors.iter().count(), errors.count()), (100, count));
        assert!(errors.to_string().ends_with(&format!("\nand {} more", count - 100)));
    }
}

#[test]
fn many_documents_and_other_streams() {
    for (text, expected) in [
        ("---\n".repeat(10_000), "2:1 more than one YAML document"),
        ("version: 1\n...\nversion: 1\n".to_owned(), "3:1 more than one YAML document"),
        ("%YAML 3.0\n---\nversion: 1\n".to_owned(), "1:1 invalid YAML: unsupported YAML major version"),
        ("\0".to_owned(), "1:1 unexpected character"),
        ("version: 1\n\u{7}".to_owned(), "2:1 unexpected character"),
        ("version: 1\u{0}".to_owned(), "1:11 unexpected character"),
    ] {
        assert_eq!(first(&text), expected);
    }
}

#[test]
fn bytes_that_are_no_text() {
    for (bytes, place) in [
        (&b"\xff"[..], (1, 1)),
        (b"version: 1\nrules: \xc3\x28", (2, 8)),
        (b"a\xc3", (1, 2)),
        (b"\xfe\xff\x00v", (1, 1)),
    ] {
        let errors = decode("policy.yaml", bytes).expect_err("it is no text");
        let error = errors.iter().next().expect("there is one");
        assert_eq!((error.line, error.column), place);
        assert_eq!(error.message, "invalid UTF-8");
    }
}

#[test]
fn noise() {
    let generate = |rng: &Rng| {
        let alphabet: &[u8] = if rng.one_in(2) { b"abc:-[]{}&*!|>'\"%@`#,? \n\n\t\r~<0159/" } else { &ALL };
        ((), (0..rng.below(200)).map(|_| rng.pick(alphabet)).collect::<Vec<u8>>())
    };
    prove_part(1, generate, |(), bytes| {
        // Anything is no policy, for want of a version.
        let text = match decode("policy.yaml", bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        };
        first(&text);
        Ok(())
    });
}

const ALL: [u8; 256] = {
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = byte as u8;
        byte += 1;
    }
    all
};

//! Names in sources and of files: which words they may not have, and that a type name stands for one
//! thing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use self::syntax::{SYNTAXES, Syntax};

mod syntax;

/// Folders whose files are read.
const FOLDERS: [&str; 7] = ["bench", "clients", "contrib", "crates", "examples", "fuzz", "scripts"];

/// Folders of what is built or installed.
const GENERATED: [&str; 3] = ["target", "node_modules", "dist"];

/// Words that names may not have: those that say that something happened instead of what a thing
/// is, and metaphors.
const FORBIDDEN: [&str; 18] = [
    "told", "asked", "seen", "kept", "held", "shown", "noted", "said", "known", "heard", "given", "taken",
    "brought", "board", "books", "desk", "door", "ledger",
];

/// Types that share a name, and why.
const SHARED_NAMES: [(&str, &str); 1] = [("Signals", "the same thing on Unix and on Windows")];

/// Words before the declaration of a type.
const MODIFIERS: [&str; 2] = ["pub", "unsafe"];

/// Kinds of types.
const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

#[test]
fn a_type_name_stands_for_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files().into_iter().filter(|path| is_crate_source(path)) {
        for (name, place) in types(&path, &read(&path)) {
            places.entry(name).or_default().push(place);
        }
    }
    assert!(places.len() > 500, "only {} types were found", places.len());
    places.retain(|_, places| places.len() > 1);
    for (name, _) in SHARED_NAMES {
        places.remove(name);
    }
    assert!(places.is_empty(), "types that share a name:\n{places:#?}");
}

#[test]
fn no_name_has_a_forbidden_word() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files() {
        let place = relative(&path).display().to_string();
        if path.file_name().is_some_and(|name| is_forbidden(&name.to_string_lossy())) {
            wrong.push(place.clone());
        }
        let Some(syntax) = syntax_of(&path) else { continue };
        for (line, name) in syntax.names(&read(&path)) {
            count += 1;
            if is_forbidden(name) {
                wrong.push(format!("{place}:{line}: {name}"));
            }
        }
    }
    assert!(count > 300_000, "only {count} names were found");
    assert!(wrong.is_empty(), "names with a forbidden word:\n{}", wrong.join("\n"));
}

/// The tests see what they have to see.
#[test]
fn names_are_found() {
    let rows = [
        ("x.rs", "pub(crate) struct Told {", &["Told"][..]),
        ("x.rs", "    let (mut seen, is_held) = (0, ASKED);", &["seen", "is_held", "ASKED"]),
        ("x.rs", "pub(in crate::gate) const fn looks_on() {", &["looks_on"]),
        ("x.rs", "enum Matrix {\n    Kept,\n}\nstruct A {\n    given: u8,\n}", &["Kept", "given"]),
        ("x.rs", "fn unseen_household<'told>() {}", &["told"]),
        (
            "x.rs",
            "a(\"told \\\" {seen}\\n\", '\"', '\\'', b'x', kept, r#\"held \"\"#, r\"\\\", shown)",
            &["kept", "shown"],
        ),
        ("x.rs", "// told\nfn f() {} /* seen\n   kept */", &[]),
        (
            "x.js",
            "export default async function rowsAreHeld(page) { return `told` + 'seen'; }",
            &["rowsAreHeld"],
        ),
        ("x.ts", "const given = \"don't\"; // told", &["given"]),
        (
            "x.py",
            "    def seen(self):\n        \"\"\"Told, if 'asked'.\"\"\"\n        return 'kept'  # held",
            &["seen"],
        ),
        ("x.lua", "local taken = '{board}' -- held", &["taken"]),
    ];
    for (file, text, expected) in rows {
        let names = syntax_of(Path::new(file)).expect("a language").names(text);
        let found: Vec<&str> =
            names.into_iter().map(|(_, name)| name).filter(|name| is_forbidden(name)).collect();
        assert_eq!(found, expected, "{text}");
    }
    let text = "pub struct A;\nimpl B for A {\n    type C = u8;\n}\ntype D = u8;\nfn e() {}\n";
    let names: Vec<String> = types(Path::new("x.rs"), text).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["A", "D"], "an associated type has the name of its trait");
}

/// Whether a name has one of the words that names may not have.
fn is_forbidden(name: &str) -> bool {
    let words = words(name);
    let is_metaphor = words.windows(2).any(|pair| ["look", "looks"].contains(&&*pair[0]) && pair[1] == "on");
    is_metaphor || words.iter().any(|word| FORBIDDEN.contains(&&**word))
}

/// Words of a name in any case: `rows`, `are` and `held` of `rowsAreHeld`, `ROWS_ARE_HELD` and
/// `RowsAreHeld`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None;
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        let is_first = c.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || rest.peek().is_some_and(|next| next.is_lowercase()));
        if is_first || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("a word").extend(c.to_lowercase());
        }
        before = Some(c);
    }
    words
}

/// Comments and strings of a source, by its name; none for other files.
fn syntax_of(path: &Path) -> Option<&'static Syntax> {
    let extension = path.extension()?.to_str()?;
    SYNTAXES.iter().find(|syntax| syntax.extensions.contains(&extension))
}

/// Kind and name of the type that a line declares.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let mut rest = line.trim_start();
    loop {
        let end = rest.find([' ', '('])?;
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        if let Some(scope) = rest.strip_prefix('(') {
            rest = scope.split_once(')')?.1.trim_start();
        }
        if KINDS.contains(&word) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            return (end > 0).then_some((word, &rest[..end]));
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
    }
}

/// Names of the types of a source, and where they are. An associated type is indented.
fn types(path: &Path, source: &str) -> Vec<(String, String)> {
    let lines = source.lines().enumerate();
    let found = lines.filter_map(|(index, line)| {
        let (kind, name) = declaration(line)?;
        let place = || format!("{}:{}", relative(path).display(), index + 1);
        (kind != "type" || !line.starts_with(' ')).then(|| (name.to_owned(), place()))
    });
    found.collect()
}

/// Whether a file is a source of a crate, and not of its tests.
fn is_crate_source(path: &Path) -> bool {
    let mut parts = relative(path).iter();
    parts.next().is_some_and(|first| first == "crates")
        && parts.nth(1).is_some_and(|third| third == "src")
        && path.extension().is_some_and(|end| end == "rs")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix(root()).unwrap_or(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files of the folders that are not generated.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|name| root().join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if !path.is_dir() {
                files.push(path);
            } else if !GENERATED.iter().any(|name| path.ends_with(name)) {
                folders.push(path);
            }
        }
    }
    files
}

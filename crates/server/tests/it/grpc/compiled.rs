//! What reflection tells is compiled once, so that nobody needs a compiler for it; here it is
//! compiled again.

use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");

/// Every file of a folder and of those in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_compiled_is_what_the_files_say() {
    let mut compiler = protox::Compiler::new([SOURCES]).expect("a compiler");
    let opened = compiler.include_imports(true).open_files(sources(Path::new(SOURCES)));
    opened.unwrap_or_else(|error| panic!("{error}"));
    let compiled = compiler.encode_file_descriptor_set();
    let path = format!("{SOURCES}/compiled.bin");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &compiled).expect("it can be written");
    }
    let written = fs::read(&path).unwrap_or_default();
    let again = "UPDATE=1 cargo test -p slidegate-server --test it compiled";
    assert!(written == compiled, "proto/compiled.bin is old: {again}");
}

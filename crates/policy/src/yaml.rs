//! YAML as a tree whose nodes know their position in the text.

mod build;
mod syntax;
mod tree;

pub(crate) use build::tree;
pub(crate) use tree::{Entry, Kind, Meaning, Node, meaning, quoted};

/// The most values in a file, those behind aliases as often as they are used.
const MAX_NODES: usize = 100_000;
/// How deep they may lie.
const MAX_DEPTH: usize = 32;

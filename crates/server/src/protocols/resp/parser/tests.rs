//! Tests of the parser, and its comparison with a reference parser, which the fuzz target uses too.

#[cfg(test)]
mod commands;
pub(super) mod comparison;
mod reference_parser;

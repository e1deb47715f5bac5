//! `slidegate import`: what it makes of files, and whether that decides as the other systems are documented to decide.

#[path = "../../../core/tests/properties/cases.rs"]
#[allow(dead_code, unused_macros, reason = "a part of it is used")]
mod cases;
#[path = "../program/mod.rs"]
mod program;

mod always;
mod decisions;
mod examples;
mod limitador_asks;
mod output;
mod page;
mod served;
mod walker;
mod wrong;

//! `slidegate import`: what it makes of files, and whether that decides as the other systems are documented to decide.

mod always;
mod decisions;
mod examples;
mod limitador_asks;
mod output;
mod page;
mod served;
mod walker;
mod wrong;

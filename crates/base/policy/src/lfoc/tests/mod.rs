//! Tests that quote the section or the decision that they check.

mod actual;
mod again;
mod algorithm;
mod announce;
mod bench;
mod leaving;
mod machines;
mod monitor;
mod online;
mod sampling;
mod stopping;
mod tables;
mod threads;

//! Tests that quote the section or the decision that they hold.

mod algorithm;
mod bench;
mod monitor;
mod online;
mod sampling;

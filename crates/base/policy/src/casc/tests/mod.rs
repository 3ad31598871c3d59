//! Tests that quote the section or the decision that they check.

mod bench;
mod buckets;
mod figure_4;
mod idle;
mod initial;
mod machines;
mod matching;
mod noise;
mod phases;
mod scheduler;
mod secondary;

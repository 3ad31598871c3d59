//! Tests that quote the section or the decision that they check.

mod arithmetic;
mod balance;
mod bench;
mod bound;
mod counters;
mod phases;
mod work;

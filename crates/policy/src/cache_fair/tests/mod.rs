//! Tests that quote the section or the decision that they hold.

mod arithmetic;
mod balance;
mod bench;
mod bound;
mod counters;
mod phases;
mod work;

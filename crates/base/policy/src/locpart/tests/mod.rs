//! Tests that quote the section or the decision that they check.

mod algorithm;
mod bench;
mod noisy;
mod programs;
mod refusals;
mod service;
mod several;
mod steady;
mod unattainable;
mod windows;

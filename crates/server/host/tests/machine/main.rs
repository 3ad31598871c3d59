//! The host as policies know it, over an emulator.

#![allow(clippy::unwrap_used)]

mod cgroups;
mod common;
mod conformance;
mod parity;
mod real;
mod refused;
mod reported;

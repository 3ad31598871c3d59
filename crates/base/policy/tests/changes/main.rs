//! Changes that newcomers make, tried on a copy of the two crates that a policy needs.

#![allow(clippy::unwrap_used)]

mod adding;
mod copied;
mod first_change;

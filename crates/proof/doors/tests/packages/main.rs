//! The packages: made, installed, used, started, upgraded, removed and purged, each on a machine of
//! its own.

#![allow(clippy::unwrap_used)]

mod deb;
mod machine;
mod made;
mod rpm;
mod shells;
mod version;

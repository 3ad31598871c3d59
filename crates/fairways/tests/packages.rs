//! The packages: made, installed, used, started, upgraded, removed and purged, each on a machine of its own.

#![allow(clippy::unwrap_used)]

#[path = "packages/deb.rs"]
mod deb;
#[path = "packages/machine.rs"]
mod machine;
#[path = "packages/made.rs"]
mod made;
#[path = "packages/rpm.rs"]
mod rpm;
#[path = "packages/shells.rs"]
mod shells;
#[path = "packages/version.rs"]
mod version;

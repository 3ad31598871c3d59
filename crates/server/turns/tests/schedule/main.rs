//! Where real threads run, and for how long, without a scheduler of our own.

#![allow(clippy::unwrap_used)]

mod allowed;
mod common;
mod cpuset;
mod crash;
mod kin;
mod lab;
mod ledger;
mod owners;
mod permission;
#[allow(dead_code)]
#[path = "../../../resctrl-client/tests/actuate/sealed.rs"]
mod sealed;
mod switches;
mod time;

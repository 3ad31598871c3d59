//! The daemon as a plugin of a real containerd with crun, by the folder `shared/nri-lab`: pods by
//! CRI, processes in cgroups, resctrl of the emulator. It takes minutes, and fetches containerd.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "what other tests do with it")]
#[path = "../daemon/common.rs"]
mod common;
mod lab;
#[allow(dead_code, reason = "what other tests do with it")]
#[path = "../nri/place.rs"]
mod place;
#[allow(dead_code, reason = "what other tests do with it")]
#[path = "../daemon/running.rs"]
mod running;
mod storm;

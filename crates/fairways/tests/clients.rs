//! Clients that others wrote, against the emulator: pqos of intel-cmt-cat, the `rdt` of goresctrl, and the crate
//! resctrlfs. None of them knows that there is no such machine.

#![allow(clippy::unwrap_used)]

#[path = "clients/emulated.rs"]
mod emulated;
#[path = "clients/export.rs"]
mod export;
#[path = "clients/goresctrl.rs"]
mod goresctrl;
#[path = "clients/pqos.rs"]
mod pqos;
#[path = "clients/resctrlfs.rs"]
mod resctrlfs;

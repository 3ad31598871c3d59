//! Clients that others wrote, against the emulator: pqos of intel-cmt-cat, the `rdt` of goresctrl, and the crate
//! resctrlfs. None of them knows that there is no such machine.

#![allow(clippy::unwrap_used)]

mod emulated;
mod export;
mod goresctrl;
mod pqos;
mod resctrlfs;

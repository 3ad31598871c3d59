//! Clients of other projects, against the emulator: pqos of intel-cmt-cat, the `rdt` of goresctrl,
//! and the crate resctrlfs. None of them knows that the machine is simulated.

#![allow(clippy::unwrap_used)]

mod emulated;
mod export;
mod go;
mod goresctrl;
mod levels;
mod pqos;
mod resctrlfs;

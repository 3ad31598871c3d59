//! The daemon on a real Linux, in the kernel lab: real processes, the real resctrl, and what the
//! kernel writes to the processor's registers. The jobs are the scripts; each draws pictures of
//! resctrl, which are examined here.

#![allow(clippy::unwrap_used)]

mod guest;
mod manages;
mod others;
mod picture;

//! The daemon on a real Linux: real processes, the real resctrl, and what the kernel writes to the processor's registers, in the
//! kernel lab. The jobs are the scripts; each draws pictures of resctrl, which are examined here.

#![allow(clippy::unwrap_used)]

#[path = "on_linux/guest.rs"]
mod guest;
#[path = "on_linux/manages.rs"]
mod manages;
#[path = "on_linux/others.rs"]
mod others;
#[path = "on_linux/picture.rs"]
mod picture;

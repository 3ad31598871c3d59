//! Linux's resctrl.
//!
//! [`language`] is what its files say: a client reads and writes it, and so does whoever plays the kernel.
//!
//! [`platform`] is what machines tell of themselves. [`rules`] is what the kernel makes of it all: one state machine.
//!
//! Source: the kernel's Documentation/filesystems/resctrl.rst, and what its fs/resctrl does.

pub mod language;
pub mod platform;
pub mod rules;

//! Linux's resctrl.
//!
//! [`language`] is what its files say: a client reads and writes it, and so does whoever plays the kernel.
//!
//! Source: the kernel's Documentation/filesystems/resctrl.rst, and what its fs/resctrl does.

pub mod language;

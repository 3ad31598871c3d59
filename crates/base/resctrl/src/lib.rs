//! Linux's resctrl.
//!
//! [`language`] is the text of its files, as a client and a stand-in for the kernel read and write
//! it.
//!
//! Source: the kernel's Documentation/filesystems/resctrl.rst, and its fs/resctrl.

pub mod language;

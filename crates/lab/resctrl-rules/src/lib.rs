//! What kernels do with Linux's resctrl, as a pure machine.
//!
//! [`platform`] describes machines. [`rules`] is the kernel's behaviour: one state machine. The
//! text of the files is that of [`fairways_resctrl::language`].
//!
//! Source: the kernel's Documentation/filesystems/resctrl.rst, and its fs/resctrl.

pub mod platform;
pub mod rules;

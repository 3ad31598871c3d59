//! The kernel lab: a real Linux kernel under QEMU's software emulation, on any machine, in seconds.
//!
//! Debian's kernel boots with a processor that, to the kernel, has cache allocation, code and data
//! prioritisation, memory bandwidth allocation and monitoring: a breakpoint of gdb on the kernel's
//! CPUID helper answers in the processor's place ([`Processor`]). The kernel's resctrl accepts,
//! refuses and reports as on real hardware. No cache is partitioned, and monitoring counters read
//! as set by [`Counters`].
//!
//! ```no_run
//! use fairways_kernel_lab::{Guest, Kernel, Lab, Processor};
//!
//! let lab = Lab::prepare(Kernel::Sid)?;
//! let job = "mount -t resctrl resctrl /sys/fs/resctrl && cat /sys/fs/resctrl/schemata";
//! let outcome = Guest::new().processor(Processor::default()).job(job).run(&lab)?;
//! assert_eq!(outcome.code, 0);
//! # Ok::<(), fairways_kernel_lab::Error>(())
//! ```
//! [`steps`] is a small language of operations on a resctrl tree, which runs in the guest and on
//! anything else that looks like resctrl; [`generate`] makes up sequences of them.

mod apt;
mod console;
mod debugger;
mod error;
pub mod generate;
mod guest;
mod initramfs;
mod known;
mod lab;
mod process;
mod processor;
mod scratch;
pub mod steps;
mod tools;
mod unpack;

pub use debugger::RegisterWrite;
pub use error::Error;
pub use guest::{Guest, Outcome};
pub use lab::{Kernel, Lab, required};
pub use processor::{Bandwidth, Cache, Counters, Monitoring, Processor, Topology, Vendor};

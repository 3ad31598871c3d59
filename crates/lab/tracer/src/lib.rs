//! The memory accesses of an unmodified program, reference by reference.
//!
//! A program runs under QEMU's user mode, into which a plugin (`crates/lab/tracer-plugin`) is
//! loaded. Each of its threads writes the lines that it uses, and the number of instructions it
//! ran, to a ring of its own in memory that is shared with the reader; the reader
//! ([`TracedProgram`], with the feature `launch`) takes them out at its own pace, and a thread
//! whose ring is full waits. So the program runs as fast as the reader lets it.
//!
//! - A thread in a system call is asleep: its earlier accesses are visible, and the reader does not
//!   wait for it. So is one that waits inside QEMU.
//! - The accesses of a program's threads come one thread after the other, as from a core that they
//!   share.
//! - Forks and executed programs are noted ([`Note`]). They are not traced, unless that is
//!   requested.
//! - Time is not virtual. Durations in real time mean nothing.
//! - A reader that ends ends its programs, and nothing stays in memory. If it is killed by SIGKILL,
//!   the programs that it started end as well, and of their children those that are traced, as soon
//!   as they do anything; other processes are not this crate's to kill.

#[cfg(feature = "launch")]
mod beside;
mod command;
#[cfg(feature = "launch")]
mod groups;
#[cfg(feature = "launch")]
mod guard;
#[cfg(feature = "launch")]
mod larger_l1;
mod last_lines;
mod notes;
mod producer;
#[cfg(feature = "launch")]
mod program;
mod record;
mod segment;
#[cfg(feature = "launch")]
mod start;

#[cfg(feature = "launch")]
pub use beside::Companion;
pub use command::{Executable, QEMU, Unfit, find};
#[cfg(feature = "launch")]
pub use groups::kill_all;
pub use last_lines::l1_filter;
pub use notes::{Note, NoteKind};
pub use producer::{Producer, Session};
#[cfg(feature = "launch")]
pub use program::{TraceState, TracedProgram};
pub use record::{LINE_SHIFT, Line, Record, TraceEntry};
#[cfg(feature = "launch")]
pub use start::{FIXED_ENVIRONMENT, Launch, StartError};

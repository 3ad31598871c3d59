//! What an unmodified program does with memory, reference by reference.
//!
//! A program runs under QEMU's user mode, into which a plugin (`crates/tracer-plugin`) is loaded. Every
//! thread of it writes the lines that it uses, and how many instructions it ran, to a ring of its own in
//! memory that is shared with the reader; the reader ([`Program`], with the feature `launch`) takes them
//! out at its own pace, and a thread whose ring is full waits. So the program runs as fast as the reader lets
//! it.
//!
//! - A thread in a system call is asleep: what it has done before is seen, and nobody waits for it. So is one
//!   that waits inside QEMU.
//! - What the threads of a program do comes from one after the other, as from a core that they share.
//! - Forks and executed programs are noted ([`Note`]). They are not traced, unless that is asked for.
//! - Time is not virtual. How long anything took in real time means nothing.
//! - A reader that ends takes its programs along, and nothing stays in memory. One that is killed by SIGKILL takes
//!   along those that it started, and of their children those that are traced, as soon as they do
//!   anything; others are nobody's to kill.

#[cfg(feature = "launch")]
mod beside;
mod command;
#[cfg(feature = "launch")]
mod groups;
#[cfg(feature = "launch")]
mod guard;
mod notes;
mod producer;
#[cfg(feature = "launch")]
mod program;
mod record;
mod segment;
#[cfg(feature = "launch")]
mod start;

#[cfg(feature = "launch")]
pub use beside::Beside;
pub use command::{QEMU, Target, Unfit, find};
#[cfg(feature = "launch")]
pub use groups::kill_all;
pub use notes::{Kind, Note};
pub use producer::{Producer, Session};
#[cfg(feature = "launch")]
pub use program::{Program, State};
pub use record::{LINE_SHIFT, Line, Record, Told};
#[cfg(feature = "launch")]
pub use start::{Launch, StartError};

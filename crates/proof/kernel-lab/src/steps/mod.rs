//! Operations on a resctrl tree, one per line, and their results.
//!
//! | line | what is done |
//! |---|---|
//! | `sequence NAME` | nothing: names what follows in the transcript |
//! | `reset [OPTIONS]` | unmount, then mount with these options |
//! | `mkdir PATH`, `rmdir PATH`, `mv PATH PATH` | as the system calls do |
//! | `write PATH TEXT` | open for writing, one write, close |
//! | `read PATH`, `ls PATH` | what a file or a directory holds |
//! | `tree` | everything: modes, owners, contents |
//! | `cpu N on` or `off` | a CPU is plugged in or out |
//! | `wait MS` | milliseconds pass |
//! | `as UID` | what follows is done by this user |
//!
//! Paths are relative to the mount. Paths and texts with blanks are in quotes, with the escapes of
//! Rust's byte strings (`\n`, `\t`, `\\`, `\"`, `\xNN`). `@p`, `@q` (processes of root), `@u`, `@v`
//! (of users 1000 and 1001), `@t` (a thread of the writer) and `@self` (the writer) in a text stand
//! for the ids of these tasks, and are shown instead of them; other tasks are not shown.
//!
//! The [`transcript`](run) has, for each step, the line itself behind `> `, then its result: `= ok`
//! or the name of the error, the content that was read behind `| `, and `info/last_cmd_status`
//! behind `? `. It is the same from run to run.

mod errno;
mod execute;
mod files;
mod language;
mod rules;
mod tasks;

pub use errno::Errno;
pub use execute::{Entry, Target, run};
pub use files::{Files, KernelMount, Mounting};
pub use language::{Malformed, Step, parse, quoted};
pub use rules::Rules;
pub use tasks::{LABELS, Label, Placeholders, stand_in};

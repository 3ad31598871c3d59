//! `fairways`, the command line for servers.
//!
//! Exit codes: 0, done; 1, failed; 2, bad usage or bad input, explained in one line; 3, this host
//! is not supported; 4, another manager occupies its cache; 5, no permission; 130, interrupted.

mod args;
mod doctor;
mod export;
mod scan;

use std::process;

use fairways_verbs::{Door, OtherDoor};

use args::ServerArgs;

/// What to begin with, by purpose.
const EXAMPLES: &str = "\
On this server:
  fairways doctor                          check what this host supports
  fairways scan                            list the programs that use the cache
  fairways run --config fairways.toml      share the cache, until Ctrl-C
  fairways trial --config fairways.toml    measure whether that helps

While it runs:
  fairways top                             watch programs and their ways
  fairways explain                         show the last decisions, and why
  fairways blame                           see which program slows which
  fairways report run.journal              show a journal as a page of HTML

To try policies without a server: fairways-lab";

/// The door: its commands and flags, and where those of the other one are.
pub const DOOR: Door = Door {
    name: "fairways",
    examples: EXAMPLES,
    date: env!("FAIRWAYS_DATE"),
    derived: args::command,
    needs: &[
        ("at", "journal"),
        ("height", "once"),
        ("journal_parts", "journal"),
        ("journal_size", "journal"),
        ("until", "journal"),
        ("width", "once"),
    ],
    misplaced: |_, _| None,
    other: OtherDoor {
        name: "fairways-lab",
        verbs: &[
            "simulate", "optimum", "programs", "profile", "record", "paper", "sweep", "emulate",
            "emulated",
        ],
        flags: &[
            ("run", "machine"),
            ("trial", "machine"),
            ("top", "machine"),
            ("top", "emulated"),
            ("blame", "machine"),
        ],
    },
};

/// Runs the command line of this process, and returns one of the exit codes above.
#[must_use]
pub fn main() -> process::ExitCode {
    DOOR.main::<ServerArgs>()
}

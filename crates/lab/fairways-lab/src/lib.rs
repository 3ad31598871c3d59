//! `fairways-lab`, the command line for research: policies on simulated machines.
//!
//! Exit codes: 0, done; 1, failed; 2, bad usage or bad input, explained in one line; 130,
//! interrupted.

mod args;
mod chip;
mod emulate;
mod optimum;
mod paper;
mod plot;
mod profiling;
mod run;
mod simulate;
mod sweep;

use std::process;

use fairways_verbs::{Door, OtherDoor};

use args::Args;

/// What to begin with, by purpose.
const EXAMPLES: &str = "\
See what happens, on any computer:
  fairways-lab simulate                        compare policies on real programs
  fairways-lab profile -- gzip -k big.tar      measure a program by number of ways
  fairways-lab optimum --mix lbm,svm-train     find the fairest plan there can be
  fairways-lab policies dcat                   show a policy and its parameters

Research:
  fairways-lab paper lfoc --quick              repeat a paper's experiments
  fairways-lab sweep write plan.toml           run many simulations, on a cluster too
  fairways-lab report results.json             show results as a page of HTML

To manage a server: fairways";

/// The exit codes: those of hosts do not occur.
const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 bad usage or bad input, 130 interrupted";

/// The door: its commands and flags, and where those of the other one are.
pub const DOOR: Door = Door {
    name: "fairways-lab",
    examples: EXAMPLES,
    date: env!("FAIRWAYS_DATE"),
    derived: args::command,
    needs: &[
        ("apart", "slices"),
        ("at", "journal"),
        ("bandwidth_levels", "bandwidth_mbps"),
        ("bandwidth_model", "bandwidth_mbps"),
        ("height", "once"),
        ("journal_parts", "journal"),
        ("journal_size", "journal"),
        ("slices", "apart"),
        ("slices", "instructions"),
        ("until", "journal"),
        ("width", "once"),
    ],
    misplaced: args::misplaced,
    other: OtherDoor {
        name: "fairways",
        verbs: &["doctor", "scan", "status", "restore", "config", "collect", "export"],
        flags: &[
            ("run", "config"),
            ("run", "program"),
            ("run", "dry-run"),
            ("run", "observe"),
            ("trial", "config"),
            ("trial", "program"),
            ("trial", "dry-run"),
            ("trial", "observe"),
            ("top", "control"),
            ("blame", "control"),
        ],
    },
};

/// Runs the command line of this process, and returns one of the exit codes above.
#[must_use]
pub fn main() -> process::ExitCode {
    DOOR.main::<Args>()
}

//! `fairways-lab` as users start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairways_lab::main()
}

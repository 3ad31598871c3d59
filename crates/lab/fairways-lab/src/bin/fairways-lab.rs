//! The command `fairways-lab`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairways_lab::main()
}

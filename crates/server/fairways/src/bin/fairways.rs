//! The command `fairways`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairways::main()
}

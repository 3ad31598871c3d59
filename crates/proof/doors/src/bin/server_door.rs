//! `fairways` as users start it, except that it also knows `--counters profiles`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairways_daemon::invent_by(fairways_doors::PROFILES);
    fairways::main()
}

//! Stands in for the scheduler in the kernel where this program was built without it.

use fairways_ledger::OpenError;
use fairways_turns::{Scheduler, Settings};

const WHY: &str = "this fairways was built without it (cargo build --features sched-ext)";

pub(super) fn open(_: &Settings) -> Result<Box<dyn Scheduler>, OpenError> {
    Err(OpenError::NotSupported(WHY.to_owned()))
}

pub(super) fn supported() -> Result<(), String> {
    Err(WHY.to_owned())
}

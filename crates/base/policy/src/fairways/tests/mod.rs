mod bandwidth;
mod cpu_time;
mod judged;
mod learning;
mod learning_bench;
mod placed;
mod plans;
mod promised;
mod services;

use alloc::vec::Vec;

use fairways_core::{AppId, Wish};

use crate::program::RunningProgram;

/// Programs without profiles that were promised these ways, from program 0 on.
pub(super) fn programs_with_promises(promised: &[Option<u32>]) -> Vec<RunningProgram> {
    let programs = (0..).zip(promised).map(|(app, &baseline_ways)| RunningProgram {
        app: AppId(app),
        wish: Wish { baseline_ways, ..Wish::default() },
        profile: None,
    });
    programs.collect()
}

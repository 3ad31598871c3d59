//! Flags of a machine with several last-level caches.

use fairways_command_kit::BadInput;
use fairways_command_kit::input::whole;
use fairways_core::{MachineCache, Ways};
use fairways_simulation::caches;

/// The last-level caches of a machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "With several caches")]
pub(crate) struct CacheFlags {
    /// How many last-level caches the machine has; the policies fairways and optimum decide where
    /// each program runs, other policies get the programs in turn [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, 16_u32))]
    pub(crate) caches: Option<u32>,

    /// CPUs of each cache, which runs at most as many programs: 8, or 8,8 [default: enough]
    #[arg(long, value_name = "N,...", allow_negative_numbers = true, value_delimiter = ',',
        value_parser = whole(1, 1024_u32))]
    pub(crate) cpus: Vec<u32>,
}

impl CacheFlags {
    /// The caches, if there are several; `refused` names a flag beside which that can't be.
    pub(super) fn checked(
        &self,
        ways: &[u32],
        rules: (u32, u32, Ways),
        refused: Option<&str>,
    ) -> Result<Vec<MachineCache>, BadInput> {
        let caches = caches(self.caches, (ways, &self.cpus), rules)?;
        match refused {
            Some(flag) if !caches.is_empty() => {
                Err(BadInput(format!("--caches: expected one cache with {flag}")))
            }
            _ => Ok(caches),
        }
    }
}

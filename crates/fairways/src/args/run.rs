//! The flags of a run.

use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::input::{size, time, whole};
use fairways_command_kit::policies::Setting;
use fairways_policy::Descriptor;

use super::policies::PolicyName;
use super::{ChipFlags, ENDLESS, HostFlags, Machine, Names, Observation, TimeScale, World};

/// Look after this host's programs under a policy; or run programs on a simulated machine
///
/// Without --machine, this host's programs get their ways under the policy through resctrl, until it
/// is told to stop (SIGINT or SIGTERM), and everything is put back. SIGHUP reads the configuration
/// anew.
///
/// With it, programs run on a simulated machine, the analytic model over time or a chip: they finish
/// and start again, and the policy is told nothing of them beforehand. What it makes of them is
/// reported as it happens, and how they fared in the end, beside the same without partitioning.
///
/// Examples:
///   fairways run --dry-run --program web=unit:nginx.service --program 'batch=process:make'
///   fairways run --policy dcat --config fairways.toml
///   fairways run --machine chip:xeon-d --programs mlr:500K,mload:60M --time-scale 0.1
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    /// The machine: the analytic model, or a chip that executes programs (chip:xeon-e5, say;
    /// docs/chip.md) [default: this host]
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<Machine>,

    #[command(flatten)]
    pub(crate) host: HostFlags,

    #[command(flatten)]
    pub(crate) of: RunFlags,

    /// Write every event and action to this file, which `fairways replay` reads
    #[arg(long, value_name = "FILE", help_heading = None::<&'static str>)]
    pub(crate) journal: Option<PathBuf>,

    /// Begin a new part of the journal where one would grow beyond this: 500K, 64M, 2G [default: 256M]
    #[arg(long, value_name = "SIZE", requires = "journal", value_parser = size,
        help_heading = None::<&'static str>)]
    pub(crate) journal_size: Option<u64>,

    /// Keep so many finished parts of the journal, and delete older ones [default: 16 on a host, else all]
    #[arg(long, value_name = "N", requires = "journal", allow_negative_numbers = true,
        value_parser = whole(0, u32::MAX), help_heading = None::<&'static str>)]
    pub(crate) journal_parts: Option<u32>,

    /// Print one JSON object in the end, instead of a report as it goes (docs/run.md)
    #[arg(long, help_heading = None::<&'static str>)]
    pub(crate) json: bool,

    /// Report only how the programs fared in the end
    #[arg(long, short, conflicts_with = "json", help_heading = None::<&'static str>)]
    pub(crate) quiet: bool,
}

/// What follows flags of a machine that is simulated in a help text.
const SIMULATED: &str = "On a simulated machine";

/// What runs, under which policy, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) world: World,

    #[command(flatten)]
    pub(crate) chip: ChipFlags,

    /// On a chip, everything that the policy knows takes so much less time: 0.1, a tenth
    /// [default: 1]
    #[arg(long, value_name = "X", help_heading = "On a chip")]
    pub(crate) time_scale: Option<TimeScale>,

    /// The programs, by name [default: eight, drawn by --seed]
    #[arg(long, value_name = "A,B,C", help_heading = SIMULATED)]
    pub(crate) mix: Option<Names>,

    /// The policy (`fairways policies` lists them; locpart not on the model, casc and cache-fair only
    /// on a chip or this host) [default: lfoc, or what the configuration says]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PolicyName,
        hide_possible_values = true,
        help_heading = None::<&'static str>
    )]
    pub(crate) policy: Option<&'static Descriptor>,

    /// A parameter of the policy; may be given more than once (`fairways policies NAME` lists
    /// them)
    #[arg(long, value_name = "NAME=VALUE", help_heading = None::<&'static str>)]
    pub(crate) set: Vec<Setting>,

    /// How long to run, on the machine's clock: 500ms, 60s, 2m [default: 60s; on this host, until told
    /// to stop]
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = None::<&'static str>)]
    pub(crate) duration: Option<Duration>,

    /// Instructions after which a program finishes and starts again; services run on
    #[arg(long, value_name = "N", default_value = "150000000000", allow_negative_numbers = true,
        value_parser = whole(1, ENDLESS), help_heading = SIMULATED)]
    pub(crate) instructions: u64,

    /// Tell the policy the profiles
    #[arg(long, help_heading = SIMULATED)]
    pub(crate) known_profiles: bool,

    #[command(flatten)]
    pub(crate) observation: Observation,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::args::Args;

    /// What holds on a host and on machines stands under neither; flags of one stand under its heading.
    #[test]
    fn flags_stand_under_the_headings_that_they_belong_to() {
        let both = ["machine", "policy", "set", "duration", "journal", "json", "mixes", "policies"];
        let of = [
            ("config", "On this host"),
            ("dry-run", "On this host"),
            ("log-level", "On this host"),
            ("profiles", "On a simulated machine"),
            ("seed", "On a simulated machine"),
            ("known-profiles", "On a simulated machine"),
            ("programs", "On a chip"),
            ("placement", "On a chip"),
            ("noise", "Over time"),
        ];
        let mut seen = 0;
        for name in ["run", "trial", "top"] {
            let all = Args::command();
            let command = all.find_subcommand(name).unwrap();
            for flag in command.get_arguments() {
                let (Some(long), heading) = (flag.get_long(), flag.get_help_heading()) else {
                    continue;
                };
                if both.contains(&long) {
                    assert_eq!(heading, None, "{name} --{long}");
                    seen += 1;
                }
                if let Some((_, expected)) = of.iter().find(|(of, _)| *of == long) {
                    assert_eq!(heading, Some(*expected), "{name} --{long}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 35, "{seen}");
    }
}

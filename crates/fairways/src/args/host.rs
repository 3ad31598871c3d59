//! The flags of what is about a real host, or for one.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use fairways_command_kit::input::whole;
use fairways_export::CacheDomain;

/// Say what this host can, what is in the way, and what to do about it
///
/// Looks at the CPU, the kernel, resctrl, who else uses it, perf and cgroups, and changes nothing. Ends with what is possible:
/// giving out ways, watching them, counting.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 the host can be managed, 3 it cannot, 4 others hold its cache, 5 this user may not"
)]
pub(crate) struct Doctor {
    /// resctrl's directory, an emulator's perhaps [default: where it is mounted]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Examine the host whose /proc, /sys and /boot are in this folder
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) sysroot: PathBuf,

    /// Print one JSON object instead of lines (docs/doctor.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check the daemon's configuration, or show what holds
///
/// Without a file: /etc/fairways/fairways.toml, or else /usr/share/fairways/fairways.toml, and
/// /etc/fairways/fairways.toml.d/*.toml on top (docs/config.md).
#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) asked: AskedOfConfig,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AskedOfConfig {
    /// Print ok, or what is wrong, a line each (exit code 2)
    Check {
        /// The configuration; FILE.d/*.toml are read on top of it
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print what holds, defaults included, as TOML
    Show {
        /// The configuration; FILE.d/*.toml are read on top of it
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Print it as one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Write a plan down for other tools: resctrl by hand, pqos, goresctrl
///
/// The plan is one that `simulate`, `optimum`, `run --dry-run` or `status` printed with --json. Nothing is changed.
///
/// Example: fairways optimum --mix triad,hash-join --json | fairways export --format pqos
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// A file with the JSON, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) plan: PathBuf,

    /// For whom
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Which mix, by its name, if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) mix: Option<String>,

    /// Whose plan, if there are several policies
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,

    /// The L3 cache, as resctrl numbers it, or all; may be given more than once, but for the plan of a host
    #[arg(long, value_name = "ID", default_value = "0", allow_negative_numbers = true)]
    pub(crate) domain: Vec<CacheDomain>,

    /// pqos: the class of the first cluster; the others follow
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, 1_u32 << 16))]
    pub(crate) first_cos: u32,
}

impl From<Export> for fairways_export::Options {
    fn from(Export { plan, format, mix, policy, domain, first_cos }: Export) -> Self {
        let format = match format {
            Format::Schemata => fairways_export::Format::Schemata,
            Format::Pqos => fairways_export::Format::Pqos,
            Format::Goresctrl => fairways_export::Format::Goresctrl,
        };
        Self { plan, format, mix, policy, domain, first_cos }
    }
}

/// Who reads an exported plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A shell script that writes resctrl's files
    Schemata,
    /// Commands of intel-cmt-cat's pqos
    Pqos,
    /// goresctrl's YAML, for its `rdt configure`, containerd and CRI-O
    Goresctrl,
}

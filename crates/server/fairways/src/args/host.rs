//! The flags of `doctor`, `config` and `export`, which are for a real host.

use std::io::Write;
use std::path::PathBuf;

use crate::export::CacheDomain;
use clap::{Subcommand, ValueEnum};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{shown, size, whole};

/// Check what this host supports, and how to fix what is missing
///
/// Examples:
///   fairways doctor
///   fairways doctor --json
///   fairways doctor --from fairways-copy
///
/// Checks the CPU, the kernel, resctrl and its other users, perf and cgroups, and
/// changes nothing. The last lines say whether this host can give out ways, monitor
/// their use, and count instructions and misses.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Exit codes: 0 the host can be managed, 3 it cannot, 4 others hold its cache, 5 this user may not"
)]
pub(crate) struct Doctor {
    /// Where resctrl, or an emulator, is mounted [default: the mount that the kernel lists]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Check the host whose /proc, /sys and /boot are in this folder
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) sysroot: PathBuf,

    /// Check another host by a copy that `fairways collect` made of it there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["sysroot", "resctrl_root"])]
    pub(crate) from: Option<PathBuf>,

    /// Print one JSON object instead of text (docs/doctor.md)
    #[arg(long)]
    pub(crate) json: bool,
}

impl Doctor {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let [from, resctrl] = [&self.from, &self.resctrl_root].map(Option::as_deref);
        crate::doctor::run(&self.sysroot, from, resctrl, self.json, out)
    }
}

/// Copy what `doctor` reads of this host, to examine it elsewhere
///
/// Examples:
///   fairways collect
///   fairways collect -o db1.tar
///   fairways collect --script > collect.sh
///
/// The copy has nothing private: no command lines, no names of users, hosts or
/// groups, no addresses (docs/collect.md). `fairways doctor --from` reads it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "As a user other than root, it copies what that user can read"
)]
pub(crate) struct Collect {
    /// Where to put it: a new folder, or a new file whose name ends in .tar
    #[arg(short, long, value_name = "DIR", default_value = "fairways-copy")]
    pub(crate) output: PathBuf,

    /// Copy the host whose /proc, /sys and /boot are in this folder
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) sysroot: PathBuf,

    /// Print the shell script that makes the copy, to read it or to run it without this program
    #[arg(long, conflicts_with_all = ["output", "sysroot"])]
    pub(crate) script: bool,
}

impl Collect {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.script {
            return Ok(write!(out, "{}", fairways_doctor::collect::SCRIPT)?);
        }
        let (to, root) = (&self.output, &self.sysroot);
        if !root.is_dir() {
            let said = format!("--sysroot: expected a directory, found {}", shown(root));
            return Err(BadInput(said).into());
        }
        if to.exists() {
            let said = format!("--output: expected a name that is free, found {}", shown(to));
            return Err(BadInput(said).into());
        }
        fairways_doctor::collect::collect(to, root)?;
        let is_packed = to.extension().is_some_and(|extension| extension == "tar");
        let to = shown(to);
        let next = match is_packed {
            true => "unpack it into a folder, then: fairways doctor --from FOLDER".to_owned(),
            false => format!("to examine it: fairways doctor --from {to}"),
        };
        writeln!(out, "copied to {to}; {next}")?;
        Ok(())
    }
}

/// Check or show the daemon's configuration, or make one from another manager's
///
/// Examples:
///   fairways config check fairways.toml
///   fairways config show --json fairways.toml
///   fairways config import rdt.yaml pods.yaml -o fairways.toml
///
/// Without a file, `check` and `show` read /etc/fairways/fairways.toml, or if there is none,
/// /usr/share/fairways/fairways.toml, and /etc/fairways/fairways.toml.d/*.toml on
/// top of it (docs/config.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) asked: AskedOfConfig,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AskedOfConfig {
    /// Print ok, or each error in a line (exit code 2)
    Check {
        /// Configuration to read; FILE.d/*.toml are read on top of it
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print all effective values, defaults included, as TOML
    Show {
        /// Configuration to read; FILE.d/*.toml are read on top of it
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Print one JSON object instead of TOML
        #[arg(long)]
        json: bool,
    },
    Import(Import),
}

/// Make a configuration from other managers' configurations, or from their groups
///
/// Examples:
///   fairways config import rdt.yaml pods.yaml -o fairways.toml
///   virsh dumpxml web | fairways config import -
///   fairways config import --live
///
/// It reads goresctrl's YAML, koordlet's and rubik's levels, libvirt's domains, pods of
/// Kubernetes, and the groups of a mounted resctrl. Comments in the result say what has
/// no counterpart here, and why (docs/config.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Import {
    /// A file, - for standard input, or a folder where resctrl is mounted
    #[arg(value_name = "SOURCE", required_unless_present = "live")]
    pub(crate) sources: Vec<PathBuf>,

    /// Read the groups below /sys/fs/resctrl, whichever manager made them
    #[arg(long)]
    pub(crate) live: bool,

    /// What the sources are [default: as their content says]
    #[arg(long, value_name = "KIND")]
    pub(crate) from: Option<ImportFrom>,

    /// A new file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// How many ways the last-level cache has [default: as many as this host's]
    #[arg(long, value_name = "N", value_parser = whole(1, 32_u32))]
    pub(crate) ways: Option<u32>,

    /// How large the last-level cache is, such as 32M [default: as large as this host's]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) cache_size: Option<u64>,
}

impl From<Import> for fairways_daemon::config::ImportOptions {
    fn from(import: Import) -> Self {
        let Import { sources, live, from, output, ways, cache_size } = import;
        Self { sources, live, from: from.map(Into::into), output, ways, cache_size }
    }
}

/// What a source of `config import` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFrom {
    /// goresctrl's YAML, as containerd and CRI-O read it
    Goresctrl,
    /// koordlet's levels: slo-controller-config, or a NodeSLO
    Koordinator,
    /// rubik's levels: config.json
    Rubik,
    /// A domain of libvirt, from `virsh dumpxml`
    Libvirt,
    /// A resctrl file system
    Resctrl,
}

same!(ImportFrom => fairways_daemon::config::SourceKind: Goresctrl, Koordinator, Rubik, Libvirt, Resctrl);

/// Convert a plan for other tools: resctrl by hand, pqos, goresctrl
///
/// Examples:
///   fairways-lab optimum --mix lbm,svm-train --json | fairways export --format pqos
///   fairways export --format schemata --policy lfoc plan.json
///   fairways status --json | fairways export --format goresctrl
///
/// It reads a plan that `fairways run --dry-run`, `fairways status`, `fairways-lab simulate`
/// or `fairways-lab optimum` printed with --json, and changes nothing.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Export {
    /// A file with the JSON, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) plan: PathBuf,

    /// The tool that reads the output
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// The mix to export, by name; needed if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) mix: Option<String>,

    /// The policy whose plan to export; needed if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,

    /// The L3 cache, by resctrl's number, or all; may be given more than once, except for the plan
    /// of a host
    #[arg(long, value_name = "ID", default_value = "0", allow_negative_numbers = true)]
    pub(crate) domain: Vec<CacheDomain>,

    /// For pqos: the class of the first cluster; the others get the next ones
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, 1_u32 << 16))]
    pub(crate) first_cos: u32,
}

impl From<Export> for crate::export::Options {
    fn from(Export { plan, format, mix, policy, domain, first_cos }: Export) -> Self {
        Self { plan, format: format.into(), mix, policy, domain, first_cos }
    }
}

/// The tool that reads an exported plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A shell script that writes resctrl's files
    Schemata,
    /// Commands of intel-cmt-cat's pqos
    Pqos,
    /// goresctrl's YAML, for its `rdt configure`, containerd and CRI-O
    Goresctrl,
}

same!(Format => crate::export::Format: Schemata, Pqos, Goresctrl);

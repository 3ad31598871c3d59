//! The flags of `sweep`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::sweep::{Point, Shard, SweepRun, shard};
use anyhow::Context;
use clap::Subcommand;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::whole;

use super::{Args, Command};
use crate::DOOR;

/// Run many simulations as points of a plan, on this machine or a cluster
///
/// Examples:
///   fairways-lab sweep write plan.toml
///   fairways-lab sweep run plan.sweep --shard 1/8
///   fairways-lab sweep merge plan.sweep -o results.parquet
///
/// A plan names a command (simulate or optimum), flags, and axes with the values of
/// other flags; its points are all combinations. Each is a process with a file in and
/// a file out. `run` skips what is done (docs/sweep.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    pub(crate) step: SweepStep,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepStep {
    /// Write the points of a plan into a folder; results of the same points stay
    Write {
        /// The plan, in TOML
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// The folder [default: the plan's path, with .sweep for its ending]
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Run the points that have no result, several at once
    Run {
        /// The folder of the sweep
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Run a part of the points: 1/8 is the first of eight, 0/8 the last [default: all]
        #[arg(long, value_name = "I/N", value_parser = shard)]
        shard: Option<Shard>,
        /// How many run at once [default: as many as there are CPUs]
        #[arg(long, value_name = "N", value_parser = whole(1, 4096_u32))]
        jobs: Option<u32>,
    },
    /// Run a point, as GNU parallel, Slurm or Snakemake do
    Point {
        /// The point's file, in `points` of the folder
        #[arg(value_name = "FILE")]
        point: PathBuf,
        /// Write the result here [default: into `results` beside `points`]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// End when the process with this id ends, which started this one
        #[arg(long, hide = true)]
        with_parent: Option<u32>,
    },
    /// Write all results as one table, in the plan's order
    Merge {
        /// The folder of the sweep
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The table: Parquet if its name ends in .parquet, else CSV; - is standard output
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
        /// Leave out points that have no result
        #[arg(long)]
        partial: bool,
    },
    /// Show how many points have a result
    Status {
        /// The folder of the sweep
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Print one JSON object (docs/sweep.md)
        #[arg(long)]
        json: bool,
    },
}

/// The version that points are for. Builds of a commit with changes have the same version: the
/// program's file distinguishes them.
fn version() -> anyhow::Result<String> {
    let version = env!("FAIRWAYS_VERSION");
    if !env!("FAIRWAYS_HASH").is_empty() && !version.contains("-dirty") {
        return Ok(version.to_owned());
    }
    let own = std::env::current_exe()?.metadata()?;
    let at = own.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{version} {}.{}", own.len(), at.as_nanos()))
}

impl Sweep {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let version = version().context("can't read this program's file")?;
        match self.step {
            SweepStep::Write { plan, output } => {
                let dir = output.unwrap_or_else(|| plan.with_extension("sweep"));
                let status = crate::sweep::write(&plan, &dir, &version, check)?;
                status.print(&dir, false, out)
            }
            SweepStep::Run { dir, shard, jobs } => {
                let cpus = std::thread::available_parallelism().map_or(1, usize::from);
                let own = std::env::current_exe().context("can't find this program's file")?;
                let own = own.into_os_string().into_string();
                let own =
                    own.map_err(|path| BadInput(format!("{path:?}: expected a path in UTF-8")))?;
                let with_parent = format!("--with-parent={}", std::process::id());
                let running = SweepRun {
                    dir,
                    version,
                    shard: shard.unwrap_or(Shard::ALL),
                    jobs: jobs.map_or(cpus, |jobs| jobs as usize),
                    program: vec![own, "sweep".into(), "point".into(), with_parent],
                };
                let count = crate::sweep::run(&running)?;
                Ok(writeln!(out, "{count} points run")?)
            }
            SweepStep::Point { point, output, with_parent } => {
                if let Some(parent) = with_parent {
                    crate::sweep::end_with_parent(parent)?;
                }
                let result = output.map_or_else(|| beside(&point), Ok)?;
                crate::sweep::run_point(&point, &result, &version, |point, csv| {
                    match verb(point)? {
                        Command::Simulate(simulate) => simulate.run(csv),
                        Command::Optimum(optimum) => optimum.run(csv),
                        _ => Ok(()),
                    }
                })
            }
            SweepStep::Merge { dir, output, partial } => {
                let rows = crate::sweep::merge(&dir, &output, partial, out)?;
                if output.as_os_str() != "-" {
                    writeln!(out, "written to {}: {rows} rows", output.display())?;
                }
                Ok(())
            }
            SweepStep::Status { dir, json } => crate::sweep::status(&dir)?.print(&dir, json, out),
        }
    }
}

/// Checks what can be known of a point before it is run.
fn check(point: &Point) -> Result<(), String> {
    let checked = verb(point).map_err(|why| why.0)?;
    let checked = match checked {
        Command::Simulate(simulate) => simulate.check(),
        Command::Optimum(optimum) => optimum.check(),
        _ => Ok(()),
    };
    checked.map_err(|why| format!("{why:#}"))
}

/// The verb that a point runs.
fn verb(point: &Point) -> Result<Command, BadInput> {
    let words = point.command_line().map(OsString::from).collect();
    DOOR.parsed::<Args>(words)
        .map(|args| args.command)
        .map_err(|error| BadInput(DOOR.one_line(&error)))
}

/// The result of a point that lies where `sweep write` puts it.
fn beside(point: &Path) -> Result<PathBuf, BadInput> {
    let whole = std::path::absolute(point).unwrap_or_else(|_| point.to_owned());
    let dir = whole.parent().and_then(Path::parent);
    let name = point.file_stem().filter(|_| point.extension().is_some_and(|end| end == "json"));
    let (Some(dir), Some(name)) = (dir, name) else {
        let found = point.display();
        let expected = "expected DIR/points/NAME.json, or --output";
        return Err(BadInput(format!("{found}: {expected}")));
    };
    Ok(dir.join("results").join(name).with_extension("csv"))
}

//! The program of a measurement, and its run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use fairways_chip::Slices;
use fairways_chip::program::{
    Accesses, LiveProgram, LiveProgramError, SimulatedProgram, StreamReplay,
};
use fairways_command_kit::{BadInput, input, warn};
use fairways_profiles::{MeasuredRun, hexadecimal};
use fairways_tracer::{FIXED_ENVIRONMENT, Launch, StartError};
use sha2::{Digest, Sha256};

use super::steppable::{RunEnd, Steppable};
use crate::args::Traced;

/// Cycles of an instruction while everything hits the L1, and misses under way at once, without
/// `--cpi` and `--overlap`.
pub(crate) const CPI: f64 = 0.5;
pub(crate) const OVERLAP: f64 = 4.0;

/// A program to measure, whose flags are valid.
pub(crate) struct TracedCommand {
    pub(crate) name: String,
    pub(crate) machine: String,
    pub(crate) program: SimulatedProgram,
    pub(crate) slices: Slices,
    /// Whether a run that failed, or ended too soon, is kept.
    keep_any: bool,
    /// The run, without its result, once it was looked at.
    run: OnceLock<MeasuredRun>,
}

impl TracedCommand {
    /// Reads the flags of `profile`.
    pub(crate) fn profiled(args: &Traced, by_address: bool, quiet: bool) -> anyhow::Result<Self> {
        let has_fixed_part = args.skip.is_some() || args.instructions.is_some();
        Self::new(args, by_address, quiet, has_fixed_part || !args.env.is_empty())
    }

    /// Reads the flags of `record`: its runs are always to come out alike.
    pub(crate) fn recorded(args: &Traced, quiet: bool) -> anyhow::Result<Self> {
        Self::new(args, false, quiet, true)
    }

    /// `quiet`: the command's output goes to standard error. `is_fixed`: so is its environment.
    fn new(args: &Traced, by_address: bool, quiet: bool, is_fixed: bool) -> anyhow::Result<Self> {
        let machine = format!("chip:{}", args.machine.name);
        let (count, apart) = (args.slices.unwrap_or(1), args.apart.unwrap_or(0));
        let slices =
            Slices { skip: args.skip.unwrap_or(0), length: args.instructions, count, apart };
        if count > 1 && Some(apart) < args.instructions {
            let said = "--apart: expected at least the instructions of a slice";
            return Err(BadInput(said.to_owned()).into());
        }
        let keep_any = args.keep_any;
        if let Some(path) = args.command[0].to_str().and_then(|text| text.strip_prefix("stream:")) {
            return Self::replayed(args, Path::new(path), by_address);
        }
        let launch = Launch {
            follow: args.children,
            quiet,
            qemu: args.qemu.clone(),
            environment: is_fixed.then(|| environment(&args.env)),
            ..Launch::new(args.command.clone())
        };
        let mut live = LiveProgram::new(launch);
        (live.by_address, live.must_succeed) = (by_address, false);
        live.check().map_err(|why| match why {
            LiveProgramError::Program(StartError::NotFound(_) | StartError::Unfit(_)) => {
                BadInput(why.to_string()).into()
            }
            // The command is as it should be; this machine is not.
            why => anyhow::Error::from(why),
        })?;
        let program = SimulatedProgram {
            base_cpi: args.cpi.unwrap_or(CPI),
            overlap: args.overlap.unwrap_or(OVERLAP),
            ..SimulatedProgram::live(live)
        };
        let name = args.name.clone().unwrap_or_else(|| plain_name(&args.command[0]));
        Ok(Self { name, machine, program, slices, keep_any, run: OnceLock::new() })
    }

    /// A stream as the program: all of it, or its first instructions.
    fn replayed(args: &Traced, path: &Path, by_address: bool) -> anyhow::Result<Self> {
        let of_a_run = [
            (by_address, "by-address"),
            (args.children, "children"),
            (!args.env.is_empty(), "env"),
            (args.qemu.is_some(), "qemu"),
            (args.skip.is_some(), "skip"),
            (args.slices.is_some(), "slices"),
        ];
        if let Some((_, flag)) = of_a_run.into_iter().find(|(is_given, _)| *is_given) {
            return Err(BadInput(format!("--{flag}: a stream does not take it")).into());
        }
        let stream = StreamReplay::open(path).map_err(BadInput)?;
        stream.check(&args.machine.geometry).map_err(|why| BadInput(why.to_string()))?;
        let manifest = stream.manifest();
        let machine = format!("chip:{}", args.machine.name);
        let run = MeasuredRun { machine: machine.clone(), ..manifest.run.clone() };
        Ok(Self {
            name: args.name.clone().unwrap_or_else(|| manifest.program.clone()),
            machine,
            slices: Slices {
                length: args.instructions.or(Some(manifest.totals.instructions)),
                ..Slices::ALL
            },
            keep_any: args.keep_any,
            run: OnceLock::from(run),
            program: SimulatedProgram {
                base_cpi: args.cpi.unwrap_or(manifest.cpi),
                overlap: args.overlap.unwrap_or(manifest.overlap),
                ..SimulatedProgram::replayed(stream.clone())
            },
        })
    }

    /// The real program, unless it is a stream.
    pub(crate) fn live(&self) -> Option<&LiveProgram> {
        self.program.as_live()
    }

    /// The remarks on what was not measured.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let remarks = self.live().map(LiveProgram::remarks).unwrap_or_default();
        remarks.into_iter().map(|remark| remark.text).collect()
    }

    /// Warns about what was not measured.
    pub(crate) fn remark(&self) {
        for remark in self.live().map(LiveProgram::remarks).unwrap_or_default() {
            let hint = if remark.of_children { "; --children measures them, too" } else { "" };
            warn(&format!("{}{hint}", remark.text));
        }
    }

    /// The exit code of the run, unless the program was ended after its last instruction that
    /// counts.
    pub(crate) fn exit_code(&self, measured: &impl Steppable) -> Option<i32> {
        let was_cut = self.slices.length.is_some() && measured.is_complete();
        self.live().and_then(LiveProgram::exit_code).filter(|_| !was_cut)
    }

    /// Checks that a run was what was asked for, where only such runs are kept.
    pub(crate) fn check_end(&self, measured: &impl Steppable, end: RunEnd) -> Result<(), BadInput> {
        let (name, seen) = (&self.name, measured.instructions());
        if seen == 0 && self.slices.length.is_none() {
            return Err(BadInput(format!("{name}: ran no instruction that was seen")));
        }
        if self.keep_any && seen > 0 {
            return Ok(());
        }
        let code = self.exit_code(measured).unwrap_or(0);
        let why = if end == RunEnd::Interrupted { "was interrupted" } else { "ended" };
        if let Some(length) = self.slices.length.filter(|_| !measured.is_complete()) {
            let expected = length.saturating_mul(self.slices.count.into());
            return Err(BadInput(format!(
                "{name}: expected {expected} instructions, it {why} after {seen} of them (exit code \
                 {code}); --keep-any keeps these"
            )));
        }
        if code != 0 && end == RunEnd::Ended {
            return Err(BadInput(format!(
                "{name}: ended with exit code {code}; --keep-any keeps the result"
            )));
        }
        Ok(())
    }

    /// The run, for the file with its result.
    pub(crate) fn run(&self, measured: &impl Steppable) -> anyhow::Result<MeasuredRun> {
        if self.live().is_some() && self.run.get().is_none() {
            let _ = self.run.set(self.look_at_run()?);
        }
        let run = self.run.get().cloned().expect("a live program or a stream");
        let exit_code = self.exit_code(measured);
        Ok(MeasuredRun { instructions: measured.instructions(), exit_code, ..run })
    }

    fn look_at_run(&self) -> anyhow::Result<MeasuredRun> {
        let Accesses::Live(live) = &self.program.accesses else {
            unreachable!("a command is measured")
        };
        let (qemu, target) = live.launch.resolve()?;
        let bytes = std::fs::read(&target.file)?;
        let words = live.launch.command.iter().map(|word| word.to_string_lossy().into_owned());
        Ok(MeasuredRun {
            command: words.collect(),
            file: target.file.display().to_string(),
            sha256: hexadecimal(&Sha256::digest(&bytes)),
            version: package(&target.file),
            qemu: version_of_qemu(&qemu).unwrap_or_default(),
            machine: self.machine.clone(),
            skip: self.slices.skip,
            instructions: 0,
            slices: self.slices.count,
            apart: self.slices.apart,
            exit_code: None,
        })
    }
}

/// The fixed environment with further variables, which may replace fixed ones.
fn environment(further: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> =
        FIXED_ENVIRONMENT.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    for (name, value) in further {
        all.retain(|(other, _)| other != name);
        all.push((name.clone(), value.clone()));
    }
    all
}

/// What the result calls a command, unless it is given a name.
fn plain_name(command: &OsStr) -> String {
    let name = Path::new(command).file_name().map(OsStr::to_string_lossy);
    let name = name.unwrap_or_default();
    name.replace(|letter: char| !letter.is_alphanumeric() && !"._-".contains(letter), "_")
}

/// The first line that a command prints.
fn first_line(command: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(command);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}

/// The Debian package of a file, and its version: `gzip 1.12-1`.
fn package(file: &Path) -> Option<String> {
    let file = file.canonicalize().ok()?;
    // Packages from before /usr was merged name their files without it.
    let short = file.strip_prefix("/usr").ok().map(|rest| Path::new("/").join(rest));
    let paths = [Some(file), short].into_iter().flatten();
    let owner = paths.filter_map(|path: PathBuf| first_line("dpkg-query", &["-S", path.to_str()?]));
    let owner = owner.into_iter().next()?;
    let name = owner.split([':', ',']).next()?.to_owned();
    first_line("dpkg-query", &["-W", "-f=${Package} ${Version}\n", &name])
}

/// `7.2.22`.
fn version_of_qemu(qemu: &Path) -> Option<String> {
    let line = first_line(qemu.to_str()?, &["-version"])?;
    line.split_whitespace().skip_while(|word| *word != "version").nth(1).map(str::to_owned)
}

/// A file that takes long to make is not to be lost in the end.
pub(crate) fn can_write(path: &Path) -> Result<(), BadInput> {
    fairways_command_kit::whole::try_out(path)
        .map_err(|why| BadInput(format!("{}: can't write it: {why}", input::shown(path))))
}

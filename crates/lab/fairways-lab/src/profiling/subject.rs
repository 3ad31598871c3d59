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

use crate::profiling::steppable::{RunEnd, Steppable};
use crate::profiling::trace_file::{OpenedTrace, refuse};
use crate::profiling::{TraceSettings, TracedChip};

/// Cycles of an instruction while everything hits the L1, and misses under way at once, without
/// `--cpi` and `--overlap`.
pub(crate) const CPI: f64 = 0.5;
pub(crate) const OVERLAP: f64 = 4.0;

/// A program to measure, whose settings are valid.
pub(crate) struct TracedCommand {
    pub(crate) name: String,
    pub(crate) program: SimulatedProgram,
    pub(crate) slices: Slices,
    /// Whether a run that failed, or ended too soon, is kept.
    keep_any: bool,
    /// The run, without its chip and result, once it was looked at.
    run: OnceLock<MeasuredRun>,
}

impl TracedCommand {
    /// The program of a profile.
    pub(crate) fn profiled(
        settings: &TraceSettings,
        chips: &[TracedChip],
        by_address: bool,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let has_fixed_part = settings.skip.is_some() || settings.instructions.is_some();
        let is_fixed = has_fixed_part || !settings.environment.is_empty();
        Self::new(settings, chips, by_address, quiet, is_fixed)
    }

    /// The program of a stream: its runs are always to come out alike.
    pub(crate) fn recorded(
        settings: &TraceSettings,
        chip: &TracedChip,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        Self::new(settings, std::slice::from_ref(chip), false, quiet, true)
    }

    /// `quiet`: the command's output goes to standard error. `is_fixed`: so is its environment.
    fn new(
        settings: &TraceSettings,
        chips: &[TracedChip],
        by_address: bool,
        quiet: bool,
        is_fixed: bool,
    ) -> anyhow::Result<Self> {
        let (count, apart) = (settings.slices.unwrap_or(1), settings.apart.unwrap_or(0));
        let slices = Slices {
            skip: settings.skip.unwrap_or(0),
            length: settings.instructions,
            count,
            apart,
        };
        if count > 1 && Some(apart) < settings.instructions {
            let said = "--apart: expected at least the instructions of a slice";
            return Err(BadInput(said.to_owned()).into());
        }
        let keep_any = settings.keep_any;
        let first = settings.command[0].to_str().unwrap_or_default();
        if let Some(path) = first.strip_prefix("stream:") {
            return Self::replayed(settings, chips, Path::new(path), by_address);
        }
        if let Some(text) = first.strip_prefix("trace:") {
            let OpenedTrace { name, program, run } =
                OpenedTrace::open(settings, text, &slices, by_address)?;
            return Ok(Self { name, program, slices, keep_any, run: OnceLock::from(run) });
        }
        let launch = Launch {
            follow: settings.children,
            quiet,
            qemu: settings.qemu.clone(),
            environment: is_fixed.then(|| environment(&settings.environment)),
            ..Launch::new(settings.command.clone())
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
            base_cpi: settings.cpi.unwrap_or(CPI),
            overlap: settings.overlap.unwrap_or(OVERLAP),
            ..SimulatedProgram::live(live)
        };
        let name = settings.name.clone().unwrap_or_else(|| plain_name(&settings.command[0]));
        Ok(Self { name, program, slices, keep_any, run: OnceLock::new() })
    }

    /// A stream as the program: all of it, or its first instructions.
    fn replayed(
        settings: &TraceSettings,
        chips: &[TracedChip],
        path: &Path,
        by_address: bool,
    ) -> anyhow::Result<Self> {
        let of_a_run = [
            (by_address, "by-address"),
            (settings.children, "children"),
            (!settings.environment.is_empty(), "env"),
            (settings.qemu.is_some(), "qemu"),
            (settings.skip.is_some(), "skip"),
            (settings.slices.is_some(), "slices"),
        ];
        refuse(&of_a_run, "stream")?;
        let stream = StreamReplay::open(path).map_err(BadInput)?;
        for chip in chips {
            stream.check(&chip.settings.chip).map_err(|why| BadInput(why.to_string()))?;
        }
        let manifest = stream.manifest();
        let run = manifest.run.clone();
        Ok(Self {
            name: settings.name.clone().unwrap_or_else(|| manifest.program.clone()),
            slices: Slices {
                length: settings.instructions.or(Some(manifest.totals.instructions)),
                ..Slices::ALL
            },
            keep_any: settings.keep_any,
            run: OnceLock::from(run),
            program: SimulatedProgram {
                base_cpi: settings.cpi.unwrap_or(manifest.cpi),
                overlap: settings.overlap.unwrap_or(manifest.overlap),
                ..SimulatedProgram::replayed(stream.clone())
            },
        })
    }

    /// The real program, unless it is a stream or a trace.
    pub(crate) fn live(&self) -> Option<&LiveProgram> {
        self.program.as_live()
    }

    /// Whether it is a stream: what left private caches already.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.program.accesses, Accesses::Stream(_))
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

    /// The run on a chip, for the file with its result.
    pub(crate) fn run(
        &self,
        chip: &TracedChip,
        measured: &impl Steppable,
    ) -> anyhow::Result<MeasuredRun> {
        if self.live().is_some() && self.run.get().is_none() {
            let _ = self.run.set(self.look_at_run()?);
        }
        let run = self.run.get().cloned().expect("a live program, a stream or a trace");
        let exit_code = self.exit_code(measured);
        let (machine, instructions) = (chip.name.clone(), measured.instructions());
        Ok(MeasuredRun { machine, instructions, exit_code, ..run })
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
            machine: String::new(),
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
pub(crate) fn plain_name(command: &OsStr) -> String {
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

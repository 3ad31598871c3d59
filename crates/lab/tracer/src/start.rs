//! Starting a program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{MemfdFlags, memfd_create};
use thiserror::Error;

use crate::command::{Executable, QEMU, Unfit, find, find_in};
use crate::guard::guard;
use crate::producer::{Session, this_process};
use crate::program::TracedProgram;
use crate::segment::Segment;

/// A program to trace, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Sets, a power of two, and ways of the smallest L1 that the trace is valid for: references
    /// that hit any such L1 with lines of 64 bytes, which replaces the least recently used line,
    /// are mostly only counted.
    pub l1: (u32, u32),
    /// Larger L1s, with at least as many sets and ways, that [`TracedProgram::next_by_l1`] reports
    /// the entries for, too, as if each had a run of its own.
    pub larger_l1s: Vec<(u32, u32)>,
    /// Whether children and executed programs are traced, too.
    pub follow: bool,
    /// Whether it begins untraced, at full speed, until [`TracedProgram::begin`].
    pub passes: bool,
    /// Whether it is a job of its own, without standard input: otherwise it has this program's, and
    /// gets the terminal's signals.
    pub apart: bool,
    /// Whether its output goes to standard error.
    pub quiet: bool,
    /// The QEMU to run it, unless it is the one in PATH.
    pub qemu: Option<PathBuf>,
    /// Its environment, unless it is this program's ([`FIXED_ENVIRONMENT`]): all its runs are to be
    /// alike.
    pub environment: Option<Vec<(OsString, OsString)>>,
}

/// An environment in which programs run alike everywhere: names, numbers and dates have one form,
/// libraries start no further threads, and hash tables are not seeded at random. Libraries are
/// found by folder, as a search of `/etc/ld.so.cache` depends on all packages that are installed.
/// The last three are QEMU's: the stack, random numbers (`AT_RANDOM`), and the kernel's release.
pub const FIXED_ENVIRONMENT: [(&str, &str); 13] = [
    ("HOME", "/"),
    ("LC_ALL", "C"),
    (
        "LD_LIBRARY_PATH",
        "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:\
         /usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64",
    ),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/games"),
    ("PERL_HASH_SEED", "0"),
    ("PYTHONHASHSEED", "0"),
    ("TERM", "dumb"),
    ("TZ", "UTC0"),
    ("QEMU_STACK_SIZE", "8388608"),
    ("QEMU_RAND_SEED", "1"),
    ("QEMU_UNAME", "6.1.0"),
];

/// A program that can't be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no QEMU.
    #[error(
        "expected {QEMU} on PATH, found none: it is in the package qemu-user of Debian 12 and Ubuntu \
         (apt-get install qemu-user)"
    )]
    NoQemu,
    /// The QEMU found can't load plugins.
    #[error(
        "{qemu}: expected a QEMU that takes plugins, found one that does not: such are Debian 12's, \
         and any that is built with --enable-plugins; Debian 13's is not"
    )]
    NoPlugins {
        /// The QEMU.
        qemu: String,
    },
    /// There is no such program.
    #[error("{0}: expected a program, found none of this name")]
    NotFound(String),
    /// The program exists, but can't be run.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The system refuses.
    #[error("{what}: {why}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The error.
        why: std::io::Error,
    },
}

const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libfairways_tracer_plugin.so"));

impl Launch {
    /// A program as it is, for an L1 of 32 KB and 8 ways.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        let (follow, passes, apart, quiet) = (false, false, false, false);
        let (qemu, environment) = (None, None);
        let (l1, larger_l1s) = ((64, 8), Vec::new());
        Self { command, l1, larger_l1s, follow, passes, apart, quiet, qemu, environment }
    }

    /// Checks for reasons why it can't be started, as far as possible beforehand.
    ///
    /// # Errors
    /// As [`Launch::start`].
    pub fn check(&self) -> Result<(), StartError> {
        self.resolve().map(|_| ())
    }

    /// The QEMU that runs it, and the file that runs under it: for a script, its interpreter.
    ///
    /// # Errors
    /// As [`Launch::start`].
    pub fn resolve(&self) -> Result<(PathBuf, Executable), StartError> {
        let name = self.command.first().map_or(OsStr::new(""), OsString::as_os_str);
        let mut variables = self.environment.iter().flatten();
        let file = match variables.find(|(variable, _)| variable == "PATH") {
            Some((_, path)) if !name.as_bytes().contains(&b'/') => find_in(name, path),
            _ => find(name),
        };
        let file = file.ok_or_else(|| StartError::NotFound(name.to_string_lossy().into_owned()))?;
        let target = Executable::resolve(&file, &self.command)?;
        let qemu = self
            .qemu
            .as_ref()
            .map_or_else(|| find(OsStr::new(QEMU)), |qemu| find(qemu.as_os_str()));
        let qemu = qemu.ok_or(StartError::NoQemu)?;
        let help = Command::new(&qemu).arg("-h").stdin(Stdio::null()).output();
        let help = help.map_err(|why| StartError::System { what: "can't run QEMU", why })?;
        if !String::from_utf8_lossy(&help.stdout).contains("-plugin") {
            return Err(StartError::NoPlugins { qemu: qemu.display().to_string() });
        }
        Ok((qemu, target))
    }

    /// Starts it. It lives as long as the result, and at most as long as the calling thread.
    ///
    /// # Errors
    /// If there is no such program or QEMU, or the system refuses: [`StartError`].
    pub fn start(&self) -> Result<TracedProgram, StartError> {
        let (qemu, target) = self.resolve()?;
        let memory = "can't make memory to share";
        let mut plugin = nameless("fairways-plugin").map_err(system(memory))?;
        plugin.write_all(PLUGIN).map_err(system(memory))?;
        let rings = nameless("fairways-rings").map_err(system(memory))?;
        let segment = Segment::create(&rings).map_err(system(memory))?;
        segment.header.reader.store(this_process(), Relaxed);
        segment.header.l1_sets.store(self.l1.0, Relaxed);
        segment.header.l1_ways.store(self.l1.1, Relaxed);
        segment.header.follow.store(u32::from(self.follow), Relaxed);
        segment.header.passes.store(u32::from(self.passes), Relaxed);
        // Children open them by these names, too, after they have executed another program.
        let (plugin_path, rings_path) = (path(&plugin), path(&rings));
        let mut option =
            OsString::from(format!("{plugin_path},session={rings_path},self={plugin_path},qemu="));
        option.push(&qemu);
        let child = self.spawn(&target.under(qemu.as_os_str(), &option), &segment);
        let child = child.map_err(system("can't start the program"))?;
        Ok(TracedProgram::new(
            child,
            Session::new(segment, &rings_path),
            (self.apart, self.environment.is_some()),
            self.larger_l1s.clone(),
            [plugin, rings],
        ))
    }

    fn spawn(&self, all: &[OsString], segment: &Segment) -> std::io::Result<Child> {
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]);
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        }
        if self.apart {
            command.process_group(0).stdin(Stdio::null());
        }
        if self.quiet {
            command.stdout(std::io::stderr().as_fd().try_clone_to_owned()?);
        }
        place_alike(&mut command);
        if self.environment.is_some() {
            begin_alike(&mut command);
        }
        guard(&mut command, &segment.header);
        command.spawn()
    }
}

/// Places a command's stack and heap in the same way in all its runs, so that they conflict in the
/// same way.
fn place_alike(command: &mut Command) {
    // SAFETY: between fork and exec this makes system calls, and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            // Reads the current persona, and adds to it. Where that is not allowed, runs differ a
            // little.
            let before = libc::personality(u64::from(u32::MAX));
            if let Ok(before) = u64::try_from(before) {
                libc::personality(before | ADDR_NO_RANDOMIZE);
            }
            Ok(())
        });
    }
}

/// Begins a command with the same signals and open files in all its runs: a program that finds a
/// signal ignored, as in the background of a shell, installs no handler.
fn begin_alike(command: &mut Command) {
    // SAFETY: between fork and exec this makes system calls, and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            for signal in 1..SIGNALS_END {
                // Those that can't be set are default.
                libc::signal(signal, libc::SIG_DFL);
            }
            // Before Linux 5.11 further files stay open.
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_RANGE_CLOEXEC);
            Ok(())
        });
    }
}

/// The standard signals are below this one (signal(7)).
const SIGNALS_END: i32 = 32;

/// As in Linux's `uapi/linux/close_range.h`.
const CLOSE_RANGE_CLOEXEC: u32 = 4;

/// As in Linux's `uapi/linux/personality.h`.
const ADDR_NO_RANDOMIZE: u64 = 0x0004_0000;

/// The path by which any process can open a file of this one.
fn path(file: &File) -> String {
    format!("/proc/{}/fd/{}", this_process(), file.as_raw_fd())
}

fn nameless(name: &str) -> std::io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> StartError {
    move |why| StartError::System { what, why }
}

//! One boot: files go in, a job runs, its console comes out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::console::Console;
use crate::debugger::RegisterWrite;
use crate::initramfs::Initramfs;
use crate::process::Process;
use crate::processor::MODEL;
use crate::scratch::Scratch;
use crate::tools::dependent;
use crate::{Error, Lab, Processor, Topology, debugger};

/// A processor whose L3 cache is a socket's: Linux reads Intel's leaf 4 of it.
const SHARED_L3: &str = "vendor=GenuineIntel,l3-cache=on,level=0x14";

/// The most boots for a guest that does not come up.
const BOOTS: u32 = 3;

/// How long a guest may take until its job begins; it takes seconds where nothing else runs.
const UP: Duration = Duration::from_secs(150);

/// A job and its machine. Without a [`Processor`], the guest's has no resource control.
#[derive(Clone, Debug)]
pub struct Guest {
    processor: Option<Processor>,
    topology: Option<Topology>,
    files: Vec<(PathBuf, PathBuf)>,
    texts: Vec<(PathBuf, String)>,
    taken: Vec<PathBuf>,
    job: String,
    parameters: String,
    megabytes: u32,
    nanos_shift: Option<u8>,
    limit: Duration,
    echo: fn(&str),
    verbose: bool,
}

/// The result of a job.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The job's output, line by line; the kernel's errors may be among it.
    pub console: Vec<String>,
    /// The job's exit code.
    pub code: i32,
    /// Files that were taken out, by name, without those that did not exist.
    pub files: Vec<(String, Vec<u8>)>,
    /// The kernel's writes to registers, if [`Processor::registers`].
    pub registers: Vec<RegisterWrite>,
    /// From start to end, booting included.
    pub duration: Duration,
}

impl Outcome {
    /// A file that was taken out.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        let found = self.files.iter().find(|(taken, _)| taken == name);
        found.map(|(_, data)| data.as_slice())
    }
}

impl Default for Guest {
    fn default() -> Self {
        Self::new()
    }
}

impl Guest {
    /// Four CPUs, 1 GiB of memory, 240 s to live; a job that does nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            processor: None,
            topology: None,
            files: Vec::new(),
            texts: Vec::new(),
            taken: Vec::new(),
            job: String::new(),
            parameters: String::new(),
            megabytes: 1024,
            nanos_shift: None,
            limit: Duration::from_secs(240),
            echo: |_| (),
            verbose: false,
        }
    }

    /// How its CPUs lie in sockets, each of which has one L3 cache. A [`Processor`] includes that;
    /// without either, each CPU has an L3 cache of its own.
    #[must_use]
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// With resource control.
    #[must_use]
    pub fn processor(mut self, processor: Processor) -> Self {
        self.processor = Some(processor);
        self
    }

    /// Puts a file in, with the libraries that it loads if it is a program; or a directory.
    #[must_use]
    pub fn file(mut self, from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        self.files.push((from.into(), to.into()));
        self
    }

    /// Puts a file with this text in.
    #[must_use]
    pub fn text(mut self, to: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.texts.push((to.into(), text.into()));
        self
    }

    /// Takes a file out when the job has ended: [`Outcome::files`]. Far faster than printing it.
    #[must_use]
    pub fn take(mut self, file: impl Into<PathBuf>) -> Self {
        self.taken.push(file.into());
        self
    }

    /// The job: a script for busybox's shell, run as root, in /root.
    #[must_use]
    pub fn job(mut self, script: impl Into<String>) -> Self {
        self.job = script.into();
        self
    }

    /// More for the kernel's command line.
    #[must_use]
    pub fn parameters(mut self, parameters: &str) -> Self {
        self.parameters.push(' ');
        self.parameters.push_str(parameters);
        self
    }

    /// Memory, in MiB.
    #[must_use]
    pub fn megabytes(mut self, megabytes: u32) -> Self {
        self.megabytes = megabytes;
        self
    }

    /// Lets the guest's time pass by instructions: each, on any CPU, takes 2^`shift` ns, and while
    /// all CPUs idle no time passes outside. The guest's behaviour then does not depend on this
    /// machine's load.
    #[must_use]
    pub fn time_by_instructions(mut self, shift: u8) -> Self {
        self.nanos_shift = Some(shift);
        self
    }

    /// How long it may take, booting included; the time starts again if it must be booted again.
    #[must_use]
    pub fn seconds(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Called with each line that the job prints, at once; with `verbose`, also with those before
    /// and after.
    #[must_use]
    pub fn echo(mut self, echo: fn(&str), verbose: bool) -> Self {
        (self.echo, self.verbose) = (echo, verbose);
        self
    }

    /// Boots, runs the job, ends. All processes it started are gone afterwards, however this ends.
    ///
    /// # Errors
    ///
    /// A file can't be read, a program can't be started, or the guest ends early or not at all. A
    /// job that fails is no error: see [`Outcome::code`].
    pub fn run(&self, lab: &Lab) -> Result<Outcome, Error> {
        let mut boots = 1;
        loop {
            match self.boot(lab) {
                // Under emulation a kernel now and then panics while it boots, or hangs, and panics
                // later with a debugger; the cause is not known.
                Err(why) if boots < BOOTS && self.may_be_chance(&why) => {
                    eprintln!("fairways-kernel-lab: {why}: once more");
                    boots += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Whether a guest may succeed another time, because its job did not end it.
    fn may_be_chance(&self, why: &Error) -> bool {
        match why {
            Error::Died { up, last } => {
                !up || self.processor.is_some() && last.contains("Kernel panic")
            }
            Error::Timeout { up, .. } => !up,
            _ => false,
        }
    }

    fn boot(&self, lab: &Lab) -> Result<Outcome, Error> {
        let start = Instant::now();
        let directory = Scratch::new()?;
        let initramfs = directory.path().join("initramfs");
        fs::write(&initramfs, self.initramfs()?).map_err(Error::file(&initramfs))?;
        let stub = directory.path().join("gdb");
        let mut machine = Process::spawn(&mut self.machine(lab, &initramfs, &stub))?;
        let lines = machine.lines()?;
        let reports = directory.path().join("reports");
        let _debugger = match &self.processor {
            Some(processor) => {
                Some(debugger::start(lab, processor, directory.path(), &stub, &reports)?)
            }
            None => None,
        };
        let console = self.follow(&lines, start)?;
        let code = console
            .code
            .ok_or_else(|| Error::Died { up: console.up, last: console.last.clone() })?;
        let registers = fs::read_to_string(&reports).unwrap_or_default();
        if self.processor.is_some() && !registers.lines().any(|line| line == debugger::READY) {
            // The guest goes on without it, as on a processor that has none of the requested
            // features.
            return Err(Error::program("gdb", registers.trim()));
        }
        let registers = registers.lines().filter_map(debugger::register).collect();
        let Console { lines: console, files, .. } = console;
        Ok(Outcome { console, code, files, registers, duration: start.elapsed() })
    }

    fn initramfs(&self) -> Result<Vec<u8>, Error> {
        let mut all = Initramfs::new()?;
        all.data("/job.sh", 0o644, self.job.as_bytes());
        let mut taken = String::new();
        for file in &self.taken {
            taken.push_str(&file.to_string_lossy());
            taken.push('\n');
        }
        all.data("/taken-out", 0o644, taken.as_bytes());
        for (to, text) in &self.texts {
            all.data(to, 0o644, text.as_bytes());
        }
        for (from, to) in &self.files {
            all.file(from, to)?;
        }
        Ok(all.finish())
    }

    fn machine(&self, lab: &Lab, initramfs: &Path, stub: &Path) -> std::process::Command {
        let topology =
            self.processor.as_ref().map(|p| p.topology).or(self.topology).unwrap_or_default();
        let Topology { sockets, cores, threads } = topology;
        let smp = format!("{},sockets={sockets},cores={cores},threads={threads}", topology.cpus());
        let loglevel = if self.verbose { 7 } else { 1 };
        let mut command = dependent("qemu-system-x86_64");
        command
            .args(["-accel", "tcg,thread=single", "-machine", "q35", "-nodefaults", "-no-reboot"])
            .args(["-display", "none", "-monitor", "none", "-serial", "stdio", "-smp", &smp])
            .args(["-m", &self.megabytes.to_string(), "-kernel"])
            // Not the image: under emulation, unpacking takes a fifth of a boot.
            .arg(lab.vmlinux())
            .arg("-initrd")
            .arg(initramfs)
            .arg("-append")
            // Without its tests of ciphers, which take two CPUs for the first seconds, and without
            // complaints in the middle of the job's output where this machine pauses.
            .arg(format!(
                "console=ttyS0 nosoftlockup nokaslr cryptomgr.notests oops=panic panic=-1 loglevel={loglevel}{}",
                self.parameters
            ));
        if let Some(shift) = self.nanos_shift {
            command.args(["-icount", &format!("shift={shift},sleep=off")]);
        }
        match &self.processor {
            Some(processor) => {
                // It waits for the debugger before its first instruction.
                let socket = format!("socket,id=stub,server=on,wait=off,path={}", stub.display());
                command.args(["-cpu", &processor.model()]);
                command.args(["-chardev", &socket, "-gdb", "chardev:stub", "-S"]);
                command.args(self.nodes(processor));
            }
            None if self.topology.is_some() => {
                command.args(["-cpu", &format!("{MODEL},{SHARED_L3}")]);
            }
            None => {
                command.args(["-cpu", MODEL]);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The NUMA nodes, each with its part of the memory and of the CPUs; none where each socket is
    /// one.
    fn nodes(&self, processor: &Processor) -> Vec<String> {
        let nodes = processor.topology.sockets * processor.nodes;
        let mut arguments = Vec::new();
        for node in (0..nodes).filter(|_| processor.nodes > 1) {
            let cpus = processor.topology.cpus() / nodes;
            let (first, last) = (node * cpus, (node + 1) * cpus - 1);
            let size = self.megabytes / nodes;
            arguments.push("-object".to_owned());
            arguments.push(format!("memory-backend-ram,id=node{node},size={size}M"));
            arguments.push("-numa".to_owned());
            arguments.push(format!("node,nodeid={node},memdev=node{node},cpus={first}-{last}"));
        }
        arguments
    }

    fn follow(&self, lines: &Receiver<String>, start: Instant) -> Result<Console, Error> {
        let mut console = Console::default();
        loop {
            let limit = if console.up { self.limit } else { self.limit.min(UP) };
            let left = limit.saturating_sub(start.elapsed());
            match lines.recv_timeout(left) {
                Ok(line) => {
                    if console.take(&line) || self.verbose {
                        (self.echo)(&line);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(console),
                Err(RecvTimeoutError::Timeout) => {
                    let Console { up, last, .. } = console;
                    return Err(Error::Timeout { seconds: limit.as_secs(), up, last });
                }
            }
        }
    }
}

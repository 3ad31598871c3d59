//! Real programs that run while they are simulated.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairways_tracer::{
    Companion, Launch, Note, NoteKind, StartError, TraceEntry, TraceState, TracedProgram, find,
};
use rand_pcg::Pcg64Mcg;
use thiserror::Error;

use super::access::{Access, AccessKind, Generate, Supply};
use super::l1_groups::L1Groups;
use super::numbering::Numbering;

/// A real program: started when its job starts, stopped while it is not its turn, killed when the
/// job ends.
///
/// It shares one core: its threads take turns of two million instructions, or until they sleep.
/// Time is not virtual: a program that sleeps does so in real time, and while all that runs on the
/// chip sleeps, the chip's time passes as real time does.
#[derive(Debug)]
pub struct LiveProgram {
    /// The program. The chip decides which references are only counted, and whether the preparation
    /// runs unsimulated.
    pub launch: Launch,
    /// A command that must succeed before the simulation begins, while the program runs at full
    /// speed. It begins once the program has slept for 50 ms, and is retried for 30 s.
    pub prepare: Option<Vec<OsString>>,
    /// A command that runs beside it, not simulated, for example a client of a server. It starts
    /// once the program has slept for 50 ms, before which nothing is simulated, and is restarted
    /// when it ends.
    pub client: Option<Vec<OsString>>,
    /// Whether virtual addresses give the lines; otherwise pages are numbered as they are first
    /// touched.
    pub by_address: bool,
    /// Whether a run that ends with an exit code other than 0 is a failure.
    pub must_succeed: bool,
    ended: Mutex<EndedRuns>,
}

/// Results of runs that have ended.
#[derive(Debug, Default)]
struct EndedRuns {
    remarks: Vec<Remark>,
    exit_code: Option<i32>,
}

/// A remark on a run, for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The remark, one line.
    pub text: String,
    /// Whether it is about child processes, which would be simulated if they were followed.
    pub of_children: bool,
}

/// A live program that can't be run.
#[derive(Debug, Error)]
pub enum LiveProgramError {
    /// The program itself.
    #[error(transparent)]
    Program(#[from] StartError),
    /// A command that goes with it.
    #[error("{0}: expected a program, found none of this name")]
    Beside(String),
}

/// How long [`LiveProgram::prepare`] is retried.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that sleeps for this long has begun to listen.
const IDLE: Duration = Duration::from_millis(50);

/// Between tries, and between a client's end and its next start.
const BREAK: Duration = Duration::from_millis(100);

/// The number of failures of a client in a row that end the run.
const TRIES: u32 = 100;

impl PartialEq for LiveProgram {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl LiveProgram {
    /// A program without other commands.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        let (by_address, must_succeed) = (false, true);
        let (prepare, client, ended) = (None, None, Mutex::default());
        Self { launch, prepare, client, by_address, must_succeed, ended }
    }

    /// Checks, before it runs, that the program and its commands exist.
    ///
    /// # Errors
    /// If there is no QEMU, or a command is not found: [`LiveProgramError`].
    pub fn check(&self) -> Result<(), LiveProgramError> {
        self.launch.check()?;
        for command in [&self.prepare, &self.client].into_iter().flatten() {
            let name = command.first().cloned().unwrap_or_default();
            if find(&name).is_none() {
                return Err(LiveProgramError::Beside(name.to_string_lossy().into_owned()));
            }
        }
        Ok(())
    }

    /// The remarks on its runs that have ended, each once.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        self.ended().remarks.clone()
    }

    /// The exit code of the run that ended last, as in a shell.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        self.ended().exit_code
    }

    fn ended(&self) -> MutexGuard<'_, EndedRuns> {
        // No code that locks it can fail halfway.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_remark(&self, text: String, of_children: bool) {
        let remark = Remark { text, of_children };
        let remarks = &mut self.ended().remarks;
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    fn name(&self) -> String {
        self.launch
            .command
            .first()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

pub(super) struct LiveSource {
    live: Arc<LiveProgram>,
    /// `None` once it is over.
    running: Option<TracedProgram>,
    numbering: Numbering,
    client: Option<Companion>,
    restart: Instant,
    failures: u32,
    over: Supply,
}

impl LiveSource {
    /// Starts the program and its other commands.
    pub(super) fn start(live: &Arc<LiveProgram>, l1s: &L1Groups) -> Self {
        let numbering = match live.by_address {
            true => Numbering::ByAddress,
            false => Numbering::by_first_touch(),
        };
        let mut source = Self {
            live: Arc::clone(live),
            running: None,
            numbering,
            client: None,
            restart: Instant::now(),
            failures: 0,
            over: Supply::Ended,
        };
        if let Err(why) = source.launch(&l1s.l1s) {
            source.fail(&why);
        }
        source
    }

    /// The smallest L1 comes first.
    fn launch(&mut self, l1s: &[(u32, u32)]) -> Result<(), String> {
        let passes = self.live.prepare.is_some() || self.live.client.is_some();
        let (l1, larger_l1s) = (l1s[0], l1s[1..].to_vec());
        let launch = Launch { passes, l1, larger_l1s, ..self.live.launch.clone() };
        let program = launch.start().map_err(|why| why.to_string())?;
        let program = self.running.insert(program);
        let since = Instant::now();
        if !passes {
            // QEMU's start takes none of the chip's time.
            while !program.has_begun() && since.elapsed() < PATIENCE && !program.has_ended() {
                program.wait(IDLE / 50);
            }
            return Ok(());
        }
        let mut asleep = since;
        while asleep.elapsed() < IDLE && since.elapsed() < PATIENCE && !program.has_ended() {
            if !program.is_asleep() {
                asleep = Instant::now();
            }
            std::thread::sleep(IDLE / 50);
        }
        if let Some(command) = &self.live.prepare {
            prepare(command, program, since)?;
        }
        program.begin();
        self.attend()
    }

    fn fail(&mut self, why: &str) {
        self.over = Supply::Failed(format!("{}: {why}", self.live.name()));
        self.finish();
    }

    /// Looks after the client.
    fn attend(&mut self) -> Result<(), String> {
        let Some(command) = &self.live.client else { return Ok(()) };
        if let Some(success) = self.client.as_mut().and_then(Companion::poll_end) {
            self.failures = if success { 0 } else { self.failures + 1 };
            self.client = None;
            self.restart = Instant::now() + BREAK;
            if self.failures >= TRIES {
                let name = command[0].to_string_lossy();
                return Err(format!("{name}, its client, has failed {TRIES} times in a row"));
            }
        }
        if self.client.is_none() && Instant::now() >= self.restart {
            let started = Companion::start(command);
            self.client = Some(started.map_err(|why| format!("{}: {why}", command[0].display()))?);
        }
        Ok(())
    }

    /// Keeps the exit code and remarks of a program that is over.
    fn finish(&mut self) {
        self.client = None;
        let Some(mut program) = self.running.take() else { return };
        program.stop();
        self.live.ended().exit_code = program.exit_code();
        let (notes, further) = program.notes();
        if let Some(what) = children(&notes, further)
            && !self.live.launch.follow
        {
            let remark = format!("{}: {what}, which is not simulated", self.live.name());
            self.live.add_remark(remark, true);
        }
        if program.took_turns() && self.live.launch.environment.is_some() {
            let remark = format!(
                "{}: several threads or processes took turns, whose order differs from run to run",
                self.live.name()
            );
            self.live.add_remark(remark, false);
        }
        if program.untraced_threads() > 0 {
            let remark = format!("{}: had too many threads to simulate all", self.live.name());
            self.live.add_remark(remark, false);
        }
    }
}

/// Runs a command until it has succeeded.
fn prepare(
    command: &[OsString],
    program: &mut TracedProgram,
    since: Instant,
) -> Result<(), String> {
    loop {
        let mut tried = Companion::start(command).map_err(|why| why.to_string())?;
        while tried.poll_end().is_none() && since.elapsed() < PATIENCE {
            std::thread::sleep(BREAK / 20);
        }
        if tried.poll_end() == Some(true) {
            return Ok(());
        }
        if since.elapsed() > PATIENCE || program.has_ended() {
            let name = command[0].to_string_lossy();
            return Err(format!(
                "{name}, which is to prepare it, has not succeeded within {PATIENCE:?}"
            ));
        }
        std::thread::sleep(BREAK);
    }
}

/// Remarks on a program's child processes.
fn children(notes: &[Note], further: u32) -> Option<String> {
    let forks = notes.iter().filter(|note| note.kind == NoteKind::Forked).count();
    let mut executed: Vec<&str> = Vec::new();
    for note in notes.iter().filter(|note| note.kind == NoteKind::Execs) {
        let name = note.path.rsplit('/').next().unwrap_or_default();
        if !executed.contains(&name) {
            executed.push(name);
        }
    }
    let forked = match forks {
        0 => None,
        1 => Some("forked once".to_owned()),
        forks => Some(format!("forked {forks} times")),
    };
    let executed = match executed[..] {
        [] => None,
        [..] if executed.len() <= NAMED => Some(format!("executed {}", executed.join(", "))),
        [..] => Some(format!("executed {}, and others", executed[..NAMED].join(", "))),
    };
    let more = if further > 0 { ", and continued to" } else { "" };
    match (forked, executed) {
        (Some(forked), Some(executed)) => Some(format!("{forked} and {executed}{more}")),
        (forked, executed) => forked.or(executed).map(|one| format!("{one}{more}")),
    }
}

/// Programs that are named.
const NAMED: usize = 3;

impl Drop for LiveSource {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Appends an entry of a process' trace.
#[inline]
fn push(entry: TraceEntry, process: u32, numbering: &mut Numbering, accesses: &mut Vec<Access>) {
    let kind = entry.line.map_or(AccessKind::None, |line| match line.store {
        true => AccessKind::Store,
        false => AccessKind::Load,
    });
    let line = entry.line.map_or(0, |line| numbering.line(process, line.number));
    let mut references = entry.references;
    while let Some(more) = references.checked_sub(u32::from(u16::MAX)) {
        let (references_of, kind) = (u16::MAX, AccessKind::None);
        accesses.push(Access { line: 0, instructions: 0, references: references_of, kind });
        references = more;
    }
    let references = u16::try_from(references).unwrap_or(u16::MAX);
    accesses.push(Access { line, instructions: entry.instructions, references, kind });
}

impl Generate for LiveSource {
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        self.generate_by_l1(random, std::slice::from_mut(accesses))
    }

    fn generate_by_l1(&mut self, _: &mut Pcg64Mcg, by_l1: &mut [Vec<Access>]) -> Supply {
        let Some(program) = &mut self.running else { return self.over.clone() };
        let numbering = &mut self.numbering;
        let state = program.next_by_l1(&mut |l1, process, entry| {
            push(entry, process, numbering, &mut by_l1[l1]);
        });
        match state {
            TraceState::Ran => Supply::More,
            TraceState::Asleep => match self.attend() {
                Ok(()) => Supply::Asleep,
                Err(why) => {
                    self.fail(&why);
                    self.over.clone()
                }
            },
            TraceState::Ended => {
                let code = program.exit_code().unwrap_or(0);
                if code == 0 || !self.live.must_succeed {
                    self.over = Supply::Ended;
                    self.finish();
                } else {
                    self.fail(&format!("ended with exit code {code}"));
                }
                self.over.clone()
            }
        }
    }

    fn wait(&mut self, most: Duration) {
        match &self.running {
            Some(program) => program.wait(most),
            None => std::thread::sleep(most),
        }
    }
}

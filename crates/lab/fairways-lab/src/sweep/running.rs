//! Running a sweep's points on this machine, each as a process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context, anyhow};
use fairways_command_kit::{ExitCode, Interrupted, exit, stop_on_signals};
use indicatif::{ProgressBar, ProgressStyle};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::sweep::folder::{IndexedPoint, SweepFolder};
use crate::sweep::point::Point;
use crate::sweep::shard::Shard;

/// How points are run.
#[derive(Clone, Debug)]
pub(crate) struct SweepRun {
    /// The sweep's folder.
    pub(crate) dir: PathBuf,
    /// Which of its points are run.
    pub(crate) shard: Shard,
    /// How many run at once.
    pub(crate) jobs: usize,
    /// The version of Fairways that runs them.
    pub(crate) version: String,
    /// The program that runs a point, whose path is its last argument. It is to end with this
    /// process ([`end_with_parent`]).
    pub(crate) program: Vec<String>,
}

/// How a point ended: whether it has a result, and the last lines that it wrote.
struct EndedPoint {
    number: usize,
    is_done: bool,
    lines: Vec<String>,
}

/// What is kept of what a point writes on standard error: its last bytes.
const KEPT_BYTES: usize = 4096;

/// The failures, and the different warnings, that are shown.
pub(crate) const MOST_SHOWN: usize = 20;

/// Runs the points of a shard that have no result yet; returns how many it ran. A point that fails
/// is reported, and the others are run.
///
/// # Errors
/// If the points are for another version or other files: none is run then. If points fail.
/// [`Interrupted`] at SIGINT and SIGTERM: the points that run then have no result.
pub(crate) fn run(running: &SweepRun) -> anyhow::Result<usize> {
    let folder = SweepFolder::open(&running.dir)?;
    folder.check_version(&running.version)?;
    let there = folder.there()?;
    let points = folder.index.points.iter().enumerate();
    let mut pending: Vec<&IndexedPoint> = points
        .filter(|(number, point)| running.shard.has(*number) && !folder.is_done(point, &there))
        .map(|(_, point)| point)
        .collect();
    // Points that are the same have one result.
    let mut names = BTreeSet::new();
    pending.retain(|point| names.insert(point.name.as_str()));
    folder.remove_unfinished()?;
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop).context("can't wait for signals")?;
    let paths: Arc<Vec<PathBuf>> =
        Arc::new(pending.iter().map(|point| folder.point(&point.name)).collect());
    let mut hashes = BTreeMap::new();
    for path in &*paths {
        Point::read(path, &running.version, &mut hashes)?;
    }
    let ended = start(running, &paths, &stop)?;
    let bar = progress(pending.len());
    let (mut failed, mut warnings) = (0, BTreeSet::new());
    for _ in 0..pending.len() {
        let EndedPoint { number, is_done, lines } = loop {
            match ended.recv_timeout(Duration::from_millis(50)) {
                // Its processes end with this one.
                _ if stop.load(Ordering::Relaxed) => return Err(Interrupted.into()),
                Ok(ended) => break ended?,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!("a thread that runs points has ended"));
                }
            }
        };
        bar.inc(1);
        let line = lines.into_iter().next_back().unwrap_or_default();
        if is_done {
            if !line.is_empty() && warnings.len() < MOST_SHOWN && warnings.insert(line.clone()) {
                bar.suspend(|| exit::warn(&line));
            }
            continue;
        }
        failed += 1;
        if failed <= MOST_SHOWN {
            let place = folder.named(pending[number]);
            bar.suspend(|| exit::warn(&format!("{place}{line}")));
        }
    }
    bar.finish_and_clear();
    if failed == 0 {
        return Ok(pending.len());
    }
    exit::warn(&format!("{failed} of {} points failed", pending.len()));
    Err(ExitCode(1).into())
}

/// Ends this process when the one with this id ends, which started it, however that does.
///
/// # Errors
/// If the kernel refuses, or it has ended already.
pub(crate) fn end_with_parent(id: u32) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("can't follow the parent")?;
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get());
    if parent.and_then(|parent| u32::try_from(parent).ok()) != Some(id) {
        return Err(anyhow!("process {id}, which was to start this one, has ended"));
    }
    Ok(())
}

/// Starts the threads that run points; each point's end comes through the channel.
fn start(
    running: &SweepRun,
    paths: &Arc<Vec<PathBuf>>,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<mpsc::Receiver<anyhow::Result<EndedPoint>>> {
    let (send, ended) = mpsc::channel();
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..running.jobs.min(paths.len()) {
        let (send, next, stop) = (send.clone(), Arc::clone(&next), Arc::clone(stop));
        let (paths, program) = (Arc::clone(paths), running.program.clone());
        std::thread::Builder::new()
            .spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(number) else { return };
                    if stop.load(Ordering::Relaxed)
                        || send.send(run_one(&program, path, number)).is_err()
                    {
                        return;
                    }
                }
            })
            .context("can't start a thread")?;
    }
    Ok(ended)
}

fn run_one(program: &[String], point: &PathBuf, number: usize) -> anyhow::Result<EndedPoint> {
    let (name, arguments) = program.split_first().context("no program")?;
    let mut child = Command::new(name)
        .args(arguments)
        .arg(point)
        // The points share the CPUs already.
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{name}: can't run it"))?;
    let kept = child.stderr.take().map(last_bytes).transpose()?.unwrap_or_default();
    let status = child.wait()?;
    let text = String::from_utf8_lossy(&kept);
    let lines = text.lines().filter(|line| !line.starts_with("note: "));
    let mut lines: Vec<String> = lines
        .map(|line| {
            line.trim_start_matches("fairways-lab: ").trim_start_matches("warning: ").to_owned()
        })
        .collect();
    if status.code().is_none() {
        lines.push(format!("its process was killed ({status})"));
    }
    Ok(EndedPoint { number, is_done: status.success(), lines })
}

/// Reads to the end, and keeps the last bytes.
fn last_bytes(mut from: impl Read) -> io::Result<Vec<u8>> {
    let (mut kept, mut buffer) = (Vec::new(), [0; KEPT_BYTES]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(kept),
            Ok(count) => kept.extend_from_slice(&buffer[..count]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
        kept.drain(..kept.len().saturating_sub(KEPT_BYTES));
    }
}

/// A bar on a terminal.
fn progress(points: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(points as u64);
    let style = ProgressStyle::with_template("{pos} of {len} points {wide_bar} {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

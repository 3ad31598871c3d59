//! A simulated machine, on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairways_command_kit::{BadInput, Interrupted, stop_on_signals};
use fairways_core::Time;
use fairways_record::blame::BlameReport;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

use super::pacer::Pacer;
use super::{PLAYED_POINT_NANOS, PlayCommand, Scene};
use crate::history::History;

/// How often a new scene is made, and the longest sleep before the controls are checked.
const SHOW: Duration = Duration::from_millis(100);

/// A simulated machine under a policy, which is watched while it runs.
pub trait WatchedMachine {
    /// What it is, in a word or two: `model`, or a chip and its preset.
    fn kind(&self) -> String;

    /// Lets the next event happen and returns its time; `None` once the run is over.
    fn step(&mut self) -> Option<Time>;

    /// The state so far.
    fn record(&self) -> &MachineRecord;

    /// What its programs lose of late.
    fn losses(&self) -> BlameReport;

    /// Ends what runs outside of the machine; returns the error if it could not run on.
    fn end(&mut self) -> Option<anyhow::Error>;
}

/// Makes a machine on the thread on which it runs; the machine ends early once the flag is true.
pub type MakeMachine =
    Box<dyn FnOnce(Arc<AtomicBool>) -> Result<Box<dyn WatchedMachine>, BadInput> + Send>;

/// A machine that runs.
pub(crate) struct SimulatedMachine {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    pacer: Mutex<Pacer>,
    /// The newest scene, until it is taken.
    unseen: Mutex<Option<Scene>>,
    /// Whether the run has ended.
    is_over: AtomicBool,
}

/// Runs a machine to its end.
///
/// # Errors
/// If it can't be made from the options, or fails.
pub(super) fn once(make: MakeMachine) -> anyhow::Result<Scene> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop)?;
    let mut machine = make(Arc::clone(&stop))?;
    let mut history = History::new(PLAYED_POINT_NANOS);
    while !stop.load(Ordering::Relaxed) && machine.step().is_some() {
        history.record(&machine.record().status);
    }
    if let Some(why) = machine.end() {
        return Err(why);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    Ok(scene(&*machine, &history, &machine.kind(), String::new()))
}

fn scene(machine: &dyn WatchedMachine, history: &History, from: &str, pace: String) -> Scene {
    Scene::new(machine.record(), machine.losses(), history, from, pace)
}

impl SimulatedMachine {
    /// Starts the machine.
    ///
    /// # Errors
    /// If it can't be made from the options.
    pub(super) fn start(make: MakeMachine, speed: f64) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let pacer = Mutex::new(Pacer::new(speed, Time::ZERO));
        let shared =
            Arc::new(Shared { pacer, unseen: Mutex::new(None), is_over: AtomicBool::new(false) });
        let (begun, hears) = mpsc::channel();
        let (here, stops) = (Arc::clone(&shared), Arc::clone(&stop));
        // A machine and its policy stay on the thread on which they were made.
        let thread = std::thread::Builder::new().name("machine".to_owned()).spawn(move || {
            match make(Arc::clone(&stops)) {
                Ok(mut machine) => {
                    let _ = begun.send(Ok(()));
                    here.run(&mut *machine, &stops);
                }
                Err(why) => {
                    let _ = begun.send(Err(why));
                }
            }
        })?;
        hears.recv()??;
        Ok(Self { shared, stop, thread: Some(thread) })
    }

    /// The newest scene, if it was not taken yet.
    pub(super) fn take_new_scene(&mut self) -> Option<Scene> {
        self.shared.unseen.lock().take()
    }

    /// Whether the thread panicked; the panic was printed, and the terminal restored for it.
    pub(super) fn has_broken_off(&self) -> bool {
        let is_finished = self.thread.as_ref().is_some_and(JoinHandle::is_finished);
        is_finished && !self.shared.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn play(&mut self, play: PlayCommand) {
        let mut pacer = self.shared.pacer.lock();
        match play {
            PlayCommand::Pause => {
                let paused = !pacer.is_paused;
                pacer.set_paused(paused);
            }
            PlayCommand::Faster => pacer.faster(true),
            PlayCommand::Slower => pacer.faster(false),
            PlayCommand::Forward | PlayCommand::Back | PlayCommand::Start | PlayCommand::End => {}
        }
    }
}

impl Shared {
    /// Runs the machine to its end, or until `stop` is set.
    fn run(&self, machine: &mut dyn WatchedMachine, stop: &AtomicBool) {
        let mut history = History::new(PLAYED_POINT_NANOS);
        let from = machine.kind();
        self.pacer.lock().set(Time::ZERO);
        let mut shown = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let Some(at) = machine.step() else { break };
            history.record(&machine.record().status);
            self.pacer.lock().catch_up(at);
            let mut pace = String::new();
            while !stop.load(Ordering::Relaxed) {
                let pacer = *self.pacer.lock();
                let rest = if pacer.is_paused { SHOW } else { pacer.time_until(at) };
                // A scene is made now and then, and before a wait.
                let waits = rest >= SHOW / 10 && pace != pacer.text();
                if waits || shown.elapsed() >= SHOW && pace.is_empty() {
                    pace = pacer.text();
                    *self.unseen.lock() = Some(scene(machine, &history, &from, pace.clone()));
                    shown = Instant::now();
                }
                if rest.is_zero() {
                    break;
                }
                std::thread::sleep(rest.min(SHOW));
            }
        }
        let mut scene = scene(machine, &history, &from, "over".to_owned());
        scene.note = machine.end().map(|why| format!("{why:#}"));
        *self.unseen.lock() = Some(scene);
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for SimulatedMachine {
    /// Also ends what runs outside of the machine.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

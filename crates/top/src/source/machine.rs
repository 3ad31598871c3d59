//! A simulated machine, on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairways_command_kit::{BadInput, Interrupted, stop_on_signals};
use fairways_core::Time;
use fairways_record::status::Watched;
use parking_lot::Mutex;

use super::pacer::Pacer;
use super::{PLAYED_POINT, Play, Scene};
use crate::history::History;

/// How often what is new is put where others see it, and how long it sleeps at most before it looks what is wanted.
const SHOW: Duration = Duration::from_millis(100);

/// A simulated machine under a policy, that is watched while it runs.
pub trait Machine {
    /// What it is, in a word or two: `model`, or a chip and its preset.
    fn kind(&self) -> String;

    /// Lets the next thing happen; when, or `None` once it is over.
    fn step(&mut self) -> Option<Time>;

    /// What is known of it so far.
    fn watched(&self) -> &Watched;

    /// Ends what runs outside of the machine; why it stopped, if it could not go on.
    fn end(&mut self) -> Option<anyhow::Error>;
}

/// Makes a machine on the thread on which it is to run; it ends early once the flag is true.
pub type Make = Box<dyn FnOnce(Arc<AtomicBool>) -> Result<Box<dyn Machine>, BadInput> + Send>;

/// A machine that runs.
pub(crate) struct Simulated {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    pacer: Mutex<Pacer>,
    /// What was not looked at.
    new: Mutex<Option<Scene>>,
    /// Whether it has come to its end.
    over: AtomicBool,
}

/// Runs it to its end.
///
/// # Errors
/// If the flags do not make a run, or it could not go on.
pub(super) fn once(make: Make) -> anyhow::Result<Scene> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop)?;
    let mut machine = make(Arc::clone(&stop))?;
    let mut history = History::new(PLAYED_POINT);
    while !stop.load(Ordering::Relaxed) && machine.step().is_some() {
        history.take(&machine.watched().status);
    }
    if let Some(why) = machine.end() {
        return Err(why);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    Ok(Scene::of(machine.watched(), &history, &machine.kind(), String::new()))
}

impl Simulated {
    /// Starts it.
    ///
    /// # Errors
    /// If the flags do not make a run.
    pub(super) fn start(make: Make, speed: f64) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let pacer = Mutex::new(Pacer::new(speed, Time::ZERO));
        let shared =
            Arc::new(Shared { pacer, new: Mutex::new(None), over: AtomicBool::new(false) });
        let (begun, hears) = mpsc::channel();
        let (here, stops) = (Arc::clone(&shared), Arc::clone(&stop));
        // A machine and its policy live where they were made.
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

    /// What is new.
    pub(super) fn look(&mut self) -> Option<Scene> {
        self.shared.new.lock().take()
    }

    /// Whether its thread has ended in a panic, which was told, and for which the terminal was given back.
    pub(super) fn broke_off(&self) -> bool {
        let is_finished = self.thread.as_ref().is_some_and(JoinHandle::is_finished);
        is_finished && !self.shared.over.load(Ordering::Relaxed)
    }

    pub(super) fn play(&mut self, play: Play) {
        let mut pacer = self.shared.pacer.lock();
        match play {
            Play::Pause => {
                let paused = !pacer.paused;
                pacer.pause(paused);
            }
            Play::Faster => pacer.faster(true),
            Play::Slower => pacer.faster(false),
            Play::Forward | Play::Back | Play::Start | Play::End => {}
        }
    }
}

impl Shared {
    /// Runs it to its end, or until somebody has seen enough.
    fn run(&self, machine: &mut dyn Machine, stop: &AtomicBool) {
        let mut history = History::new(PLAYED_POINT);
        let from = machine.kind();
        self.pacer.lock().set(Time::ZERO);
        let mut shown = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let Some(at) = machine.step() else { break };
            history.take(&machine.watched().status);
            self.pacer.lock().heed(at);
            let mut pace = String::new();
            while !stop.load(Ordering::Relaxed) {
                let pacer = *self.pacer.lock();
                let rest = if pacer.paused { SHOW } else { pacer.until(at) };
                // It says how it is now and then, and before it waits.
                let waits = rest >= SHOW / 10 && pace != pacer.shown();
                if waits || shown.elapsed() >= SHOW && pace.is_empty() {
                    pace = pacer.shown();
                    *self.new.lock() =
                        Some(Scene::of(machine.watched(), &history, &from, pace.clone()));
                    shown = Instant::now();
                }
                if rest.is_zero() {
                    break;
                }
                std::thread::sleep(rest.min(SHOW));
            }
        }
        let mut scene = Scene::of(machine.watched(), &history, &from, "over".to_owned());
        scene.note = machine.end().map(|why| format!("{why:#}"));
        *self.new.lock() = Some(scene);
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Drop for Simulated {
    /// What runs outside of the machine ends with it.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

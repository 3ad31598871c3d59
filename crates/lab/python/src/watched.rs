//! Work that Python can interrupt, and that shows how far it is.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::error::{CallFailure, FairwaysError};

/// How often signals are heard and the progress is shown.
const LOOK: Duration = Duration::from_millis(50);

/// What work and the thread that waits for it know of each other.
#[derive(Debug, Default)]
pub(crate) struct WatchedWork {
    stop: Arc<AtomicBool>,
    /// In thousandths of the unit that is shown.
    done: AtomicU64,
}

/// The steps of some work, as tqdm shows them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub(crate) total: u64,
    pub(crate) unit: &'static str,
}

impl WatchedWork {
    /// Becomes true when the work has to stop.
    pub(crate) fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// # Errors
    /// If the work has to stop.
    pub(crate) fn go_on(&self) -> Result<(), CallFailure> {
        if self.stop.load(Ordering::Relaxed) { Err(CallFailure::Stopped) } else { Ok(()) }
    }

    /// One more step is done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1000, Ordering::Relaxed);
    }

    /// So many thousandths of a step are done in all.
    pub(crate) fn reached(&self, thousandths: u64) {
        self.done.store(thousandths, Ordering::Relaxed);
    }

    /// Leaves the work, from within code that has no other way to be ended.
    pub(crate) fn leave_if_stopped(&self) {
        if self.go_on().is_err() {
            resume_unwind(Box::new(LeftEarly));
        }
    }
}

/// What [`WatchedWork::leave_if_stopped`] unwinds with.
struct LeftEarly;

/// Something that shows progress, by tqdm's conventions.
struct ShownProgress {
    bar: Py<PyAny>,
    shown: u64,
}

impl ShownProgress {
    /// Makes the bar that the user asked for. `True` is tqdm's, if it is installed.
    fn new(progress: &Bound<'_, PyAny>, steps: Steps) -> PyResult<Option<Self>> {
        let py = progress.py();
        let make = match progress.cast::<PyBool>() {
            Ok(wanted) if !wanted.is_true() => return Ok(None),
            Ok(_) => match py.import("tqdm.auto") {
                Ok(tqdm) => tqdm.getattr("tqdm")?,
                Err(_) => {
                    let expected = "progress: expected tqdm to be installed, or a callable like it";
                    return Err(FairwaysError::new_err(expected));
                }
            },
            Err(_) => progress.clone(),
        };
        let named = PyDict::new(py);
        named.set_item("total", steps.total)?;
        named.set_item("unit", steps.unit)?;
        Ok(Some(Self { bar: make.call((), Some(&named))?.unbind(), shown: 0 }))
    }

    fn show(&mut self, py: Python<'_>, watch: &WatchedWork) -> PyResult<()> {
        let done = watch.done.load(Ordering::Relaxed);
        let more = done.saturating_sub(self.shown);
        if more == 0 {
            return Ok(());
        }
        self.shown = done;
        match more % 1000 {
            0 => self.bar.call_method1(py, "update", (more / 1000,))?,
            _ => self.bar.call_method1(py, "update", (more as f64 / 1000.0,))?,
        };
        Ok(())
    }
}

/// Does the work in a thread of its own, while this thread, without Python's lock, hears signals
/// and shows the progress.
///
/// # Errors
/// What the work returns, or what a signal or the bar raises: then the work is stopped first.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    steps: Steps,
    work: impl FnOnce(&WatchedWork) -> Result<T, CallFailure> + Send,
) -> PyResult<T> {
    let mut bar = progress.map_or(Ok(None), |progress| ShownProgress::new(progress, steps))?;
    let watch = WatchedWork::default();
    let (done, raised) = py.detach(|| {
        let waiting = std::thread::current();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // A thread that is known to Python attaches quickly, once for each event.
                let done = Python::attach(|py| {
                    py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&watch))))
                });
                waiting.unpark();
                done.unwrap_or_else(|why| match why.downcast::<LeftEarly>() {
                    Ok(_) => Err(CallFailure::Stopped),
                    Err(why) => resume_unwind(why),
                })
            });
            let mut raised = Ok(());
            while !worker.is_finished() {
                std::thread::park_timeout(LOOK);
                if raised.is_ok() {
                    raised = Python::attach(|py| {
                        py.check_signals()?;
                        bar.as_mut().map_or(Ok(()), |bar| bar.show(py, &watch))
                    });
                    watch.stop.store(raised.is_err(), Ordering::Relaxed);
                }
            }
            (worker.join().unwrap_or_else(|why| resume_unwind(why)), raised)
        })
    });
    if let Some(bar) = &mut bar {
        let shown = bar.show(py, &watch);
        bar.bar.call_method0(py, "close")?;
        shown?;
    }
    raised?;
    Ok(done?)
}

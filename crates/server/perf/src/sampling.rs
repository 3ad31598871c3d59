//! Windows that end in the kernel: a window is over when a program's instructions overflow, not
//! at the next look.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use fairways_core::{AppId, Counter, Counters};
use rustix::time::{ClockId, clock_gettime};

use super::events::BY_PROCESSOR;
use super::part::{CountedPart, Layout};
pub use super::sampler::{EVENTS, Sampler, Window};
use super::sampler::{Joined, Shared};
use super::source::EndedWindow;
pub use super::tally::Span;

/// Windows are exact to this fraction, over all threads of a program together.
const STEPS: u64 = 16;

/// The smallest step of a thread: an overflow costs a microsecond or two, which must be little
/// beside this many instructions.
const LEAST: u64 = 100_000;

/// Nanoseconds between two looks at the counters.
const LOOK: u64 = 1_000_000_000;

/// Windows that are requested for a program in a domain.
struct Request {
    instructions: u64,
    /// The series that reports them; `None` while the program can't be counted.
    series: Option<u32>,
    /// The period of its parts.
    period: u64,
}

/// An open series.
struct Series {
    of: (AppId, u32),
    /// When its last window ended.
    since: u64,
}

/// The windows of all programs.
pub(super) struct Sampling {
    sampler: Shared,
    attention: OwnedFd,
    requests: BTreeMap<(AppId, u32), Request>,
    series: BTreeMap<u32, Series>,
    /// Whether a warning was logged that windows were reported late.
    late: bool,
    /// When counters were last [due](Self::take_due) for a look.
    looked: u64,
}

impl Sampling {
    /// # Errors
    /// If there is no descriptor left.
    pub(super) fn new(sampler: Box<dyn Sampler>) -> io::Result<Self> {
        Ok(Self {
            attention: sampler.attention().try_clone_to_owned()?,
            sampler: Rc::new(RefCell::new(sampler)),
            requests: BTreeMap::new(),
            series: BTreeMap::new(),
            late: false,
            looked: now(),
        })
    }

    /// Requests windows of a program, which [begin](Self::begin) later.
    pub(super) fn request_windows(&mut self, app: AppId, domain: u32, instructions: u64) {
        self.forget(app, domain);
        let request = Request { instructions, series: None, period: 0 };
        self.requests.insert((app, domain), request);
    }

    /// Whether a program's windows are reported, or will be once it can be counted.
    pub(super) fn is_requested(&self, app: AppId, domain: u32) -> bool {
        self.requests.contains_key(&(app, domain))
    }

    /// The domains for which windows of a program are requested.
    pub(super) fn domains(&self, app: AppId) -> Vec<u32> {
        self.requests.keys().filter(|(of, _)| *of == app).map(|&(_, domain)| domain).collect()
    }

    /// Begins a program's windows, again if they had begun before.
    ///
    /// # Errors
    /// The sampler's, or of reading the parts.
    pub(super) fn begin<'a>(
        &mut self,
        app: AppId,
        domain: u32,
        parts: impl Iterator<Item = &'a mut CountedPart>,
    ) -> io::Result<()> {
        self.pause(app, domain);
        let Some(request) = self.requests.get_mut(&(app, domain)) else { return Ok(()) };
        let mut parts: Vec<&mut CountedPart> = parts.collect();
        parts.iter_mut().try_for_each(|part| part.depart())?;
        let series = self.sampler.borrow_mut().open(request.instructions)?;
        request.series = Some(series);
        self.series.insert(series, Series { of: (app, domain), since: now() });
        self.join(app, domain, parts.into_iter())
    }

    /// Adds the program's parts that are not in its series yet, and sets every part's period for
    /// that many.
    ///
    /// # Errors
    /// The sampler's, or of reading the parts.
    pub(super) fn join<'a>(
        &mut self,
        app: AppId,
        domain: u32,
        parts: impl Iterator<Item = &'a mut CountedPart>,
    ) -> io::Result<()> {
        let Some(request) = self.requests.get_mut(&(app, domain)) else { return Ok(()) };
        let Some(series) = request.series else { return Ok(()) };
        let parts: Vec<&mut CountedPart> = parts.collect();
        let period = period(request.instructions, parts.len());
        let is_other = std::mem::replace(&mut request.period, period) != period;
        for part in parts {
            let is_new = !part.is_joined();
            if is_new {
                let joined = self.sampler.borrow_mut().join(series, &part.counted()?)?;
                part.join(Joined { sampler: Rc::clone(&self.sampler), part: joined });
            }
            if is_new || is_other {
                part.set_period(period)?;
            }
        }
        Ok(())
    }

    /// Suspends a program's windows until they are begun again.
    pub(super) fn pause(&mut self, app: AppId, domain: u32) {
        let series =
            self.requests.get_mut(&(app, domain)).and_then(|request| request.series.take());
        if let Some(series) = series {
            self.series.remove(&series);
            self.sampler.borrow_mut().close(series);
        }
    }

    /// Drops the request for a program's windows.
    pub(super) fn forget(&mut self, app: AppId, domain: u32) {
        self.pause(app, domain);
        self.requests.remove(&(app, domain));
    }

    /// See [`Sampler::attention`].
    pub(super) fn attention(&self) -> BorrowedFd<'_> {
        self.attention.as_fd()
    }

    /// The programs with requested windows, once a second: their counters need a look, as an event
    /// that is on no counter never overflows.
    pub(super) fn take_due(&mut self) -> Vec<(AppId, u32)> {
        let now = now();
        if now.saturating_sub(self.looked) < LOOK {
            return Vec::new();
        }
        self.looked = now;
        self.requests.keys().copied().collect()
    }

    /// Appends the windows that have ended, scaled for events that are in that many `groups`.
    pub(super) fn take_ended(
        &mut self,
        layout: &Layout,
        groups: &[u32; BY_PROCESSOR.len()],
        ended_windows: &mut Vec<EndedWindow>,
    ) {
        let mut windows = Vec::new();
        self.sampler.borrow_mut().take_ended(&mut windows);
        let now = now();
        for window in windows {
            if window.late > 0 && !std::mem::replace(&mut self.late, true) {
                tracing::warn!(
                    "windows are longer than requested: earlier ones were not fetched in time"
                );
            }
            let Some(series) = self.series.get_mut(&window.series) else { continue };
            let (app, domain) = series.of;
            let length = Duration::from_nanos(window.at.saturating_sub(series.since));
            series.since = window.at;
            let counters = counters(layout, groups, &window.counted);
            let ago = Duration::from_nanos(now.saturating_sub(window.at));
            ended_windows.push(EndedWindow { app, domain, counters, length, ago });
        }
    }
}

/// The period of each of a program's threads: together they make a [step](STEPS) at most, unless
/// that is less than the [least](LEAST) for each.
fn period(window: u64, parts: usize) -> u64 {
    let parts = u64::try_from(parts.next_power_of_two()).unwrap_or(u64::MAX);
    (window / STEPS / parts).max(LEAST).min(window)
}

/// The counters of a window.
fn counters(
    layout: &Layout,
    groups: &[u32; BY_PROCESSOR.len()],
    counted: &[Option<Span>],
) -> Counters {
    let mut counters = Counters::default();
    for (field, &groups) in BY_PROCESSOR.iter().zip(groups).filter(|&(_, &groups)| groups > 0) {
        let events = layout.iter().flatten().zip(counted).filter(|((of, _), _)| of == field);
        let spans = events.map(|(_, span)| *span).collect::<Option<Vec<Span>>>();
        let sum = spans.map(|spans| spans.into_iter().fold(Span::default(), Span::grown));
        if *field == Counter::Instructions {
            counters.cpu_nanos = sum.and_then(|sum| sum.enabled.checked_div(groups.into()));
        }
        *counters.get_mut(*field) = sum.and_then(|sum| sum.scaled(groups));
    }
    counters
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
fn now() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

//! Windows that end in the kernel: an overflow of a program's instructions, not a look at them, says that one is over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use fairways_core::{AppId, Counter, Counters};
use rustix::time::{ClockId, clock_gettime};

use super::events::BY_PROCESSOR;
use super::part::{Layout, Part};
pub use super::sampler::{EVENTS, Sampler, Window};
use super::sampler::{Joined, Shared};
use super::source::Ended;
pub use super::tally::Span;

/// A window is known in steps of this part of it, of all threads of its program together.
const STEPS: u64 = 16;

/// The least step of a thread: an overflow costs a microsecond or two, which is to be little beside this many instructions.
const LEAST: u64 = 100_000;

/// Nanoseconds from one look at counters to the next.
const LOOK: u64 = 1_000_000_000;

/// What was asked for of a program in a domain.
struct Asked {
    instructions: u64,
    /// The series by which it is told; `None` while the program can't be counted.
    series: Option<u32>,
    /// The period of its parts.
    period: u64,
}

/// A series that goes on.
struct Series {
    of: (AppId, u32),
    /// When its last window ended.
    since: u64,
}

/// The windows of all programs.
pub(super) struct Sampling {
    sampler: Shared,
    attention: OwnedFd,
    asked: BTreeMap<(AppId, u32), Asked>,
    series: BTreeMap<u32, Series>,
    /// Whether it was said that windows were told late.
    late: bool,
    /// When it was last [time to look](Self::is_time).
    looked: u64,
}

impl Sampling {
    /// # Errors
    /// If there is no descriptor left.
    pub(super) fn new(sampler: Box<dyn Sampler>) -> io::Result<Self> {
        Ok(Self {
            attention: sampler.attention().try_clone_to_owned()?,
            sampler: Rc::new(RefCell::new(sampler)),
            asked: BTreeMap::new(),
            series: BTreeMap::new(),
            late: false,
            looked: now(),
        })
    }

    /// Asks for windows of a program, which [begin](Self::begin) later.
    pub(super) fn ask(&mut self, app: AppId, domain: u32, instructions: u64) {
        self.forget(app, domain);
        let asked = Asked { instructions, series: None, period: 0 };
        self.asked.insert((app, domain), asked);
    }

    /// Whether a program's windows are told of, or will be once it can be counted.
    pub(super) fn is_asked(&self, app: AppId, domain: u32) -> bool {
        self.asked.contains_key(&(app, domain))
    }

    /// In which domains windows of a program are asked for.
    pub(super) fn domains(&self, app: AppId) -> Vec<u32> {
        self.asked.keys().filter(|(of, _)| *of == app).map(|&(_, domain)| domain).collect()
    }

    /// Begins a program's windows, or begins them anew.
    ///
    /// # Errors
    /// The sampler's, or of reading the parts.
    pub(super) fn begin<'a>(
        &mut self,
        app: AppId,
        domain: u32,
        parts: impl Iterator<Item = &'a mut Part>,
    ) -> io::Result<()> {
        self.pause(app, domain);
        let Some(asked) = self.asked.get_mut(&(app, domain)) else { return Ok(()) };
        let mut parts: Vec<&mut Part> = parts.collect();
        parts.iter_mut().try_for_each(|part| part.depart())?;
        let series = self.sampler.borrow_mut().open(asked.instructions)?;
        asked.series = Some(series);
        self.series.insert(series, Series { of: (app, domain), since: now() });
        self.join(app, domain, parts.into_iter())
    }

    /// Takes in the parts that are none of the program's series yet; each overflows as often as befits so many.
    ///
    /// # Errors
    /// The sampler's, or of reading the parts.
    pub(super) fn join<'a>(
        &mut self,
        app: AppId,
        domain: u32,
        parts: impl Iterator<Item = &'a mut Part>,
    ) -> io::Result<()> {
        let Some(asked) = self.asked.get_mut(&(app, domain)) else { return Ok(()) };
        let Some(series) = asked.series else { return Ok(()) };
        let parts: Vec<&mut Part> = parts.collect();
        let period = period(asked.instructions, parts.len());
        let is_other = std::mem::replace(&mut asked.period, period) != period;
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

    /// A program's windows are not told of until they are begun anew.
    pub(super) fn pause(&mut self, app: AppId, domain: u32) {
        let series = self.asked.get_mut(&(app, domain)).and_then(|asked| asked.series.take());
        if let Some(series) = series {
            self.series.remove(&series);
            self.sampler.borrow_mut().close(series);
        }
    }

    /// A program's windows are not asked for any longer.
    pub(super) fn forget(&mut self, app: AppId, domain: u32) {
        self.pause(app, domain);
        self.asked.remove(&(app, domain));
    }

    /// See [`Sampler::attention`].
    pub(super) fn attention(&self) -> BorrowedFd<'_> {
        self.attention.as_fd()
    }

    /// Whose windows are asked for, once a second: their counters are looked at, as an event that is on no counter never overflows.
    pub(super) fn is_time(&mut self) -> Vec<(AppId, u32)> {
        let now = now();
        if now.saturating_sub(self.looked) < LOOK {
            return Vec::new();
        }
        self.looked = now;
        self.asked.keys().copied().collect()
    }

    /// The windows that have ended, their counts scaled as of events that are in so many `groups`.
    pub(super) fn ended(
        &mut self,
        layout: &Layout,
        groups: &[u32; BY_PROCESSOR.len()],
        told: &mut Vec<Ended>,
    ) {
        let mut windows = Vec::new();
        self.sampler.borrow_mut().ended(&mut windows);
        let now = now();
        for window in windows {
            if window.late > 0 && !std::mem::replace(&mut self.late, true) {
                tracing::warn!(
                    "windows are longer than was asked for: nobody fetched those before in time"
                );
            }
            let Some(series) = self.series.get_mut(&window.series) else { continue };
            let (app, domain) = series.of;
            let length = Duration::from_nanos(window.at.saturating_sub(series.since));
            series.since = window.at;
            let counters = counters(layout, groups, &window.counted);
            let ago = Duration::from_nanos(now.saturating_sub(window.at));
            told.push(Ended { app, domain, counters, length, ago });
        }
    }
}

/// How often a thread overflows, of which there are so many in a program: in all they are a [step](STEPS) at most, unless
/// that were less than the [least](LEAST) of each.
fn period(window: u64, parts: usize) -> u64 {
    let parts = u64::try_from(parts.next_power_of_two()).unwrap_or(u64::MAX);
    (window / STEPS / parts).max(LEAST).min(window)
}

/// What a window counted.
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

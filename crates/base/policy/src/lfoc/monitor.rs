//! Normal operation: detecting that a program's class has changed (§4.2).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use fairways_core::{AppId, Curve, Q32, Sample, WayMask};

use super::classify::Class;
use super::parameters::Parameters;
use super::sampling::Sampled;

/// A program that started without a profile, so LFOC learns its class while it runs.
#[derive(Clone, Debug)]
pub(crate) struct Learner {
    pub(crate) app: AppId,
    /// Windows still to skip before it is sampled.
    pub(crate) warm_up: u32,
    /// Its class by sampling; `None` is the unknown class.
    pub(crate) class: Option<Class>,
    /// The result of sampling; boxed, as programs come and go in a list.
    pub(crate) sampled: Option<Box<Sampled>>,
    /// The number of running threads for which windows were last requested (decision LFOC 22).
    pub(crate) threads: u32,
    /// Samplings in a row that were given up.
    pub(crate) given_up: u32,
    /// The ways of its cluster.
    mask: WayMask,
    /// Windows still to skip because its ways changed.
    unsettled: u32,
    history: VecDeque<WindowRates>,
    signal: Persistence,
}

/// The rates of a window in normal operation.
#[derive(Clone, Copy, Debug)]
struct WindowRates {
    llcmpkc: Q32,
    stalls: Option<Q32>,
    /// What it occupies at least, and at most.
    occupied: [Q32; 2],
}

/// How long a signal has lasted. Decision LFOC 19: a signal that sampling found false has to last
/// longer each time. Otherwise a program that always signals would always be sampled.
#[derive(Clone, Copy, Debug, Default)]
struct Persistence {
    /// Windows in a row with the signal, and without it.
    on: u32,
    off: u32,
    /// Windows for which the signal has to last.
    needed: u32,
}

/// Why a program's class has probably changed: the rule, and the averages that it was applied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) reason: &'static str,
    pub(crate) llcmpkc: Q32,
    pub(crate) stalls: Option<Q32>,
    /// The occupancy of a sensitive program.
    pub(crate) occupancy: Option<Q32>,
}

impl Learner {
    pub(crate) fn new(app: AppId, p: &Parameters) -> Self {
        Self {
            app,
            warm_up: p.warm_up_intervals,
            class: None,
            sampled: None,
            threads: 1,
            given_up: 0,
            mask: WayMask::default(),
            unsettled: 0,
            history: VecDeque::new(),
            signal: Persistence::default(),
        }
    }

    /// A program that has run for a while.
    pub(crate) fn to_be_sampled(app: AppId, p: &Parameters) -> Self {
        Self { warm_up: 0, ..Self::new(app, p) }
    }

    /// Its cluster has these ways from now on. What was measured with more or fewer ways says
    /// nothing about these.
    pub(crate) fn set_mask(&mut self, mask: WayMask, p: &Parameters) {
        if mask.count() != self.mask.count() {
            self.history.clear();
        }
        if mask != self.mask {
            self.mask = mask;
            self.disturb(p);
        }
    }

    /// Its lines move: the current window does not count, and neither do those after it, as many as
    /// are discarded (decision LFOC 17).
    pub(crate) fn disturb(&mut self, p: &Parameters) {
        self.unsettled = p.discarded_windows.saturating_add(1);
    }

    /// Sampling found this class.
    pub(crate) fn set_class(&mut self, class: Class, sampled: Sampled, p: &Parameters) {
        let confirmed = self.class == Some(class);
        self.signal = Persistence {
            needed: if confirmed { self.signal.longer(p) } else { 0 },
            ..Persistence::default()
        };
        self.class = Some(class);
        self.sampled = Some(Box::new(sampled));
        self.given_up = 0;
        self.history.clear();
    }

    /// Handles a window; returns why the class has probably changed, if it has.
    pub(crate) fn observe(&mut self, p: &Parameters, sample: &Sample) -> Option<Signal> {
        let class = self.class?;
        let llcmpkc = sample.counters.llcmpkc()?;
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return None;
        }
        // The footnote of §4.2 reads occupancy from CMT. Without it, a program occupies at most the
        // ways of its cluster.
        let own = Q32::from_int(self.mask.count());
        let least = sample.occupancy.or(sample.occupancy_at_least).unwrap_or(own);
        let occupied = [least, sample.occupancy.unwrap_or(own).max(least)];
        let stalls = sample.counters.stalls_l2_miss_share();
        self.history.push_back(WindowRates { llcmpkc, stalls, occupied });
        if self.history.len() < p.averaged_periods.max(1) as usize {
            return None;
        }
        let signal = self.signal(class, p);
        self.history.pop_front();
        let has_lasted = self.signal.has_lasted(signal.is_some(), p);
        signal.filter(|_| has_lasted)
    }

    /// The three rules of §4.2 on averages over `averaged_periods` (decision LFOC 13).
    fn signal(&self, class: Class, p: &Parameters) -> Option<Signal> {
        let llcmpkc = mean(self.history.iter().map(|period| period.llcmpkc))?;
        let stalls = mean(self.history.iter().filter_map(|period| period.stalls));
        let stalled = stalls.is_some_and(|stalls| exceeds_percent(stalls, p.stalls_percent));
        let intensive = llcmpkc > p.high_threshold || stalled;
        let mut occupancy = None;
        let reason = match class {
            Class::Light => intensive.then_some("a light program in a memory-intensive phase"),
            Class::Streaming => {
                let quiet = llcmpkc < p.low_threshold();
                quiet.then_some("a streaming program that misses little")
            }
            Class::Sensitive => {
                let least = mean(self.history.iter().map(|period| period.occupied[0]))?;
                let most = mean(self.history.iter().map(|period| period.occupied[1]))?;
                occupancy = Some(least);
                let critical = Q32::from_int(self.sampled.as_ref()?.critical_ways);
                if !intensive && most < critical {
                    Some("a sensitive program that needs less than its critical size")
                } else if llcmpkc > p.high_threshold && least > critical {
                    Some("a sensitive program that misses much beyond its critical size")
                } else {
                    None
                }
            }
        };
        Some(Signal { reason: reason?, llcmpkc, stalls, occupancy })
    }
}

impl Persistence {
    /// Counts a window with or without the signal. Whether the signal has lasted long enough.
    fn has_lasted(&mut self, on: bool, p: &Parameters) -> bool {
        if on {
            (self.on, self.off) = (self.on.saturating_add(1), 0);
            self.on > self.needed
        } else {
            (self.on, self.off) = (0, self.off.saturating_add(1));
            if self.off >= p.averaged_periods {
                self.needed = 0;
            }
            false
        }
    }

    fn longer(&self, p: &Parameters) -> u32 {
        self.needed.max(p.averaged_periods).saturating_mul(2).min(p.most_persistence)
    }
}

fn mean(values: impl Iterator<Item = Q32> + Clone) -> Option<Q32> {
    let count = u64::try_from(values.clone().count()).ok().filter(|&count| count > 0)?;
    let sum = values.map(Q32::raw).fold(0, u64::saturating_add);
    Some(Q32::from_raw(sum / count))
}

fn exceeds_percent(share: Q32, percent: u32) -> bool {
    100 * u128::from(share.raw()) > u128::from(percent) * u128::from(Q32::ONE.raw())
}

/// The programs whose class LFOC learns, in the order in which they started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learners(pub(crate) Vec<Learner>);

impl Learners {
    pub(crate) fn get(&self, app: AppId) -> Option<&Learner> {
        self.0.iter().find(|learner| learner.app == app)
    }

    pub(crate) fn get_mut(&mut self, app: AppId) -> Option<&mut Learner> {
        self.0.iter_mut().find(|learner| learner.app == app)
    }

    /// A program's LLCMPKC by sampling.
    pub(crate) fn pressure(&self, app: AppId) -> Option<&Curve> {
        Some(&self.get(app)?.sampled.as_ref()?.llcmpkc)
    }
}

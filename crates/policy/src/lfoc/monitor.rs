//! Normal operation: is a program still what it was taken for? (§4.2)

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use fairways_core::{AppId, Curve, Q32, Sample, WayMask};

use super::classify::Class;
use super::parameters::Parameters;
use super::sampling::Sampled;

/// A program that is learned about while it runs, for it came without a profile.
#[derive(Clone, Debug)]
pub(crate) struct Learner {
    pub(crate) app: AppId,
    /// Windows that are still to be passed over before it is sampled.
    pub(crate) warm_up: u32,
    /// What it was sampled to be; `None` is the unknown class.
    pub(crate) class: Option<Class>,
    /// What sampling found; boxed, for programs come and go in a list.
    pub(crate) sampled: Option<Box<Sampled>>,
    /// Threads that run at a time, for which windows were last asked (decision LFOC 22).
    pub(crate) threads: u32,
    /// Samplings in a row that had to be given up.
    pub(crate) given_up: u32,
    /// The ways of its cluster, and how many windows are still to be passed over because they
    /// changed.
    mask: WayMask,
    unsettled: u32,
    history: VecDeque<WindowRates>,
    signal: Persistence,
}

/// What a window in normal operation showed.
#[derive(Clone, Copy, Debug)]
struct WindowRates {
    llcmpkc: Q32,
    stalls: Option<Q32>,
    occupancy: Q32,
}

/// How long a signal has lasted. Decision LFOC 19: one that sampling found false has to last
/// longer each time, or a program that always signals would be sampled for ever.
#[derive(Clone, Copy, Debug, Default)]
struct Persistence {
    /// Windows for which the signal has been there, and for which it has not.
    on: u32,
    off: u32,
    /// Windows for which it has to be there.
    needed: u32,
}

/// Why a program's class has probably changed: the rule, and the averages that it was asked of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) reason: &'static str,
    pub(crate) llcmpkc: Q32,
    pub(crate) stalls: Option<Q32>,
    /// Of a sensitive program.
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

    /// Its cluster has these ways from now on. What was seen with more or fewer of them says
    /// nothing of how it fares with these.
    pub(crate) fn set_mask(&mut self, mask: WayMask, p: &Parameters) {
        if mask.count() != self.mask.count() {
            self.history.clear();
        }
        if mask != self.mask {
            self.mask = mask;
            self.disturb(p);
        }
    }

    /// Its lines move: neither the window under way nor those after it, as many as are discarded
    /// (decision LFOC 17), tell how it fares.
    pub(crate) fn disturb(&mut self, p: &Parameters) {
        self.unsettled = p.discarded_windows.saturating_add(1);
    }

    /// It was sampled, and is of this class now.
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

    /// Takes in a window; says whether and why the class has probably changed.
    pub(crate) fn observe(&mut self, p: &Parameters, sample: &Sample) -> Option<Signal> {
        let class = self.class?;
        let llcmpkc = sample.counters.llcmpkc()?;
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return None;
        }
        // The footnote of §4.2 reads occupancy from CMT. Where there is none to read, a program
        // holds at most the ways of its cluster.
        let occupancy = sample.occupancy.unwrap_or(Q32::from_int(self.mask.count()));
        let stalls = sample.counters.stalls_l2_miss_share();
        self.history.push_back(WindowRates { llcmpkc, stalls, occupancy });
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
                let own = mean(self.history.iter().map(|period| period.occupancy))?;
                occupancy = Some(own);
                let critical = Q32::from_int(self.sampled.as_ref()?.critical_ways);
                if !intensive && own < critical {
                    Some("a sensitive program that needs less than its critical size")
                } else if llcmpkc > p.high_threshold && own > critical {
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
    /// Whether a signal that is there now, or is not, has lasted long enough.
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

/// Every program that is learned about, in the order in which they started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learners(pub(crate) Vec<Learner>);

impl Learners {
    pub(crate) fn get(&self, app: AppId) -> Option<&Learner> {
        self.0.iter().find(|learner| learner.app == app)
    }

    pub(crate) fn get_mut(&mut self, app: AppId) -> Option<&mut Learner> {
        self.0.iter_mut().find(|learner| learner.app == app)
    }

    /// The LLCMPKC that was sampled of a program.
    pub(crate) fn pressure(&self, app: AppId) -> Option<&Curve> {
        Some(&self.get(app)?.sampled.as_ref()?.llcmpkc)
    }
}

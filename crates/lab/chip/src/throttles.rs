//! The throttles of a chip while it runs.

use crate::account::TICKS;
use crate::geometry::{Geometry, LINE};
use crate::running_programs::RunningPrograms;
use crate::throttle::{BandwidthLimit, SiblingGap, Throttle};

/// The throttles of a chip while it runs. Times are in ticks.
#[derive(Clone, Debug)]
pub(crate) enum Throttles {
    None,
    Spacing {
        queues: Vec<RequestQueue>,
        gaps: [u64; 10],
        siblings: SiblingGap,
        threads: usize,
    },
    /// `line`: the ticks of a line at the least cap.
    Cap {
        by_class: Vec<ClassCap>,
        line: f64,
    },
}

/// The requests of a core, or of a hardware thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestQueue {
    gap: u64,
    /// The earliest time of the next request.
    next: u64,
}

/// The lines of a class. Cores run one after the other in a turn (`run.rs`), so a line waits for
/// those left over from earlier turns, not for those of this one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClassCap {
    /// Ticks of a line; 0: no cap.
    line: u64,
    lines: u64,
    left_over: u64,
}

impl Throttles {
    pub(crate) fn new(chip: &Geometry) -> Self {
        match chip.throttle {
            None => Self::None,
            Some(Throttle::Spacing { gaps, siblings }) => Self::Spacing {
                queues: vec![RequestQueue::default(); chip.cpus() as usize],
                gaps: gaps.map(|tenths| u64::from(tenths) * u64::from(chip.mhz) * TICKS / 10_000),
                siblings,
                threads: chip.threads as usize,
            },
            Some(Throttle::Cap(unit)) => {
                let cycles = f64::from(chip.mhz) * LINE as f64 / unit.mbps(chip.bandwidth_mbps);
                Self::Cap { by_class: Vec::new(), line: cycles * TICKS as f64 }
            }
        }
    }

    /// Applies the limits of the programs that now run.
    pub(crate) fn begin_turn(&mut self, apps: &RunningPrograms) {
        match self {
            Self::None => {}
            Self::Spacing { queues, gaps, siblings, threads } => {
                queues.iter_mut().for_each(|queue| queue.gap = 0);
                for app in apps.iter() {
                    let (Some(cpu), Some(limit)) = (app.cpu, app.runner.limit) else { continue };
                    let queue = &mut queues[queue_of(cpu, *siblings, *threads)];
                    queue.gap = queue.gap.max(gaps[step(limit.value)]);
                }
            }
            Self::Cap { by_class, line } => {
                by_class.iter_mut().for_each(|cap| cap.line = 0);
                for limit in apps.iter().filter_map(|app| app.runner.limit) {
                    let class = usize::from(limit.class);
                    if by_class.len() <= class {
                        by_class.resize_with(class + 1, ClassCap::default);
                    }
                    by_class[class].line = rounded(*line / f64::from(limit.value.max(1)));
                }
            }
        }
    }

    /// Resets the throttles after they were unused for a while.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::None => {}
            Self::Spacing { queues, .. } => queues.fill(RequestQueue::default()),
            Self::Cap { by_class, .. } => by_class.fill(ClassCap::default()),
        }
    }

    /// Ends a turn of this length.
    pub(crate) fn end_turn(&mut self, turn: u64) {
        let Self::Cap { by_class, .. } = self else { return };
        for cap in by_class {
            let requested = cap.lines * cap.line + cap.left_over;
            cap.left_over = if cap.line == 0 { 0 } else { requested.saturating_sub(turn) };
            cap.lines = 0;
        }
    }

    /// How long a request that leaves the private caches of a CPU at this time is held back.
    pub(crate) fn space(&mut self, cpu: usize, now: u64) -> u64 {
        let Self::Spacing { queues, siblings, threads, .. } = self else { return 0 };
        let RequestQueue { gap, next } = &mut queues[queue_of(cpu, *siblings, *threads)];
        if *gap == 0 {
            return 0;
        }
        let begins = now.max(*next);
        *next = begins + *gap;
        begins - now
    }

    /// Moves a line of a program with this limit; returns how long it waits.
    pub(crate) fn take_line(&mut self, limit: Option<BandwidthLimit>) -> u64 {
        let (Self::Cap { by_class, .. }, Some(limit)) = (self, limit) else { return 0 };
        let cap = &mut by_class[usize::from(limit.class)];
        cap.lines += 1;
        cap.left_over
    }
}

/// The index of the queue of a CPU's requests.
fn queue_of(cpu: usize, siblings: SiblingGap, threads: usize) -> usize {
    match siblings {
        SiblingGap::Max => cpu / threads,
        SiblingGap::PerThread => cpu,
    }
}

/// The index of the step at or above a percent.
fn step(percent: u32) -> usize {
    (percent.div_ceil(10).clamp(1, 10) - 1) as usize
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ticks are not negative; the cast saturates"
)]
fn rounded(ticks: f64) -> u64 {
    ticks.round() as u64
}

//! `mba-feedback`: the loop of Linux's mount option `mba_MBps` (`fs/resctrl/monitor.c`,
//! `update_mba_bw`), for each program in place of each group.
//!
//! Every second, a program that moved more than its target gets a level one step lower. One that
//! would still move less than its target one step higher gets that step, on the assumption that
//! traffic grows in proportion to the level. Nothing else counts: not whether memory has room, not
//! which program matters.
//!
//! The kernel's targets are an administrator's. Here they are one parameter, or equal shares of
//! what memory can move. Every program may fill every way. The policy acts where levels are
//! percents, as in the kernel.

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, Counter, Event, Llc, Partition,
    Policy, Resources, Sample, Time, WayMask, WindowLength,
};

use crate::announce::{Announcer, Number};
use crate::parameter::{MILLISECOND, parameters};
use crate::running::{Change, RunningPrograms, leave_unpartitioned};
use crate::table::{DecisionScope, Descriptor, KnowledgeSource, PolicyNeed, make};
use crate::words;

parameters! {
    /// The parameters of `mba-feedback`.
    pub struct FeedbackParameters {
        /// What a program is to move in a second; 0 for an equal share of what memory can move.
        target_mbps: u32 = 0, "MB/s", "ours; an administrator's in the kernel";

        /// How often levels change by a step.
        period: Duration = Duration::from_secs(1), "", "Linux, MBM_OVERFLOW_INTERVAL", least MILLISECOND;
    }
}

/// `mba-feedback`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Linux, fs/resctrl/monitor.c",
    decides: DecisionScope::Bandwidth,
    knows: KnowledgeSource::Counters,
    counters: &[Counter::MemoryBytes],
    needs: &[PolicyNeed::Counter(Counter::MemoryBytes), PolicyNeed::Bandwidth],
    ..Descriptor::new::<FeedbackParameters>(
        "mba-feedback",
        "each program's traffic steered to a target, as by mba_MBps",
        &|given| make(FeedbackParameters::default(), MbaFeedback::new, given),
    )
};

/// The `mba-feedback` policy.
#[derive(Clone, Debug, Default)]
pub struct MbaFeedback {
    parameters: FeedbackParameters,
    running: RunningPrograms,
    steered: Vec<SteeredProgram>,
    has_alarm: bool,
}

/// A program, its traffic since the last step, and its level.
#[derive(Clone, Copy, Debug)]
struct SteeredProgram {
    app: AppId,
    /// Bytes and nanoseconds of windows that had a reading.
    bytes: u64,
    nanos: u64,
    /// `None`: the highest level.
    level: Option<BandwidthLevel>,
}

impl SteeredProgram {
    /// The kernel's step; whether the level is another one.
    fn step(&mut self, lever: BandwidthLever, target: u64) -> bool {
        let (bytes, nanos) = (core::mem::take(&mut self.bytes), core::mem::take(&mut self.nanos));
        if nanos == 0 {
            return false;
        }
        let before = self.level.unwrap_or(lever.most);
        let current = u128::from(bytes) * 1_000_000_000 / u128::from(nanos);
        let (target, level) = (u128::from(target), u128::from(before.get()));
        let after = if target < current {
            lever.below(before)
        } else if target * level > current * (level + u128::from(lever.least.get())) {
            lever.above(before)
        } else {
            None
        };
        let after = after.unwrap_or(before);
        self.level = Some(after).filter(|after| *after < lever.most);
        after != before
    }
}

impl MbaFeedback {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(parameters: FeedbackParameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// The lever, and what each program is to move in a second, in bytes; `None` where levels are
    /// no percents, or no target is known.
    fn target(&self) -> Option<(BandwidthLever, u64)> {
        let lever = self.running.levers()?.bandwidth;
        let lever = lever.filter(|lever| lever.unit == BandwidthUnit::Percent)?;
        let programs = u64::try_from(self.steered.len()).ok()?;
        let mbps = match self.parameters.target_mbps {
            0 => u64::from(lever.capacity_mbps?).checked_div(programs)?,
            mbps => u64::from(mbps),
        };
        Some((lever, mbps * 1_000_000))
    }

    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        match change {
            Change::Started => {
                let Some(program) = self.running.programs().last() else { return };
                let app = program.app;
                self.steered.push(SteeredProgram { app, bytes: 0, nanos: 0, level: None });
                act(Action::Watch { app, every: WindowLength::Time(self.parameters.period) });
                if !core::mem::replace(&mut self.has_alarm, true) {
                    act(Action::Wake { at: at.after(self.parameters.period) });
                }
            }
            Change::Exited(app) => self.steered.retain(|steered| steered.app != app),
            // Levels of another lever mean nothing.
            Change::Machine => self.steered.iter_mut().for_each(|steered| steered.level = None),
            Change::Wish { .. } => {}
        }
    }

    fn sampled(&mut self, sample: &Sample) {
        let steered = self.steered.iter_mut().find(|steered| steered.app == sample.app);
        if let (Some(steered), Some(bytes)) = (steered, sample.counters.memory_bytes) {
            let nanos = u64::try_from(sample.window.as_nanos()).unwrap_or(u64::MAX);
            steered.bytes = steered.bytes.saturating_add(bytes);
            steered.nanos = steered.nanos.saturating_add(nanos);
        }
    }

    fn steer(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some((lever, target)) = self.target() else { return };
        let steps = self.steered.iter_mut().map(|steered| steered.step(lever, target));
        if steps.fold(false, |any, is_step| any | is_step) {
            self.plan(act);
        }
    }

    fn plan(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Self { running, steered, .. } = self;
        running.plan(act, |llc, programs, partition, announcer| {
            if steered.iter().all(|steered| steered.level.is_none()) {
                leave_unpartitioned(llc, programs, partition);
                announce(steered, announcer);
                return "no program moves more than its target";
            }
            by_level(llc, steered, partition);
            announce(steered, announcer);
            "a step for each program that moves more than its target, or could move more"
        });
    }
}

/// Announces each program's level.
fn announce(steered: &[SteeredProgram], announcer: &mut Announcer<'_>) {
    for steered in steered {
        let (class, reason) = match steered.level {
            None => ("unlimited", "it moves no more than its target"),
            Some(_) => ("limited", "it moved more than its target"),
        };
        announcer.announce_class(steered.app, class, reason);
        let level: Number = steered.level.map(|level| i64::from(level.get()) << 32);
        announcer.announce_numbers(steered.app, [words::LEVEL], [level]);
    }
}

/// A cluster with every way for each level. If there are more levels than classes of service,
/// programs with the lowest levels get the next higher one that has a class.
fn by_level(llc: &Llc, steered: &[SteeredProgram], partition: &mut Partition) {
    // No limit is the highest level.
    let mut levels: Vec<Option<BandwidthLevel>> = steered.iter().map(|of| of.level).collect();
    levels.sort_unstable_by_key(|level| core::cmp::Reverse(level.map_or(u32::MAX, |of| of.get())));
    levels.dedup();
    levels.truncate(llc.clos.max(1) as usize);
    for &bandwidth in &levels {
        partition.add(Resources { mask: WayMask::full(llc.ways), bandwidth });
    }
    for steered in steered {
        let own = levels.iter().position(|level| *level == steered.level);
        let cluster = own.unwrap_or(levels.len() - 1);
        partition.place(steered.app, u32::try_from(cluster).unwrap_or(u32::MAX));
    }
}

impl Policy for MbaFeedback {
    fn name(&self) -> &'static str {
        "mba-feedback"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Sampled(sample) => self.sampled(sample),
            Event::Woke => {
                self.has_alarm = !self.steered.is_empty();
                if self.has_alarm {
                    act(Action::Wake { at: at.after(self.parameters.period) });
                    self.steer(act);
                }
            }
            _ => {
                let Some(change) = self.running.update(event) else { return };
                self.follow(at, change, act);
                if !matches!(change, Change::Wish { .. }) {
                    self.plan(act);
                }
            }
        }
    }
}

//! The world outside the rules: tasks from /proc, counters from the machine.

use std::io;

use fairways_resctrl::language::Reading;
use fairways_resctrl::platform::{Event, PackageEvent, Platform};
use fairways_resctrl::rules::{self, Owner, World};
use rustix::io::Errno;

use crate::hardware::{FillClass, Hardware};
use crate::moved::MovedBytes;
use crate::placeholder::Placeholder;
use crate::tasks;

/// The machine, its programs' placeholders, and all other tasks.
pub(crate) struct Outside {
    pub(crate) platform: Platform,
    pub(crate) hardware: Box<dyn Hardware>,
    /// By program.
    pub(crate) placeholders: Vec<Placeholder>,
    pub(crate) moved: MovedBytes,
    /// By program: its classes, by CPU.
    pub(crate) classes: Vec<Vec<FillClass>>,
    /// Why tasks could not be read since this was last taken: the rules have no such error, because
    /// in a kernel they always can.
    pub(crate) tasks_error: Option<Errno>,
}

impl Outside {
    /// The mark under which the machine counts for a class and an id: ids are by themselves, but an
    /// MPAM machine's belong to a class (`Monitoring::rmids_per_class`).
    pub(crate) fn mark(&self, class: rules::Class) -> u16 {
        let rules::Class { closid, rmid } = class;
        let monitoring = self.platform.monitoring.as_ref().filter(|of| of.rmids_per_class);
        let mark =
            monitoring.map_or(rmid, |of| closid.saturating_mul(of.rmids).saturating_add(rmid));
        u16::try_from(mark).unwrap_or(u16::MAX)
    }

    /// The mark on a CPU: where nodes share a cache, each has a part of the ids
    /// (`logical_rmid_to_physical_rmid`).
    pub(crate) fn mark_on(&self, class: rules::Class, cpu: u32) -> u16 {
        let shared = self.platform.nodes_per_known_cache() > 1;
        let node = self.platform.monitored_domain_of(cpu).filter(|_| shared);
        node.map_or_else(|| self.mark(class), |node| self.mark_in(class, node))
    }

    fn mark_in(&self, class: rules::Class, domain: u32) -> u16 {
        let node = domain % self.platform.nodes_per_known_cache();
        self.mark(rules::Class { rmid: class.rmid + node * self.platform.rmids(), ..class })
    }

    pub(crate) fn set_classes(&mut self, program: usize, by_cpu: Vec<FillClass>) {
        self.classes.resize_with(self.placeholders.len(), Vec::new);
        self.classes[program].clone_from(&by_cpu);
        self.hardware.set_classes(program, by_cpu);
    }

    /// Counts the moved bytes, before anything else changes.
    pub(crate) fn look(&mut self) {
        let Self { hardware, moved, classes, .. } = self;
        moved.look(hardware.as_ref(), |program| {
            let by_cpu = classes.get(program);
            let cpu = hardware.cpu(program).and_then(|cpu| usize::try_from(cpu).ok()).unwrap_or(0);
            by_cpu.and_then(|by_cpu| by_cpu.get(cpu)).map_or(0, |class| class.mark)
        });
    }
}

impl World for Outside {
    fn owner(&mut self, thread: i32) -> Option<Owner> {
        self.keep_error(tasks::owner(thread)).flatten()
    }

    fn threads(&mut self) -> Vec<i32> {
        self.keep_error(tasks::all_threads()).unwrap_or_default()
    }

    /// The machine has one cache, whatever its number.
    fn counter(&mut self, class: rules::Class, domain: u32, event: Event) -> Reading {
        let mark = match self.platform.nodes_per_known_cache() {
            1 => self.mark(class),
            _ => self.mark_in(class, domain),
        };
        Reading::Value(match event {
            Event::LlcOccupancy => self.hardware.occupancy_bytes(mark),
            // All memory is near.
            Event::MbmTotalBytes | Event::MbmLocalBytes => {
                self.look();
                self.moved.count(mark)
            }
        })
    }

    /// Half a nanojoule a cycle: a watt at two gigahertz. Activity has the same number, as at one
    /// volt.
    fn telemetry(&mut self, class: rules::Class, _: u32, _: PackageEvent) -> Option<u64> {
        self.look();
        let cycles = self.moved.cycles(self.mark(class))?;
        u64::try_from((u128::from(cycles) << 18) / 2_000_000_000).ok()
    }
}

impl Outside {
    fn keep_error<T>(&mut self, look: io::Result<T>) -> Option<T> {
        look.inspect_err(|why| {
            self.tasks_error = Some(Errno::from_io_error(why).unwrap_or(Errno::IO));
        })
        .ok()
    }

    /// How many programs run.
    pub(crate) fn running(&self) -> usize {
        (0..self.placeholders.len()).filter(|&program| self.hardware.runs(program)).count()
    }
}

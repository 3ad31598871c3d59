//! The world outside the rules: tasks from /proc, counters from the machine.

use std::io;

use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::{Event, PackageEvent, Platform};
use fairways_resctrl_rules::rules::{self, Caller, Owner, World};
use rustix::io::Errno;

use crate::placeholder::Placeholder;
use crate::readings::PublishedReadings;
use crate::tasks::{self, Inheritance};

/// What the machine has published, its programs' placeholders, and all other tasks.
pub(crate) struct Outside {
    pub(crate) platform: Platform,
    pub(crate) readings: PublishedReadings,
    /// By program.
    pub(crate) names: Vec<String>,
    /// By program.
    pub(crate) placeholders: Vec<Placeholder>,
    pub(crate) inheritance: Inheritance,
    /// Why tasks could not be read since this was last taken: the rules have no such error, because
    /// in a kernel they always can.
    pub(crate) tasks_error: Option<Errno>,
}

impl Outside {
    /// The mark under which the machine counts for a class and an id: ids are by themselves, but an
    /// MPAM machine's belong to a class (`Monitoring::rmids_per_class`).
    fn mark(&self, class: rules::Class) -> u16 {
        let rules::Class { closid, rmid } = class;
        let monitoring = self.platform.monitoring.as_ref().filter(|of| of.rmids_per_class);
        let mark =
            monitoring.map_or(rmid, |of| closid.saturating_mul(of.rmids).saturating_add(rmid));
        u16::try_from(mark).unwrap_or(u16::MAX)
    }

    /// The node of a CPU, where nodes share a cache.
    pub(crate) fn node_of(&self, cpu: u32) -> Option<u32> {
        let shared = self.platform.nodes_per_known_cache() > 1;
        self.platform.monitored_domain_of(cpu).filter(|_| shared)
    }

    /// The mark in a node: where nodes share a cache, each has a part of the ids
    /// (`logical_rmid_to_physical_rmid`).
    pub(crate) fn mark_in(&self, class: rules::Class, node: Option<u32>) -> u16 {
        let Some(node) = node else { return self.mark(class) };
        let node = node % self.platform.nodes_per_known_cache();
        self.mark(rules::Class { rmid: class.rmid + node * self.platform.rmids(), ..class })
    }
}

impl World for Outside {
    fn owner(&mut self, thread: i32) -> Option<Owner> {
        self.keep_error(tasks::owner(thread)).flatten()
    }

    fn threads(&mut self) -> Vec<i32> {
        // A look for births precedes each read and write of tasks.
        match self.inheritance.seen() {
            Some(seen) => self.existing(seen),
            None => self.keep_error(tasks::all_threads()).unwrap_or_default(),
        }
    }

    fn existing(&mut self, threads: Vec<i32>) -> Vec<i32> {
        let in_order = tasks::in_order(&threads, |thread| self.inheritance.process_of(thread));
        self.keep_error(in_order).unwrap_or_default()
    }

    fn named(&mut self, caller: &Caller, number: i32) -> Option<i32> {
        self.keep_error(tasks::named_by(caller.thread, number)).flatten()
    }

    fn numbers(&mut self, caller: &Caller, threads: Vec<i32>) -> Vec<i32> {
        self.keep_error(tasks::numbers_for(caller.thread, threads)).unwrap_or_default()
    }

    /// The machine has one cache, whatever its number.
    fn counter(&mut self, class: rules::Class, domain: u32, event: Event) -> Reading {
        let shared = self.platform.nodes_per_known_cache() > 1;
        let mark = self.mark_in(class, shared.then_some(domain));
        let reading = self.readings.of(mark);
        Reading::Value(match event {
            Event::LlcOccupancy => reading.occupancy,
            // All memory is near.
            Event::MbmTotalBytes | Event::MbmLocalBytes => reading.moved,
        })
    }

    /// Half a nanojoule a cycle: a watt at two gigahertz. Activity has the same number, as at one
    /// volt.
    fn telemetry(&mut self, class: rules::Class, _: u32, _: PackageEvent) -> Option<u64> {
        let cycles = self.readings.of(self.mark(class)).cycles?;
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
        self.readings.programs.iter().filter(|program| program.runs).count()
    }

    /// The programs that run, and whose placeholders were ended from outside.
    pub(crate) fn stopped(&mut self) -> Vec<usize> {
        let Self { placeholders, readings, .. } = self;
        let each = placeholders.iter_mut().zip(&readings.programs).enumerate();
        let stopped = each.filter_map(|(program, (placeholder, reading))| {
            (reading.runs && placeholder.has_ended()).then_some(program)
        });
        stopped.collect()
    }
}

//! Perf as a source of counters.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

use fairways_core::{AppId, Counter, Counters, CpuSet};

use super::events::BY_PROCESSOR;
use super::program::{Blind, CountedProgram};
use super::sampling::Sampling;
use super::source::{EndedWindow, Source, Target};
use super::{Perf, depart};

impl Source for Perf {
    fn set_domains(&mut self, domains: &[(u32, CpuSet)]) {
        Self::set_domains(self, domains);
    }

    fn begin(&mut self, target: &Target) {
        self.end(target.app);
        if self.fitted.layout.is_empty() {
            self.warn_once(
                "no counter works on this host, all are missing; `fairways doctor` says why",
            );
            return;
        }
        let by = self.choose_way(target);
        self.programs.insert(target.app, CountedProgram::new(target.name.clone(), by));
        self.with(target.app, |perf, program| match program.cgroup() {
            Some(_) => perf.open_cpus(target.app, program),
            None => perf.open(target.app, program, &target.threads),
        });
    }

    fn threads(&mut self, app: AppId, threads: &[i32]) {
        self.with(app, |perf, program| {
            if program.blind == Some(Blind::Refused) {
                return;
            }
            if program.cgroup().is_some() {
                if program.blind.is_some() && perf.budget.fits(perf.cpus.len() * perf.slots()) {
                    perf.open_cpus(app, program);
                }
                return;
            }
            let listed: BTreeSet<i32> = threads.iter().copied().collect();
            let ended = program.end_parts(&perf.fitted.layout, |thread| !listed.contains(&thread));
            perf.budget.give(ended * perf.slots());
            let new: Vec<i32> =
                listed.into_iter().filter(|&thread| !program.has_part(thread)).collect();
            if !new.is_empty()
                && (program.blind.is_none() || perf.budget.fits(new.len() * perf.slots()))
            {
                perf.open(app, program, &new);
            }
        });
    }

    fn count_also(&mut self, more: &[Counter], may_take_turns: bool) {
        let mut more: Vec<Counter> = more.to_vec();
        more.retain(|of| BY_PROCESSOR.contains(of) && !self.wanted.contains(of));
        // Where others occupy counters, more events would be on none.
        if more.is_empty() || (self.fitted.is_crowded() && !may_take_turns) {
            return;
        }
        let (wanted, fitted) = self.fit_more(&more, may_take_turns);
        let before = std::mem::replace(&mut self.fitted, fitted).layout;
        self.wanted = wanted;
        self.name_lost();
        if self.fitted.layout != before {
            self.reopen(&before);
        }
    }

    fn uncounted(&self) -> Vec<(Counter, Option<String>)> {
        let mut uncounted = Vec::new();
        for counter in BY_PROCESSOR.into_iter().filter(|&counter| !self.is_open(counter)) {
            let lost = self.lost().iter().find(|&&(lost, _)| lost == counter);
            uncounted.push((counter, lost.map(|(_, why)| why.clone())));
        }
        uncounted
    }

    fn read(&mut self, app: AppId, domain: u32) -> Counters {
        let read = self.with(app, |perf, program| {
            let of = (program.cgroup().is_some() || perf.is_split).then_some(domain);
            let (layout, groups) = (&perf.fitted.layout, &perf.groups);
            let read = program.read(layout, groups, domain, of, |thread| perf.place_of(thread));
            let read = read.unwrap_or_else(|error| {
                perf.give_up(app, program, Blind::from_error(&error), &error.to_string());
                Counters::default()
            });
            (read, program.starved(), program.may_run_anywhere())
        });
        let (read, starved, is_anywhere) = read.unwrap_or_default();
        if is_anywhere {
            self.warn_once(
                "the counters of programs without a cgroup of their own whose threads may run in several domains are missing: which domain's they are is unknown; give such a program a cgroup, or pin its threads to one domain",
            );
        }
        if let Some(field) = starved {
            self.regroup(field);
        }
        read
    }

    fn end(&mut self, app: AppId) {
        if let Some(sampling) = &mut self.sampling {
            sampling.domains(app).into_iter().for_each(|domain| sampling.forget(app, domain));
        }
        if let Some(program) = self.programs.remove(&app) {
            self.budget.give(program.parts() * self.slots());
        }
    }

    fn report_windows(&mut self, app: AppId, domain: u32, instructions: Option<u64>) -> bool {
        if let Some(sampling) = self.sampling.as_mut().filter(|of| of.is_requested(app, domain)) {
            sampling.forget(app, domain);
            self.with(app, |perf, program| {
                let by_cpu = program.cgroup().is_some();
                depart(program, |cpu| !by_cpu || perf.cpus.get(&cpu) == Some(&domain));
            });
        }
        let can = self.separates_domains(app) && self.counts_instructions();
        let (Some(sampling), Some(count), true) = (&mut self.sampling, instructions, can) else {
            return false;
        };
        sampling.request_windows(app, domain, count);
        self.with(app, |perf, program| {
            if program.blind.is_none() {
                perf.begin_windows(app, program, true);
            }
        });
        self.reports_windows(app, domain)
    }

    fn reports_windows(&self, app: AppId, domain: u32) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.is_requested(app, domain))
            && self.separates_domains(app)
    }

    fn attention(&self) -> Option<BorrowedFd<'_>> {
        self.sampling.as_ref().map(Sampling::attention)
    }

    fn take_ended(&mut self, ended_windows: &mut Vec<EndedWindow>) {
        let Some(sampling) = &mut self.sampling else { return };
        sampling.take_ended(&self.fitted.layout, &self.groups, ended_windows);
        for (app, domain) in sampling.take_due() {
            self.read(app, domain);
        }
    }
}

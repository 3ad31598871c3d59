//! Carrying out what was asked.

use std::io;

use fairways_core::AppId;
use fairways_perf::switches::now;
use fairways_resctrl::language::CpuSet;

use super::super::ledger::Change;
use super::Affinity;
use super::managed::Managed;

/// What is due of a thread, where it has something else.
struct Due {
    app: AppId,
    cpus: Option<CpuSet>,
    nice: Option<i32>,
}

impl Affinity {
    /// Lets those go that have left, and carries out what is due of the others.
    pub(super) fn carry_out(&mut self) -> io::Result<()> {
        let left = self.let_go();
        left.and(self.do_what_is_due())
    }

    /// Puts those back that have left. What of that fails is in the log.
    pub(super) fn let_go(&mut self) -> io::Result<()> {
        let leaving = std::mem::take(&mut self.leaving);
        if leaving.is_empty() {
            return Ok(());
        }
        self.ledger.end_those(&leaving).map(drop).map_err(io::Error::other)
    }

    /// Writes down all that is due, and does it.
    fn do_what_is_due(&mut self) -> io::Result<()> {
        let new: Vec<AppId> = self.asked.iter().copied().filter(|app| self.is_new(*app)).collect();
        let due = self.due();
        if due.is_empty() && new.is_empty() {
            return Ok(());
        }
        let known = new.iter().filter_map(|app| self.threads.get(app));
        let mut changes: Vec<_> = known.map(|managed| (managed.thread, Change::Nothing)).collect();
        for Due { app, cpus, nice } in &due {
            let Some(managed) = self.threads.get(app) else { continue };
            let (owners, thread) = (&managed.owners, managed.thread);
            // What it has already is to be put back as well, where it inherited it.
            let has = Some(&managed.cpus).filter(|has| managed.is_ours && **has != owners.cpus);
            for cpus in cpus.iter().flat_map(|due| has.into_iter().chain([due])) {
                let change = Change::Affinity(owners.cpus.clone(), owners.all, cpus.clone());
                changes.push((thread, change));
            }
            let has = Some(managed.nice).filter(|&has| has != owners.nice);
            for nice in nice.iter().flat_map(|&due| has.into_iter().chain([due])) {
                changes.push((thread, Change::Nice(owners.nice, nice)));
            }
        }
        self.ledger.record(&changes).map_err(io::Error::other)?;
        for app in new {
            self.threads.get_mut(&app).into_iter().for_each(|managed| managed.known = true);
        }
        let mut done = Ok(());
        for Due { app, cpus, nice } in due {
            done = done.and(cpus.map_or(Ok(()), |cpus| self.give_cpus(app, cpus)));
            done = done.and(nice.map_or(Ok(()), |nice| self.give_nice(app, nice)));
        }
        done
    }

    fn is_new(&self, app: AppId) -> bool {
        self.threads.get(&app).is_some_and(|managed| !managed.known)
    }

    /// What is due of those of whom anything was asked, as things are now: what an owner has changed since it was last looked at counts
    /// already.
    fn due(&mut self) -> Vec<Due> {
        let (quantum, now) = (self.quantum_nanos(), now());
        let of = |managed: &Managed, online: &CpuSet| managed.due(online, quantum, now);
        let mut asked = self.asked.iter().filter_map(|app| self.threads.get(app));
        if asked.all(|managed| of(managed, &self.online) == (None, None)) {
            self.asked.clear();
            return Vec::new();
        }
        // What the kernel does as CPUs go is not the owner's doing.
        self.find_cpus();
        let (proc, sysfs, online) = (&self.settings.proc, &self.settings.sysfs, &self.online);
        let mut due = Vec::new();
        for app in std::mem::take(&mut self.asked) {
            let Some(managed) = self.threads.get_mut(&app) else { continue };
            let differs = of(managed, online) != (None, None);
            if differs && self.enforcement.look(managed, proc, sysfs, online) {
                let (cpus, nice) = of(managed, online);
                due.push(Due { app, cpus, nice });
            }
        }
        due.retain(|due| due.cpus.is_some() || due.nice.is_some());
        due
    }

    fn give_cpus(&mut self, app: AppId, cpus: CpuSet) -> io::Result<()> {
        let Some(managed) = self.threads.get_mut(&app) else { return Ok(()) };
        let (thread, owners) = (managed.thread, &managed.owners);
        let everywhere = owners.all && cpus == owners.cpus;
        match self.enforcement.set_affinity(thread, &cpus, everywhere) {
            Ok(true) => {
                self.ledger.has(managed.key(), &cpus);
                managed.cpus = cpus;
                managed.is_ours = managed.cpus != managed.owners.cpus;
                managed.is_remembered = false;
                managed.cpus_retry.done();
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(error) => {
                managed.cpus_retry.refused(now());
                managed.frame_anew(&self.settings.proc, &self.settings.sysfs);
                let why = format!("thread {thread} was not given CPUs {}: {error}", cpus.to_list());
                Err(io::Error::new(error.kind(), why))
            }
        }
    }

    fn give_nice(&mut self, app: AppId, nice: i32) -> io::Result<()> {
        let Some(managed) = self.threads.get_mut(&app) else { return Ok(()) };
        let thread = managed.thread;
        match self.enforcement.set_nice(thread, nice) {
            Ok(true) => {
                managed.nice = nice;
                managed.nice_retry.done();
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(error) => {
                managed.nice_retry.refused(now());
                managed.turns.as_usual();
                let why = format!("thread {thread} was not given nice value {nice}: {error}");
                Err(io::Error::new(error.kind(), why))
            }
        }
    }
}

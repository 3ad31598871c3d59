//! How changes to threads are made: set, or, in a dry run, only logged.

use std::fmt::Debug;
use std::io;
use std::path::Path;

use fairways_core::CpuSet;
use fairways_ledger::{OpenError, Restored};

use super::super::ledger::Ledger;
use super::super::{Settings, policy, thread};
use super::managed::Managed;

/// What is done differently in a dry run: everything that changes threads, or depends on the
/// changes.
pub(super) trait Enforcement: Debug + Sync {
    /// Opens the ledger, and returns what was restored from it.
    fn open(&self, settings: &Settings) -> Result<(Ledger, Restored), OpenError>;

    /// Reads a thread's state, and what its owner has changed; returns whether it lives.
    fn look(&self, managed: &mut Managed, proc: &Path, sysfs: &Path, online: &CpuSet) -> bool;

    /// Reads a thread's state where that may differ from the known one: the owner may have changed
    /// it.
    fn check(&self, managed: &mut Managed, proc: &Path, sysfs: &Path, online: &CpuSet);

    /// Lets a thread run on these CPUs only; they are all of its cpuset if `is_everywhere`.
    ///
    /// # Errors
    /// sched_setaffinity(2)'s. If the thread has ended, this is `false`, and no error.
    fn set_affinity(&self, thread: i32, cpus: &CpuSet, is_everywhere: bool) -> io::Result<bool>;

    /// Sets a thread's nice value.
    ///
    /// # Errors
    /// setpriority(2)'s. If the thread has ended, this is `false`, and no error.
    fn set_nice(&self, thread: i32, nice: i32) -> io::Result<bool>;

    /// A thread's policy, and the one with which its children begin without its nice value, or
    /// as it is; `None` where that is the same, and for a thread that has ended.
    fn change_for_children(&self, thread: i32, resets: bool) -> Option<(i32, i32)>;

    /// Sets a thread's policy.
    ///
    /// # Errors
    /// sched_setscheduler(2)'s.
    fn set_policy(&self, thread: i32, policy: i32) -> io::Result<()>;

    /// The CPUs that a thread's owner lets it use, where the kernel does not know them.
    fn owners_cpus(&self, managed: &Managed) -> Option<CpuSet>;
}

/// Changes threads.
#[derive(Debug)]
pub(super) struct Enforced;

impl Enforcement for Enforced {
    fn open(&self, settings: &Settings) -> Result<(Ledger, Restored), OpenError> {
        Ledger::open(settings)
    }

    fn look(&self, managed: &mut Managed, proc: &Path, sysfs: &Path, online: &CpuSet) -> bool {
        managed.look(proc, sysfs, online)
    }

    fn check(&self, managed: &mut Managed, proc: &Path, sysfs: &Path, online: &CpuSet) {
        if managed.may_differ(online) {
            managed.look(proc, sysfs, online);
        }
    }

    fn set_affinity(&self, thread: i32, cpus: &CpuSet, is_everywhere: bool) -> io::Result<bool> {
        thread::set_affinity(thread, (!is_everywhere).then_some(cpus))
    }

    fn set_nice(&self, thread: i32, nice: i32) -> io::Result<bool> {
        thread::set_nice(thread, nice)
    }

    fn change_for_children(&self, thread: i32, resets: bool) -> Option<(i32, i32)> {
        let before = policy::get(thread).ok()?;
        let after = policy::resetting_on_fork(before, resets);
        (policy::resets_on_fork(before) != resets).then_some((before, after))
    }

    fn set_policy(&self, thread: i32, policy: i32) -> io::Result<()> {
        policy::set(thread, policy)
    }

    fn owners_cpus(&self, managed: &Managed) -> Option<CpuSet> {
        Some(managed.owners.cpus.clone())
    }
}

/// Changes nothing: logs what threads would have, and takes it to be what they have.
#[derive(Debug)]
pub(super) struct DryRun;

impl Enforcement for DryRun {
    fn open(&self, _: &Settings) -> Result<(Ledger, Restored), OpenError> {
        Ok((Ledger::dry(), Restored::default()))
    }

    /// Reads nothing: what the thread has is not what it would have.
    fn look(&self, _: &mut Managed, _: &Path, _: &Path, _: &CpuSet) -> bool {
        true
    }

    fn check(&self, _: &mut Managed, _: &Path, _: &Path, _: &CpuSet) {}

    fn set_affinity(&self, thread: i32, cpus: &CpuSet, _: bool) -> io::Result<bool> {
        let list = cpus.to_list();
        tracing::debug!(target: "fairways::schedule", thread, cpus = list, "would set its CPUs");
        Ok(true)
    }

    fn set_nice(&self, thread: i32, nice: i32) -> io::Result<bool> {
        tracing::debug!(target: "fairways::schedule", thread, nice, "would set its nice value");
        Ok(true)
    }

    fn change_for_children(&self, _: i32, _: bool) -> Option<(i32, i32)> {
        None
    }

    fn set_policy(&self, _: i32, _: i32) -> io::Result<()> {
        Ok(())
    }

    fn owners_cpus(&self, _: &Managed) -> Option<CpuSet> {
        None
    }
}

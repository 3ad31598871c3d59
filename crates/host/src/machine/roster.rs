//! The programs that are managed.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use fairways_core::{AppId, Event, Partition, Profile, Wish};
use fairways_programs::{ProgramKey, Programs, Roots};

use super::domains::Domains;
use super::settings::{Managed, ManagedEntry, OpenLatency};

/// What is a program to policies: a program, or a thread of one.
pub(super) struct Member {
    pub(super) program: ProgramKey,
    /// Which entry of the list it is; `None`: of an earlier list's.
    pub(super) entry: Option<usize>,
    pub(super) name: String,
    /// The domains whose policies know it, or are about to, and do not know of its end yet.
    pub(super) domains: Vec<u32>,
    pub(super) tasks: Vec<i32>,
    pub(super) is_gone: bool,
}

/// The programs that are managed, and how they are found.
pub(super) struct Roster {
    pub(super) programs: Programs,
    entries: Vec<ManagedEntry>,
    pub(super) members: BTreeMap<AppId, Member>,
    next_id: u32,
    /// Programs whose owners ask for something else than before.
    requested: Vec<AppId>,
}

impl Roster {
    /// Looks for programs there.
    pub(super) fn new(proc_and_cgroup: Roots, managed: Vec<Managed>) -> io::Result<Self> {
        let (wanted, entries) = managed.into_iter().map(Managed::part).unzip();
        Ok(Self {
            programs: Programs::new(proc_and_cgroup, wanted)?,
            entries,
            members: BTreeMap::new(),
            next_id: 0,
            requested: Vec::new(),
        })
    }

    /// Looks for other programs, or for the same with something else requested. The answer is which
    /// entry of the new list each of the old one is, if any.
    pub(super) fn reconfigure(&mut self, managed: Vec<Managed>) -> io::Result<Vec<Option<usize>>> {
        let (wanted, entries): (Vec<_>, Vec<_>) = managed.into_iter().map(Managed::part).unzip();
        self.programs.set_wanted(wanted)?;
        let before = std::mem::replace(&mut self.entries, entries);
        let moved: Vec<Option<usize>> = before
            .iter()
            .map(|old| self.entries.iter().position(|new| new.wanted == old.wanted))
            .collect();
        for (&app, member) in &mut self.members {
            // A program that is not wanted any longer is gone with the next look.
            let was = member.entry.and_then(|entry| before.get(entry));
            member.entry = moved_to(&moved, member.entry);
            let now = member.entry.map(|entry| &self.entries[entry]);
            if let (Some(was), Some(now)) = (was, now)
                && was.wish != now.wish
            {
                self.requested.push(app);
            }
        }
        Ok(moved)
    }

    /// Reports what owners ask for now, to the policies that know their programs.
    pub(super) fn report_requests(&mut self, domains: &mut Domains) {
        for app in std::mem::take(&mut self.requested) {
            let member = self.members.get(&app).filter(|member| !member.is_gone);
            let entry = member.and_then(|member| self.entries.get(member.entry?));
            let (Some(member), Some(entry)) = (member, entry) else { continue };
            for &id in &member.domains {
                if let Some(domain) = domains.get_mut(id)
                    && domain.running.contains(&app)
                {
                    domain.report(Event::Wished { app, wish: entry.wish });
                }
            }
        }
    }

    /// The id of the next program.
    pub(super) const fn next_id(&self) -> AppId {
        AppId(self.next_id)
    }

    /// Adds a program under the next id.
    pub(super) fn add(&mut self, member: Member) {
        self.members.insert(self.next_id(), member);
        self.next_id += 1;
    }

    /// What a program is called that was found and is not over.
    pub(super) fn name(&self, app: AppId) -> Option<&str> {
        self.members.get(&app).map(|member| member.name.as_str())
    }

    /// What policies know as programs of one that was found, without those that are gone.
    pub(super) fn members_of(&self, program: ProgramKey) -> Vec<AppId> {
        let members = self.members.iter();
        members
            .filter(|(_, member)| member.program == program && !member.is_gone)
            .map(|(&app, _)| app)
            .collect()
    }

    /// What a program's owner asks for, and what was measured of it before.
    pub(super) fn wish_and_profile(&self, app: AppId) -> (Wish, Option<Arc<Profile>>) {
        let member = self.members.get(&app);
        let entry = member.and_then(|member| self.entries.get(member.entry?));
        entry.map(|entry| (entry.wish, entry.profile.clone())).unwrap_or_default()
    }

    /// How the latencies of an entry's programs are opened, if they have any.
    pub(super) fn open_latency(&self, entry: Option<usize>) -> Option<&OpenLatency> {
        self.entries.get(entry?)?.latency.as_ref()
    }

    /// A domain leaves all programs.
    pub(super) fn leave(&mut self, domain: u32) {
        for member in self.members.values_mut() {
            member.domains.retain(|&other| other != domain);
        }
    }

    /// A plan without the programs that are over: other domains' policies may know of it later.
    pub(super) fn living(&self, partition: &Partition) -> Partition {
        partition.restricted_to(|app| self.members.contains_key(&app))
    }
}

/// Which entry of the new list one of the old list is.
pub(super) fn moved_to(moved: &[Option<usize>], entry: Option<usize>) -> Option<usize> {
    moved.get(entry?).copied().flatten()
}

//! The programs that are managed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use fairways_core::{AppId, Event, Partition, Profile, Wish};
use fairways_programs::{ProgramKey, Programs, Roots, Selector, Wanted};

use super::domains::Domains;
use super::settings::{AskedPrograms, Managed, ManagedEntry, NewContainer, OpenLatency};

/// The most programs that pods ask for. Each costs a search of every cgroup that comes or goes.
const MOST_ASKED: usize = 256;

/// A program that was found.
pub(super) struct FoundProgram {
    pub(super) program: ProgramKey,
    /// Which entry of the list it is.
    pub(super) entry: Option<usize>,
    pub(super) name: String,
}

/// What policies see as a program: a program, or a thread of one.
pub(super) struct Member {
    pub(super) program: ProgramKey,
    /// Its entry of the list; `None`: it is from an earlier list.
    pub(super) entry: Option<usize>,
    pub(super) name: String,
    /// The cgroup by which it is counted.
    pub(super) cgroup: Option<PathBuf>,
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
    /// How many of the entries are the configuration's, which come first; the others are of pods
    /// that ask for them.
    configured: usize,
    asked: AskedPrograms,
    /// Programs whose owners' requests have changed.
    requested: Vec<AppId>,
    /// Whether the last look found out which programs run.
    pub(super) are_known: bool,
}

impl Roster {
    /// A roster that looks for programs there.
    pub(super) fn new(proc_and_cgroup: Roots, managed: Vec<Managed>) -> io::Result<Self> {
        let (wanted, entries): (Vec<_>, Vec<_>) = managed.into_iter().map(Managed::part).unzip();
        Ok(Self {
            programs: Programs::new(proc_and_cgroup, wanted)?,
            configured: entries.len(),
            asked: AskedPrograms::new(),
            entries,
            members: BTreeMap::new(),
            next_id: 0,
            requested: Vec::new(),
            are_known: false,
        })
    }

    /// Looks for other programs, or for the same with other requests, besides those that pods ask
    /// for. Returns the entry of the new list for each entry of the old one, if any.
    pub(super) fn reconfigure(&mut self, managed: Vec<Managed>) -> io::Result<Vec<Option<usize>>> {
        let (mut wanted, mut entries): (Vec<_>, Vec<_>) =
            managed.into_iter().map(Managed::part).unzip();
        let configured = entries.len();
        for (name, wish) in &self.asked {
            let (of, entry) = asked(name, *wish).part();
            wanted.push(of);
            entries.push(entry);
        }
        self.programs.set_wanted(wanted)?;
        self.configured = configured;
        Ok(self.replace(entries))
    }

    /// Adds a container, and what its owner asks for if it is the first of its program.
    pub(super) fn announce(&mut self, container: NewContainer) -> io::Result<()> {
        let NewContainer { announced, wish } = container;
        if let Some(program) = &announced.program {
            let is_known = self.asked.contains_key(program);
            if is_known || self.asked.len() < MOST_ASKED {
                self.asked.entry(program.clone()).or_insert(wish);
            } else {
                tracing::warn!(
                    target: "fairways::machine", program,
                    "not managed: pods ask for more than {MOST_ASKED} programs"
                );
            }
        }
        self.programs.announce(announced)
    }

    /// Looks for the programs that announced containers are part of by their owners' request.
    /// Returns as [`reconfigure`](Self::reconfigure); `None` if none came or went.
    pub(super) fn look_for_asked(&mut self) -> io::Result<Option<Vec<Option<usize>>>> {
        self.forget_unannounced();
        let mut entries = self.entries.iter().skip(self.configured);
        let is_same = self.asked.len() + self.configured == self.entries.len()
            && self.asked.iter().all(|(name, wish)| {
                entries.next().is_some_and(|of| of.wanted.name == *name && of.wish == *wish)
            });
        if is_same {
            return Ok(None);
        }
        let configured = self.entries.iter().take(self.configured);
        let mut wanted: Vec<Wanted> = configured.map(|entry| entry.wanted.clone()).collect();
        let (new, entries): (Vec<_>, Vec<_>) =
            self.asked.iter().map(|(name, wish)| asked(name, *wish).part()).unzip();
        wanted.extend(new);
        self.programs.set_wanted(wanted)?;
        let before: Vec<(Wanted, Wish)> =
            self.entries.iter().map(|entry| (entry.wanted.clone(), entry.wish)).collect();
        self.entries.truncate(self.configured);
        self.entries.extend(entries);
        Ok(Some(self.follow(&before)))
    }

    /// Forgets what owners asked for whose containers are all gone: another container of the name
    /// may ask for something else.
    pub(super) fn forget_unannounced(&mut self) {
        let named: BTreeSet<&str> =
            self.programs.announced().filter_map(|of| of.program.as_deref()).collect();
        self.asked.retain(|name, _| named.contains(name.as_str()));
    }

    /// Replaces the entries; returns the entry of the new list for each of the old one.
    fn replace(&mut self, entries: Vec<ManagedEntry>) -> Vec<Option<usize>> {
        let before = std::mem::replace(&mut self.entries, entries);
        let before: Vec<(Wanted, Wish)> =
            before.into_iter().map(|entry| (entry.wanted, entry.wish)).collect();
        self.follow(&before)
    }

    /// Finds each of the entries before in the present list, and which programs' requests have
    /// changed.
    fn follow(&mut self, before: &[(Wanted, Wish)]) -> Vec<Option<usize>> {
        let moved: Vec<Option<usize>> = before
            .iter()
            .map(|(old, _)| self.entries.iter().position(|new| new.wanted == *old))
            .collect();
        for (&app, member) in &mut self.members {
            // A program that is not wanted any longer is gone with the next look.
            let was = member.entry.and_then(|entry| before.get(entry));
            member.entry = moved_to(&moved, member.entry);
            let now = member.entry.map(|entry| &self.entries[entry]);
            if let (Some(was), Some(now)) = (was, now)
                && was.1 != now.wish
            {
                self.requested.push(app);
            }
        }
        moved
    }

    /// Reports the owners' new requests to the policies that know their programs.
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

    /// The name of a program that was found and is not over.
    pub(super) fn name(&self, app: AppId) -> Option<&str> {
        self.members.get(&app).map(|member| member.name.as_str())
    }

    /// What policies see of a program that was found, without what is gone.
    pub(super) fn members_of(&self, program: ProgramKey) -> Vec<AppId> {
        let members = self.members.iter();
        members
            .filter(|(_, member)| member.program == program && !member.is_gone)
            .map(|(&app, _)| app)
            .collect()
    }

    /// A program as it was found.
    pub(super) fn found(&self, app: AppId) -> Option<FoundProgram> {
        let Member { program, entry, name, .. } = self.members.get(&app)?;
        Some(FoundProgram { program: *program, entry: *entry, name: name.clone() })
    }

    /// The request of a program's owner, and what was measured of the program before.
    pub(super) fn wish_and_profile(&self, app: AppId) -> (Wish, Option<Arc<Profile>>) {
        let member = self.members.get(&app);
        let entry = member.and_then(|member| self.entries.get(member.entry?));
        entry.map(|entry| (entry.wish, entry.profile.clone())).unwrap_or_default()
    }

    /// How to open the latencies of an entry's programs, if they have any.
    pub(super) fn open_latency(&self, entry: Option<usize>) -> Option<&OpenLatency> {
        self.entries.get(entry?)?.latency.as_ref()
    }

    /// Removes a domain from all programs.
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

/// The entry of a program that pods ask for. Its name is the selector's, too.
fn asked(name: &str, wish: Wish) -> Managed {
    let selector = Selector::Asked(name.to_owned());
    let wanted = Wanted { name: name.to_owned(), selector, each: false };
    Managed { wish, ..Managed::new(wanted) }
}

/// The entry of the new list for an entry of the old one.
pub(super) fn moved_to(moved: &[Option<usize>], entry: Option<usize>) -> Option<usize> {
    moved.get(entry?).copied().flatten()
}

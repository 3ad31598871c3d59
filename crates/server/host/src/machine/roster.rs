//! The programs that are managed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use fairways_core::{AppId, Event, Partition, Profile, Wish};
use fairways_programs::{ProgramKey, Programs, Roots, Selector, Wanted};

use super::domains::Domains;
use super::pod_places::PodPlaces;
use super::settings::{Managed, ManagedEntry, NewContainer, OpenLatency};

/// The most entries in the list that pods no longer request.
const SPARE_ENTRIES: usize = 64;

/// A program that was found.
pub(super) struct FoundProgram {
    pub(super) program: ProgramKey,
    /// Its entry in the list.
    pub(super) entry: Option<usize>,
    pub(super) name: String,
    /// Whether it is put into its group before its first instruction.
    pub(super) is_starting: bool,
}

/// A program to policies: a program, or a thread of one.
pub(super) struct Member {
    pub(super) program: ProgramKey,
    /// Its entry in the list; `None` if it comes from an earlier list.
    pub(super) entry: Option<usize>,
    pub(super) name: String,
    /// The cgroup through which it is counted.
    pub(super) cgroup: Option<PathBuf>,
    /// The domains whose policies know it, or are about to, and were not notified of its end yet.
    pub(super) domains: Vec<u32>,
    pub(super) tasks: Vec<i32>,
    pub(super) is_gone: bool,
}

/// The managed programs, and how they are found.
pub(super) struct Roster {
    pub(super) programs: Programs,
    entries: Vec<ManagedEntry>,
    pub(super) members: BTreeMap<AppId, Member>,
    next_id: u32,
    /// The number of entries from the configuration, which come first. The others belong to pods
    /// that request them or once did, by the program's name.
    configured: usize,
    asked: BTreeMap<String, usize>,
    pub(super) places: PodPlaces,
    /// The program whose threads are listed first next time, as an announcement interrupted the
    /// last listing.
    unlisted: Option<AppId>,
    /// The programs whose owners changed their requests.
    requested: Vec<AppId>,
    /// Whether the last look for programs succeeded.
    pub(super) are_known: bool,
}

impl Roster {
    /// A roster that looks for programs in these places.
    pub(super) fn new(proc_and_cgroup: Roots, managed: Vec<Managed>) -> io::Result<Self> {
        let (wanted, entries): (Vec<_>, Vec<_>) = managed.into_iter().map(Managed::part).unzip();
        Ok(Self {
            programs: Programs::new(proc_and_cgroup, wanted)?,
            configured: entries.len(),
            asked: BTreeMap::new(),
            places: PodPlaces::default(),
            unlisted: None,
            entries,
            members: BTreeMap::new(),
            next_id: 0,
            requested: Vec::new(),
            are_known: false,
        })
    }

    /// Replaces the programs of the configuration; those that pods request stay. Returns the entry
    /// of the new list for each entry of the old one, if any.
    pub(super) fn reconfigure(&mut self, managed: Vec<Managed>) -> io::Result<Vec<Option<usize>>> {
        let (mut wanted, entries): (Vec<_>, Vec<_>) =
            managed.into_iter().map(Managed::part).unzip();
        let asked = self.asked_entries(&mut wanted);
        self.programs.set_wanted(wanted)?;
        self.configured = entries.len();
        let before = std::mem::replace(&mut self.entries, entries);
        self.extend_asked(asked);
        let before: Vec<(Wanted, Wish)> =
            before.into_iter().map(|entry| (entry.wanted, entry.wish)).collect();
        Ok(self.follow(&before))
    }

    /// Adds containers, and the programs that their owners request, as far as there are places. A
    /// program without a place is not managed.
    pub(super) fn announce(&mut self, containers: Vec<NewContainer>) -> io::Result<()> {
        for NewContainer { announced, wish } in &containers {
            if let Some(program) = &announced.program {
                self.places.ask(program, *wish);
            }
        }
        self.share_places()?;
        for NewContainer { announced, .. } in containers {
            if let Some(program) = &announced.program {
                self.add_asked(program)?;
            }
            self.programs.announce(announced)?;
        }
        Ok(())
    }

    /// Assigns the places again after containers came or went.
    fn share_places(&mut self) -> io::Result<()> {
        let (taken, given) = self.places.share();
        for program in &taken {
            self.programs.set_place(program, false)?;
        }
        for program in &given {
            self.add_asked(program)?;
            self.programs.set_place(program, true)?;
        }
        Ok(())
    }

    /// Adds the entry of a program that pods request and that has a place, unless it exists.
    fn add_asked(&mut self, program: &str) -> io::Result<()> {
        let Some(wish) = self.places.wish(program) else { return Ok(()) };
        let Some(&at) = self.asked.get(program) else {
            let at = self.programs.add_asked(program)?;
            self.asked.insert(program.to_owned(), at);
            self.entries.push(asked(program, wish).part().1);
            return Ok(());
        };
        // Containers that are gone requested it before.
        if self.entries[at].wish != wish {
            self.entries[at].wish = wish;
            let members = self.members.iter().filter(|(_, member)| member.entry == Some(at));
            self.requested.extend(members.map(|(&app, _)| app));
        }
        Ok(())
    }

    /// Forgets requests of owners whose containers are all gone, as another container of that name
    /// may request something else. Returns whether there were any.
    pub(super) fn forget_unannounced(&mut self) -> io::Result<bool> {
        let named: BTreeSet<&str> =
            self.programs.announced().filter_map(|of| of.program.as_deref()).collect();
        let are_fewer = self.places.keep(&named);
        if are_fewer {
            self.share_places()?;
        }
        Ok(are_fewer)
    }

    /// Removes the entries that pods no longer request, once they are many: they select nothing,
    /// but take memory. Returns what [`reconfigure`](Self::reconfigure) does; `None` if it removed
    /// none.
    pub(super) fn prune_asked(&mut self) -> io::Result<Option<Vec<Option<usize>>>> {
        let placed = self.places.placed().count();
        if self.asked.len() <= 2 * placed + SPARE_ENTRIES {
            return Ok(None);
        }
        let before: Vec<(Wanted, Wish)> =
            self.entries.iter().map(|entry| (entry.wanted.clone(), entry.wish)).collect();
        let configured = self.entries[..self.configured].iter();
        let mut wanted: Vec<Wanted> = configured.map(|entry| entry.wanted.clone()).collect();
        let entries = self.asked_entries(&mut wanted);
        self.programs.set_wanted(wanted)?;
        self.entries.truncate(self.configured);
        self.extend_asked(entries);
        Ok(Some(self.follow(&before)))
    }

    /// The entries of the programs that have a place; adds them to those wanted.
    fn asked_entries(&self, wanted: &mut Vec<Wanted>) -> Vec<ManagedEntry> {
        let (new, entries): (Vec<_>, Vec<_>) =
            self.places.placed().map(|(name, wish)| asked(name, wish).part()).unzip();
        wanted.extend(new);
        entries
    }

    /// Appends these entries of pods to those of the configuration.
    fn extend_asked(&mut self, entries: Vec<ManagedEntry>) {
        let names = entries.iter().map(|entry| entry.wanted.name.clone());
        self.asked = names.zip(self.entries.len()..).collect();
        self.entries.extend(entries);
    }

    /// Finds each of the previous entries in the present list, and records the programs whose
    /// requests have changed.
    fn follow(&mut self, before: &[(Wanted, Wish)]) -> Vec<Option<usize>> {
        let mut places: HashMap<&Wanted, usize> = HashMap::new();
        for (at, new) in self.entries.iter().enumerate() {
            places.entry(&new.wanted).or_insert(at);
        }
        let moved: Vec<Option<usize>> =
            before.iter().map(|(old, _)| places.get(old).copied()).collect();
        for (&app, member) in &mut self.members {
            // A program that is no longer managed is removed by the next look.
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

    /// The name of a program that was found and has not ended.
    pub(super) fn name(&self, app: AppId) -> Option<&str> {
        self.members.get(&app).map(|member| member.name.as_str())
    }

    /// The programs that policies see of a program that was found, without those that are gone.
    pub(super) fn members_of(&self, program: ProgramKey) -> Vec<AppId> {
        let members = self.members.iter();
        members
            .filter(|(_, member)| member.program == program && !member.is_gone)
            .map(|(&app, _)| app)
            .collect()
    }

    /// The programs whose threads are to be listed, beginning where the last listing stopped.
    pub(super) fn next_to_list(&mut self) -> Vec<AppId> {
        let first = self.unlisted.take().unwrap_or(AppId(0));
        self.members
            .range(first..)
            .chain(self.members.range(..first))
            .map(|(&app, _)| app)
            .collect()
    }

    /// Lists the threads of this program, and of those after it, next time.
    pub(super) const fn leave_unlisted(&mut self, app: AppId) {
        self.unlisted = Some(app);
    }

    /// A program as it was found.
    pub(super) fn found(&self, app: AppId) -> Option<FoundProgram> {
        let Member { program, entry, name, .. } = self.members.get(&app)?;
        Some(FoundProgram {
            program: *program,
            entry: *entry,
            name: name.clone(),
            is_starting: false,
        })
    }

    /// The request of a program's owner, and the program's profile.
    pub(super) fn wish_and_profile(&self, app: AppId) -> (Wish, Option<Arc<Profile>>) {
        let member = self.members.get(&app);
        let entry = member.and_then(|member| self.entries.get(member.entry?));
        entry.map(|entry| (entry.wish, entry.profile.clone())).unwrap_or_default()
    }

    /// How to open the latency source of an entry's programs, if they have one.
    pub(super) fn open_latency(&self, entry: Option<usize>) -> Option<&OpenLatency> {
        self.entries.get(entry?)?.latency.as_ref()
    }

    /// Removes a domain from all programs.
    pub(super) fn leave(&mut self, domain: u32) {
        for member in self.members.values_mut() {
            member.domains.retain(|&other| other != domain);
        }
    }

    /// A plan without programs that have ended, of which other domains' policies may not know yet.
    pub(super) fn living(&self, partition: &Partition) -> Partition {
        partition.restricted_to(|app| self.members.contains_key(&app))
    }
}

/// The entry of a program that pods request. Its name is also its selector.
fn asked(name: &str, wish: Wish) -> Managed {
    let selector = Selector::Asked(name.to_owned());
    let wanted = Wanted { name: name.to_owned(), selector, each: false };
    Managed { wish, ..Managed::new(wanted) }
}

/// The entry of the new list for an entry of the old one.
pub(super) fn moved_to(moved: &[Option<usize>], entry: Option<usize>) -> Option<usize> {
    moved.get(entry?).copied().flatten()
}

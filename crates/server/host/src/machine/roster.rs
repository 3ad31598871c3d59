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

/// How many entries that pods do not ask for any longer may stay in the list.
const SPARE_ENTRIES: usize = 64;

/// A program that was found.
pub(super) struct FoundProgram {
    pub(super) program: ProgramKey,
    /// Which entry of the list it is.
    pub(super) entry: Option<usize>,
    pub(super) name: String,
    /// Whether it is in its group before its first instruction.
    pub(super) is_starting: bool,
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
    /// that ask for them, by the program's name, or asked once.
    configured: usize,
    asked: BTreeMap<String, usize>,
    pub(super) places: PodPlaces,
    /// Whose threads are listed first next time: an announcement came before they were.
    unlisted: Option<AppId>,
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

    /// Looks for other programs, or for the same with other requests, besides those that pods ask
    /// for. Returns the entry of the new list for each entry of the old one, if any.
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

    /// Adds containers, and the programs that their owners ask for, as far as there are places: a
    /// program that gets none, or loses its own, is not managed.
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

    /// Gives the places out again: containers came or went.
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

    /// Adds the entry of a program that pods ask for and that has a place, unless there is one.
    fn add_asked(&mut self, program: &str) -> io::Result<()> {
        let Some(wish) = self.places.wish(program) else { return Ok(()) };
        let Some(&at) = self.asked.get(program) else {
            let at = self.programs.add_asked(program)?;
            self.asked.insert(program.to_owned(), at);
            self.entries.push(asked(program, wish).part().1);
            return Ok(());
        };
        // It was asked for before, by containers that are gone.
        if self.entries[at].wish != wish {
            self.entries[at].wish = wish;
            let members = self.members.iter().filter(|(_, member)| member.entry == Some(at));
            self.requested.extend(members.map(|(&app, _)| app));
        }
        Ok(())
    }

    /// Forgets what owners asked for whose containers are all gone: another container of the name
    /// may ask for something else. Returns whether there were any.
    pub(super) fn forget_unannounced(&mut self) -> io::Result<bool> {
        let named: BTreeSet<&str> =
            self.programs.announced().filter_map(|of| of.program.as_deref()).collect();
        let are_fewer = self.places.keep(&named);
        if are_fewer {
            self.share_places()?;
        }
        Ok(are_fewer)
    }

    /// Leaves out the entries that pods do not ask for any longer, once they are many: they select
    /// nothing, but each takes memory. Returns as [`reconfigure`](Self::reconfigure); `None` if
    /// none was left out.
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

    /// The entries of the programs that have a place, which are added to those wanted.
    fn asked_entries(&self, wanted: &mut Vec<Wanted>) -> Vec<ManagedEntry> {
        let (new, entries): (Vec<_>, Vec<_>) =
            self.places.placed().map(|(name, wish)| asked(name, wish).part()).unzip();
        wanted.extend(new);
        entries
    }

    /// Adds these entries of pods behind those of the configuration.
    fn extend_asked(&mut self, entries: Vec<ManagedEntry>) {
        let names = entries.iter().map(|entry| entry.wanted.name.clone());
        self.asked = names.zip(self.entries.len()..).collect();
        self.entries.extend(entries);
    }

    /// Finds each of the entries before in the present list, and which programs' requests have
    /// changed.
    fn follow(&mut self, before: &[(Wanted, Wish)]) -> Vec<Option<usize>> {
        let mut places: HashMap<&Wanted, usize> = HashMap::new();
        for (at, new) in self.entries.iter().enumerate() {
            places.entry(&new.wanted).or_insert(at);
        }
        let moved: Vec<Option<usize>> =
            before.iter().map(|(old, _)| places.get(old).copied()).collect();
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

    /// What policies see as programs, to list the threads of: first what is left of the last list.
    pub(super) fn next_to_list(&mut self) -> Vec<AppId> {
        let first = self.unlisted.take().unwrap_or(AppId(0));
        self.members
            .range(first..)
            .chain(self.members.range(..first))
            .map(|(&app, _)| app)
            .collect()
    }

    /// The threads of this one, and of those behind it, are listed next time.
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

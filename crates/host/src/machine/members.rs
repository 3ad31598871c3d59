//! Programs: who comes, who goes, and where they are.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fairways_core::{AppId, Event};
use fairways_perf::Target;
use fairways_programs::{Change, ProgramKey};
use fairways_resctrl::language::CpuSet;
use fairways_turns::Scheduler;

use super::domain::{Domain, Due};
use super::latency::Latency;
use super::{Failure, Host, Managed, Means};
use fairways_resctrl_client as actuate;

/// Whoever calls for attention is heeded no more often: every fork on the host may be such a call.
const HEED: Duration = Duration::from_millis(50);

/// What nobody calls for, and nobody is waiting for, is looked at no more often.
const SELDOM: Duration = Duration::from_secs(1);

/// All threads of a host with one domain are listed no more often where nothing tells of new ones and there are as many as before.
const RARELY: Duration = Duration::from_secs(5);

/// A program that is managed.
pub(super) struct Member {
    pub(super) program: ProgramKey,
    /// Which entry of the list it is; `None`: of an earlier list's.
    pub(super) kind: Option<usize>,
    pub(super) name: String,
    /// The domains whose policies were, or are to be, told of it, and not yet of its end.
    pub(super) domains: Vec<u32>,
    pub(super) tasks: Vec<i32>,
    pub(super) latency: Option<Latency>,
    pub(super) is_gone: bool,
    /// The cgroup by which it is counted.
    cgroup: Option<PathBuf>,
    /// How many of its tasks are in which groups of others, as they were last listed.
    pub(super) left: BTreeMap<String, usize>,
    /// The groups of others of which that was said.
    left_in: BTreeSet<String>,
}

impl Member {
    /// One that runs in these domains, as which no cgroup is counted.
    pub(super) fn new(
        program: ProgramKey,
        kind: Option<usize>,
        name: String,
        domains: Vec<u32>,
        tasks: Vec<i32>,
    ) -> Self {
        Self {
            program,
            kind,
            name,
            domains,
            tasks,
            latency: None,
            is_gone: false,
            cgroup: None,
            left: BTreeMap::new(),
            left_in: BTreeSet::new(),
        }
    }
}

impl Host {
    /// Asks for other programs, or for something else of the same: those that are found by the same name and
    /// [selector](fairways_programs::Selector) as before, and likewise each or together, go on.
    ///
    /// # Errors
    /// If those can't be looked for; nothing has changed then.
    pub fn reconfigure(&mut self, managed: Vec<Managed>) -> io::Result<()> {
        let (wanted, kinds): (Vec<_>, Vec<_>) = managed.into_iter().map(Managed::part).unzip();
        self.programs.set_wanted(wanted)?;
        let before = std::mem::replace(&mut self.kinds, kinds);
        let kinds = &self.kinds;
        let now = |kind: Option<usize>| {
            let was = before.get(kind?)?;
            kinds.iter().position(|of| of.wanted == was.wanted)
        };
        if let Some(turns) = self.means.turns() {
            turns.reconfigure(now);
        }
        for (&app, member) in &mut self.members {
            // Who is not wanted any longer is gone with the next look.
            let was = member.kind.and_then(|kind| before.get(kind));
            let kind = now(member.kind);
            member.kind = kind;
            let (Some(was), Some(now)) = (was, kind.map(|kind| &self.kinds[kind])) else {
                continue;
            };
            if was.wish != now.wish {
                self.wished.push(app);
            }
        }
        self.look_at = self.now;
        Ok(())
    }

    /// Takes in which domains there are; those that have changed are told.
    pub(super) fn survey(&mut self) {
        let found = self.means.domains().to_vec();
        let quantum = self.means.scheduler().map(Scheduler::quantum);
        let cpus: Vec<_> = found.iter().map(|of| (of.id, of.cpus.clone())).collect();
        self.source.set_domains(&cpus);
        // Who lives in which is looked at anew.
        self.tasks_at = self.now;
        for (id, domain) in &mut self.domains {
            if !domain.is_gone && !found.iter().any(|of| of.id == *id) {
                tracing::warn!(target: "fairways::machine", domain = id, "nothing of it is on offer any longer");
                domain.leave();
                self.members.values_mut().for_each(|member| member.domains.retain(|of| of != id));
            }
        }
        for of in &found {
            let domain = self.domains.entry(of.id).or_insert_with(|| Domain::new(of));
            if (domain.llc, &domain.ways) != (of.llc, &of.ways) {
                // Its masks mean other ways now, even where there are as many as before.
                domain.partition.clear();
                domain.actual.clear();
                domain.llc = of.llc;
                domain.ways.clone_from(&of.ways);
                domain.tell(Event::Machine(of.llc.into()));
            }
            if let Some(quantum) = quantum {
                domain.schedule(&of.cpus, quantum);
            }
        }
        self.fit_all();
        let is_over = |member: &Member| member.is_gone && member.domains.is_empty();
        let over = self.members.iter().filter(|(_, member)| is_over(member));
        for app in over.map(|(&app, _)| app).collect::<Vec<_>>() {
            self.over(app);
        }
    }

    /// Looks who is there, if somebody called, and also what others did if it is time to.
    pub(super) fn look(&mut self) {
        let is_time = self.now >= self.look_at;
        if is_time {
            self.look_at = self.now.after(self.settings.look);
            if self.now >= self.others_at {
                self.others_at = self.now.after(self.settings.look.max(SELDOM));
                self.look_at_resctrl();
            }
            self.tell_wishes();
        }
        if is_time || self.is_called {
            self.is_called = false;
            self.heed_at = self.now.after(HEED);
            self.look_at_programs(is_time);
            self.report_actual(None);
        }
    }

    /// Looks what others did.
    pub(super) fn look_at_resctrl(&mut self) {
        let looked = match &mut self.means {
            Means::Ways(actuator) => actuator.look(),
            Means::Turns(turns) => {
                if turns.look() {
                    self.survey();
                }
                return;
            }
        };
        match looked {
            Ok(changes) => {
                self.trouble = None;
                if changes.domains {
                    self.survey();
                }
                if !changes.lost.is_empty() || changes.limits {
                    self.apply_again();
                }
                let now = self.now;
                self.domains.values_mut().for_each(|domain| domain.ask_again(now));
            }
            Err(why @ actuate::Error::Unmounted { .. }) => {
                self.failure = Some(Failure::Unmounted(why));
            }
            Err(why) => {
                self.erred(&why);
                self.say(&why.to_string());
            }
        }
    }

    /// Counts what resctrl did not let be done.
    fn erred(&mut self, why: &actuate::Error) {
        if let Means::Ways(actuator) = &mut self.means {
            actuator.erred(why);
        }
    }

    /// Looks who is there, and which threads they have: at once if they may have other processes, if it `is_time` to where they may
    /// have other threads, and now and then.
    fn look_at_programs(&mut self, is_time: bool) {
        match self.programs.look() {
            Ok(changes) => {
                let (gone, came): (Vec<_>, Vec<_>) =
                    changes.into_iter().partition(|change| matches!(change, Change::Gone { .. }));
                for change in gone.into_iter().chain(came) {
                    self.change(change);
                }
            }
            Err(why) => self.say(&format!("programs: {why}")),
        }
        let has_changed = self.programs.has_changed();
        let has_threads = is_time && self.programs.has_other_threads();
        if !has_changed && !has_threads && self.now < self.tasks_at {
            return;
        }
        let anew = self.now >= self.tasks_at;
        if self.means.turns().is_some() {
            if anew {
                self.tasks_at = self.now.after(self.settings.look.max(RARELY));
            }
            self.look_at_threads(anew);
            return;
        }
        // Who is let run elsewhere may live in another domain then, of which nothing else tells.
        let often = if self.domains.len() > 1 { SELDOM } else { RARELY };
        self.tasks_at = self.now.after(self.settings.look.max(often));
        let apps: Vec<AppId> = self.members.keys().copied().collect();
        for app in apps {
            self.look_at_tasks(app);
        }
    }

    /// Tells what owners ask for now.
    fn tell_wishes(&mut self) {
        for app in std::mem::take(&mut self.wished) {
            let member = self.members.get(&app).filter(|member| !member.is_gone);
            let kind = member.and_then(|member| self.kinds.get(member.kind?));
            let (Some(member), Some(kind)) = (member, kind) else { continue };
            for id in &member.domains {
                if let Some(domain) = self.domains.get_mut(id)
                    && domain.told.contains(&app)
                {
                    domain.tell(Event::Wished { app, wish: kind.wish });
                }
            }
        }
    }

    /// Says what goes wrong, until something else does.
    pub(super) fn say(&mut self, why: &str) {
        if self.trouble.as_deref() != Some(why) {
            tracing::warn!(target: "fairways::machine", "{why}");
        }
        self.trouble = Some(why.to_owned());
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Arrived { program, wanted, name } => match self.means.turns() {
                Some(turns) => {
                    turns.found(program, wanted, name);
                    self.look_at_threads_of(program, true);
                }
                None => self.begin(program, Some(wanted), name, None),
            },
            Change::Gone { program } => {
                if let Some(turns) = self.means.turns() {
                    turns.lost(program);
                }
                let of =
                    |(_, member): &(&AppId, &Member)| member.program == program && !member.is_gone;
                let apps: Vec<AppId> =
                    self.members.iter().filter(of).map(|(&app, _)| app).collect();
                for app in apps {
                    // What listens for its latencies ends before one of its name begins.
                    drop(self.end(app));
                }
            }
        }
    }

    /// A program is there, whose latencies are known by that source, or by one that is opened now.
    fn begin(
        &mut self,
        program: ProgramKey,
        kind: Option<usize>,
        name: String,
        known: Option<Box<dyn fairways_latency::Source>>,
    ) {
        let app = AppId(self.next_id);
        self.next_id += 1;
        let mut tasks = Vec::new();
        self.list(program, &mut tasks);
        let mut left_in = BTreeSet::new();
        let mut left = BTreeMap::new();
        if let Means::Ways(actuator) = &mut self.means {
            match actuator.add(app, &name, &tasks) {
                Ok(_) => {
                    left = actuator.left(app);
                    say_left(&name, &left, &mut left_in);
                }
                Err(why) => {
                    actuator.erred(&why);
                    tracing::error!(target: "fairways::machine", program = name, "{why}");
                }
            }
        }
        let cgroup: Option<PathBuf> = self.programs.cgroup(program).map(Into::into);
        let target = Target { app, name, cgroup, threads: tasks };
        self.source.begin(&target);
        let kinds = &self.kinds;
        let open = kind.and_then(|kind| kinds.get(kind)).and_then(|of| of.latency.as_ref());
        let source = known.or_else(|| match open?(&target) {
            Ok(source) => Some(source),
            Err(why) => {
                tracing::warn!(target: "fairways::machine", program = target.name, "latencies: {why}");
                None
            }
        });
        let touched = self.touched(program);
        let domains = touched.unwrap_or_else(|_| self.touched_by(&CpuSet::new()));
        let latency = source.map(|source| Latency::new(source, &domains));
        let Target { name, threads, cgroup, .. } = target;
        let member = Member::new(program, kind, name, domains, threads);
        self.start(app, Member { latency, cgroup, left, left_in, ..member });
    }

    /// A program's domains are to be told of it.
    pub(super) fn start(&mut self, app: AppId, member: Member) {
        for domain in &member.domains {
            if let Some(domain) = self.domains.get_mut(domain) {
                domain.due.push(Due::Start(app));
            }
        }
        self.members.insert(app, member);
    }

    /// A program is there no longer; its domains' policies are told in turn. The answer is the source of its latencies.
    pub(super) fn end(&mut self, app: AppId) -> Option<Box<dyn fairways_latency::Source>> {
        let member = self.members.get_mut(&app)?;
        member.is_gone = true;
        if let Some(turns) = self.means.turns() {
            turns.leave(app);
        }
        let latency = member.latency.take().map(Latency::into_source);
        let domains = member.domains.clone();
        if domains.is_empty() {
            self.over(app);
        }
        for domain in domains {
            match self.domains.get_mut(&domain) {
                Some(domain) => domain.due.push(Due::Exit(app)),
                None => self.forget(app, domain),
            }
        }
        latency
    }

    /// A domain has no more to do with a program; when none has, it is over.
    pub(super) fn forget(&mut self, app: AppId, domain: u32) {
        let Some(member) = self.members.get_mut(&app) else { return };
        member.domains.retain(|other| *other != domain);
        if member.is_gone && member.domains.is_empty() {
            self.over(app);
        }
    }

    /// A program is over, as far as any domain is concerned.
    fn over(&mut self, app: AppId) {
        self.members.remove(&app);
        self.source.end(app);
        if let Means::Ways(actuator) = &mut self.means
            && let Err(why) = actuator.remove(app)
        {
            actuator.erred(&why);
            self.say(&why.to_string());
        }
    }

    /// The domains that a program's CPUs touch; all, where none are known.
    fn touched(&mut self, program: ProgramKey) -> io::Result<Vec<u32>> {
        if let [only] = self.means.domains() {
            return Ok(vec![only.id]);
        }
        let cpus = self.programs.cpus(program)?;
        Ok(self.touched_by(&cpus))
    }

    /// The domains that these CPUs touch; all, where there are none.
    pub(super) fn touched_by(&self, cpus: &CpuSet) -> Vec<u32> {
        let all = self.means.domains();
        let touches = |cpu: u32| all.iter().find(|domain| domain.cpus.contains(cpu));
        let mut touched: Vec<u32> = cpus.iter().filter_map(touches).map(|of| of.id).collect();
        touched.sort_unstable();
        touched.dedup();
        if touched.is_empty() {
            touched = all.iter().map(|domain| domain.id).collect();
        }
        touched
    }

    /// Lists a program's threads; none, if they can't be.
    fn list(&mut self, program: ProgramKey, tasks: &mut Vec<i32>) {
        if let Err(why) = self.programs.tasks(program, tasks) {
            self.say(&format!("threads: {why}"));
        }
    }

    /// Finds a program's new threads, and where they may run.
    fn look_at_tasks(&mut self, app: AppId) {
        let Some(member) = self.members.get_mut(&app).filter(|member| !member.is_gone) else {
            return;
        };
        let (program, programs) = (member.program, &mut self.programs);
        let mut tasks = member.tasks.clone();
        let mut unseen = None;
        let Means::Ways(actuator) = &mut self.means else { return };
        let moved = actuator.tasks(app, &mut |list| match programs.tasks(program, list) {
            Ok(()) => tasks.clone_from(list),
            // Who can't be seen has not left.
            Err(why) => {
                list.clone_from(&tasks);
                unseen = Some(why);
            }
        });
        if tasks != member.tasks {
            self.source.threads(app, &tasks);
            member.tasks = tasks;
        }
        let name = &member.name;
        let moved = match moved {
            Ok(_) => {
                member.left = actuator.left(app);
                say_left(name, &member.left, &mut member.left_in);
                None
            }
            Err(why) => {
                actuator.erred(&why);
                Some(format!("{name}: {why}"))
            }
        };
        if let Some(why) = moved.or(unseen.map(|why| format!("{name}: {why}"))) {
            self.say(&why);
        }
        let touched = match self.touched(program) {
            Ok(touched) => touched,
            Err(why) => {
                // The same words as above, which are said once.
                let why = format!("{}: {why}", self.name(app).unwrap_or_default());
                return self.say(&why);
            }
        };
        let Some(member) = self.members.get(&app) else { return };
        if touched != member.domains {
            let (kind, name) = (member.kind, member.name.clone());
            let latency = self.end(app);
            self.begin(program, kind, name, latency);
        } else if self.programs.cgroup(program) != member.cgroup.as_deref() {
            self.count_anew(app);
        }
    }

    /// Counts a program by the cgroup that it is now, or is no longer, and begins its windows anew.
    fn count_anew(&mut self, app: AppId) {
        let Some(member) = self.members.get_mut(&app) else { return };
        member.cgroup = self.programs.cgroup(member.program).map(Into::into);
        let (name, cgroup) = (member.name.clone(), member.cgroup.clone());
        self.source.begin(&Target { app, name, cgroup, threads: member.tasks.clone() });
        let of =
            |(&id, domain): (&u32, &Domain)| Some((id, domain.windows.get(&app)?.common.length));
        let windows: Vec<_> = self.domains.iter().filter_map(of).collect();
        for (id, every) in windows {
            self.watch(id, app, every);
        }
    }
}

/// Says once of each group of others that tasks of a program stay in it.
fn say_left(name: &str, left: &BTreeMap<String, usize>, said: &mut BTreeSet<String>) {
    for (group, threads) in left {
        if said.insert(group.clone()) {
            tracing::warn!(
                target: "fairways::machine", program = name, group, threads,
                "threads are in a group of others and stay there, not managed"
            );
        }
    }
}

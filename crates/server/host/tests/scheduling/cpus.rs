//! CPUs on which threads take turns, and their time.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use fairways_core::{AppId, Counters, CpuSet, Time};
use fairways_host::clock::{Clock, Wait};
use fairways_turns::{Given, Scheduler, Turn, TurnReport, Who};

/// CPUs that many hold.
pub(crate) type Shared = Rc<RefCell<Cpus>>;

/// How long a turn is.
pub(crate) const QUANTUM: Duration = Duration::from_millis(10);

/// Round robin on some CPUs: a raised thread goes first, and one that may not stay leaves at once.
#[derive(Default)]
pub(crate) struct Cpus {
    pub(crate) now: u64,
    cpus: BTreeMap<u32, Cpu>,
    pub(crate) threads: BTreeMap<AppId, Thread>,
    waiting: VecDeque<AppId>,
    ended: TurnReport,
    /// Threads that can't be taken in, by number, and how often that was asked.
    pub(crate) refused: BTreeMap<i32, u32>,
    /// The kernel ends the scheduler.
    pub(crate) ends: bool,
    /// The shortest time of others and of idleness that is to be reported.
    pub(crate) watched: Option<Duration>,
    /// Where the kernel would show threads' affinity.
    proc: PathBuf,
}

#[derive(Clone, Copy)]
struct Cpu {
    since: u64,
    running: Option<(AppId, u64)>,
}

/// A thread that was taken in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) number: i32,
    /// On which it may run; none for all.
    pub(crate) allowed: CpuSet,
    /// What its owner lets it use, and its affinity, as both were when it was last looked at.
    owners: CpuSet,
    affinity: CpuSet,
    pub(crate) raised: bool,
    pub(crate) ordered: Option<Duration>,
    /// How long this turn was to be.
    turn: Duration,
    /// How long it ran.
    pub(crate) ran: u64,
}

impl Cpus {
    pub(crate) fn new(count: u32, proc: PathBuf) -> Shared {
        let idle = Cpu { since: 0, running: None };
        let cpus = (0..count).map(|cpu| (cpu, idle)).collect();
        Rc::new(RefCell::new(Self { cpus, proc, ..Self::default() }))
    }

    fn status(&self, number: i32) -> PathBuf {
        self.proc.join(format!("{number}/status"))
    }

    fn affinity(&self, number: i32) -> Option<CpuSet> {
        let text = fs::read_to_string(self.status(number)).ok()?;
        CpuSet::parse_list(text.strip_prefix("Cpus_allowed_list:\t")?.trim(), 64).ok()
    }

    /// An affinity that was set from outside is the owner's from now on. Then the thread gets what
    /// the policy allows of it.
    fn set_affinity(&mut self, app: AppId) {
        let number = self.threads[&app].number;
        let Some(found) = self.affinity(number) else { return };
        let thread = self.threads.get_mut(&app).unwrap();
        if found != thread.affinity {
            thread.owners = found;
        }
        let due = thread.allowed.intersection(&thread.owners);
        thread.affinity = if due.is_empty() { thread.owners.clone() } else { due };
        let text = format!("Cpus_allowed_list:\t{}\n", thread.affinity.to_list());
        fs::write(self.status(number), text).unwrap();
    }

    /// A thread, by its number.
    pub(crate) fn thread(&self, number: i32) -> &Thread {
        self.threads.values().find(|of| of.number == number).unwrap()
    }

    fn may(&self, app: AppId, cpu: u32) -> bool {
        let allowed = &self.threads[&app].allowed;
        allowed.is_empty() || allowed.contains(cpu)
    }

    fn next_end(&self) -> Option<u64> {
        self.cpus.values().filter_map(|cpu| Some(cpu.running?.1)).min()
    }

    fn advance(&mut self, to: u64) {
        while let Some(end) = self.next_end().filter(|end| *end <= to) {
            self.now = end;
            let over = |(&cpu, of): (&u32, &Cpu)| {
                of.running.filter(|(_, until)| *until == end).map(|_| cpu)
            };
            for cpu in self.cpus.iter().filter_map(over).collect::<Vec<_>>() {
                self.leave(cpu);
            }
            self.fill();
        }
        self.now = self.now.max(to);
    }

    /// The thread that runs there waits again.
    fn leave(&mut self, cpu: u32) {
        let of = self.cpus.get_mut(&cpu).unwrap();
        let (span, running) = ((of.since, self.now), of.running.take());
        of.since = self.now;
        if span.0 == span.1 {
            let Some((app, _)) = running else { return };
            // What was ordered of a turn that has not begun is ordered still.
            if let Some(thread) = self.threads.get_mut(&app).filter(|of| of.turn != QUANTUM) {
                thread.ordered = thread.ordered.or(Some(thread.turn));
            }
            self.waiting.push_back(app);
            return;
        }
        let who = running.map_or(Who::Idle, |(app, _)| Who::Thread(app));
        let counters = Counters::default();
        self.ended.turns.push(Turn { cpu, who, span, counters, goes_on: false });
        let Some((app, _)) = running else { return };
        let ran = span.1 - span.0;
        if let Some(thread) = self.threads.get_mut(&app) {
            thread.ran += ran;
            let ordered = thread.turn;
            let ran = Duration::from_nanos(ran);
            self.ended.given.push(Given { app, cpu, ordered, ran, at: self.now });
            self.waiting.push_back(app);
        }
    }

    /// Every CPU takes the first thread that may run there.
    fn fill(&mut self) {
        for cpu in self.cpus.keys().copied().collect::<Vec<_>>() {
            if self.cpus[&cpu].running.is_some() {
                continue;
            }
            let first = |raised: bool| {
                let fits = |app: &AppId| self.threads[app].raised == raised && self.may(*app, cpu);
                self.waiting.iter().position(fits)
            };
            let Some(place) = first(true).or_else(|| first(false)) else { continue };
            self.leave(cpu);
            let app = self.waiting.remove(place).unwrap();
            let thread = self.threads.get_mut(&app).unwrap();
            let turn = thread.ordered.take().unwrap_or(QUANTUM);
            thread.turn = turn;
            let until = self.now + u64::try_from(turn.as_nanos()).unwrap();
            self.cpus.insert(cpu, Cpu { since: self.now, running: Some((app, until)) });
        }
    }

    fn changed(&mut self) {
        let wrong = |(&cpu, of): (&u32, &Cpu)| {
            of.running.filter(|(app, _)| !self.may(*app, cpu)).map(|_| cpu)
        };
        for cpu in self.cpus.iter().filter_map(wrong).collect::<Vec<_>>() {
            self.leave(cpu);
        }
        self.fill();
    }
}

/// Threads' turns on such CPUs.
pub(crate) struct Turning(pub(crate) Shared, pub(crate) &'static str);

impl Scheduler for Turning {
    fn name(&self) -> &'static str {
        self.1
    }

    fn quantum(&self) -> Duration {
        QUANTUM
    }

    fn begin(&mut self, app: AppId, number: i32) -> io::Result<()> {
        let mut cpus = self.0.borrow_mut();
        if let Some(asked) = cpus.refused.get_mut(&number) {
            *asked += 1;
            return Err(io::Error::other("a test refuses it"));
        }
        let affinity = cpus.affinity(number).unwrap_or_default();
        let owners = affinity.clone();
        cpus.threads.insert(app, Thread { number, owners, affinity, ..Thread::default() });
        cpus.waiting.push_back(app);
        cpus.fill();
        Ok(())
    }

    fn end(&mut self, app: AppId) {
        let mut cpus = self.0.borrow_mut();
        let on = |(&cpu, of): (&u32, &Cpu)| of.running.filter(|of| of.0 == app).map(|_| cpu);
        if let Some(cpu) = cpus.cpus.iter().find_map(on) {
            cpus.leave(cpu);
        }
        cpus.waiting.retain(|other| *other != app);
        if let Some(thread) = cpus.threads.get_mut(&app) {
            thread.allowed = CpuSet::new();
            cpus.set_affinity(app);
        }
        cpus.threads.remove(&app);
        cpus.fill();
    }

    fn owners(&self, app: AppId) -> Option<CpuSet> {
        let mut cpus = self.0.borrow_mut();
        cpus.threads.contains_key(&app).then(|| {
            cpus.set_affinity(app);
            cpus.threads[&app].owners.clone()
        })
    }

    fn allow(&mut self, app: AppId, cpus: &CpuSet) -> io::Result<()> {
        let mut all = self.0.borrow_mut();
        all.threads.get_mut(&app).unwrap().allowed = cpus.clone();
        all.set_affinity(app);
        all.changed();
        Ok(())
    }

    fn raise(&mut self, app: AppId, raised: bool) -> io::Result<()> {
        self.0.borrow_mut().threads.get_mut(&app).unwrap().raised = raised;
        Ok(())
    }

    fn order(&mut self, app: AppId, time: Duration) -> io::Result<()> {
        self.0.borrow_mut().threads.get_mut(&app).unwrap().ordered = Some(time);
        Ok(())
    }

    fn watch(&mut self, shortest: Option<Duration>) -> io::Result<()> {
        self.0.borrow_mut().watched = shortest;
        Ok(())
    }

    fn now(&self) -> u64 {
        self.0.borrow().now
    }

    fn attention(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn turns(&mut self, ended: &mut TurnReport) -> io::Result<()> {
        let mut cpus = self.0.borrow_mut();
        if std::mem::take(&mut cpus.ends) {
            return Err(io::Error::other("a test ends it"));
        }
        ended.turns.append(&mut cpus.ended.turns);
        ended.given.append(&mut cpus.ended.given);
        Ok(())
    }
}

/// Their time, which comes to every end of a turn.
pub(crate) struct Ticking(pub(crate) Shared);

impl Clock for Ticking {
    fn now(&self) -> Time {
        Time::from_nanos(self.0.borrow().now)
    }

    fn notices_instructions(&self) -> bool {
        false
    }

    fn was_suspended(&mut self) -> bool {
        false
    }

    fn wait(&mut self, wait: &Wait<'_>) -> io::Result<bool> {
        let mut cpus = self.0.borrow_mut();
        let until = wait.until.min(wait.about).nanos().max(cpus.now);
        let to = cpus.next_end().map_or(until, |end| end.min(until));
        cpus.advance(to);
        Ok(false)
    }
}

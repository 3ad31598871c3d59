//! Reporting the turns that threads had, and which threads ran.

use std::io;

use fairways_perf::switches::{Stay, now};

use super::super::thread::{self, Stat};
use super::super::{Given, Turn, TurnReport, Who};
use super::Affinity;

/// How often usual turns are checked as well, in nanoseconds: as often as hosts check any
/// (`LOOK` in crates/server/host/src/machine/turns/mechanism.rs).
const EVERY: u64 = 10_000_000;

impl Affinity {
    /// Reports turns in the policy's sense that are over. Usual turns are checked every 10 ms at
    /// most, so that a thread costs one pread(2) in that time; the others at every call.
    pub(super) fn given(&mut self, ended: &mut TurnReport) {
        let at = now();
        let proc = &self.settings.proc;
        let all = at.saturating_sub(self.listed) >= EVERY;
        if all {
            self.listed = at;
        }
        for (&app, managed) in &mut self.threads {
            if !all && managed.turns.urgent().is_none() {
                continue;
            }
            // A thread that has ended is released when its program's threads are listed.
            let Some(total) = thread::time(&managed.time) else { continue };
            let mut stat = None;
            let sleeps = || {
                stat = Stat::read(proc, managed.thread);
                stat.is_some_and(|stat| stat.state != 'R')
            };
            let before = managed.turns.ordered();
            let Some((ordered, ran)) = managed.turns.look(total, at, sleeps) else { continue };
            if managed.turns.ordered() != before {
                self.pending.insert(app);
            }
            let Some(stat) = stat.or_else(|| Stat::read(proc, managed.thread)) else { continue };
            let nanos = std::time::Duration::from_nanos;
            ended.given.push(Given {
                app,
                cpu: stat.cpu,
                ordered: nanos(ordered),
                ran: nanos(ran),
                at,
            });
        }
    }

    /// Sets the alarm to when the first unusual turn may be over, but no sooner than the kernel
    /// updates a thread's time on a CPU.
    pub(super) fn arm(&self) -> io::Result<()> {
        let soonest = self.threads.values().filter_map(|managed| managed.turns.urgent()).min();
        self.alarm.set(soonest.map(|soonest| soonest.max(self.tick)))
    }

    /// Reports turns on CPUs, by perf.
    pub(super) fn stays(&mut self, ended: &mut TurnReport) -> io::Result<()> {
        let Some(switches) = &mut self.switches else { return Ok(()) };
        let done = switches.read(&mut self.stays);
        for Stay { cpu, thread, span, counters, goes_on } in self.stays.drain(..) {
            let who = match self.by_thread.get(&thread) {
                Some(&app) => Who::Thread(app),
                None if thread == 0 => Who::Idle,
                None => Who::Other,
            };
            // A turn that goes on may become long; its end is reported, too.
            let is_end = self.going_on.remove(&cpu);
            let long = |shortest: u64| span.1 - span.0 >= shortest || goes_on || is_end;
            if matches!(who, Who::Thread(_)) || self.shortest.is_some_and(long) {
                if goes_on {
                    self.going_on.insert(cpu);
                }
                ended.turns.push(Turn { cpu, who, span, counters, goes_on });
            }
        }
        done
    }
}

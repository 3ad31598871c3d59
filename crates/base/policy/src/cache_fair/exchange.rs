//! The exchange of CPU time between threads: what is given is taken from another thread.
//!
//! When a slice of a thread ends that has a fair CPI, and whose next turn is to be longer or
//! shorter, the thread is promised the change, and one best-effort thread is promised the opposite
//! (§4.2). The time that threads really ran is settled when their slices are reported: a machine
//! rounds to its ticks, and threads sleep and end. At every time
//!
//! > promises to all threads + time that they ran beyond their due = carry
//!
//! and the carry, which is given but not yet taken, is compensated by the next promises. Orders are
//! for one turn. A thread gets another order when its slice ends, or when it has none yet, so that
//! no order is withdrawn that may be under way.
//!
//! `fairways` uses it too, with other fair CPIs.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::time::Duration;

use fairways_core::{Action, AppId, EndedTurn, ThreadId, Time};

use super::best_effort::Losses;
use super::calibration::Account;

const TAKES: &str = "behind its fair CPI";
const GIVES: &str = "ahead of its fair CPI";
const GIVES_UP: &str = "gives time to a thread that is behind its fair CPI";
const GETS: &str = "gets time from a thread that is ahead of its fair CPI";
const AS_USUAL: &str = "as usual again";
const NO_MORE: &str = "no more of its time is taken: it has lost as much as a second may cost it";

/// How many threads of a program are distinguished; the one whose last event is oldest is forgotten
/// first. Ours: machines do not report the end of a thread.
const MOST_THREADS: usize = 64;

/// The role of a thread for the scheduler (§2).
#[derive(Clone, Debug)]
pub(crate) enum Role<T> {
    /// It has a fair CPI, and what the policy knows of it.
    Fair(Account, T),
    BestEffort(Box<Losses>),
}

impl<T> Role<T> {
    /// The role of a thread of background work.
    pub(crate) fn best_effort() -> Self {
        Self::BestEffort(Box::new(Losses::new()))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ExchangeThread<T> {
    pub(crate) role: Role<T>,
    /// The time of the last event about it.
    pub(super) seen: Time,
    /// The CPU of its last slice.
    cpu: Option<u32>,
    /// How many nanoseconds longer than usual its next turns are to be.
    promised: i128,
    /// The ordered length of its next turn, in nanoseconds; `None` for the usual length.
    ordered: Option<i128>,
    /// Whether it was announced that no more is taken from it.
    is_announced: bool,
}

impl<T> ExchangeThread<T> {
    pub(super) const fn new(role: Role<T>, seen: Time) -> Self {
        Self { role, seen, cpu: None, promised: 0, ordered: None, is_announced: false }
    }

    pub(crate) const fn is_best_effort(&self) -> bool {
        matches!(self.role, Role::BestEffort(_))
    }
}

/// All threads and their promises. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Exchange<T> {
    pub(crate) threads: BTreeMap<ThreadId, ExchangeThread<T>>,
    /// The machine's quantum.
    quantum: i128,
    /// The most that a second may cost, in percent
    /// ([`Parameters::penalty_limit`](super::Parameters::penalty_limit)).
    limit: u32,
    /// The class of best-effort programs, where that is announced.
    class: Option<&'static str>,
    carry: i128,
}

impl<T> Default for Exchange<T> {
    fn default() -> Self {
        Self { threads: BTreeMap::new(), quantum: 0, limit: 0, class: None, carry: 0 }
    }
}

/// A best-effort thread whose turns can be changed.
struct Candidate<'a> {
    id: ThreadId,
    change: i128,
    is_near: bool,
    promised: i128,
    losses: &'a Losses,
}

impl Candidate<'_> {
    /// Whether this one is chosen before another with a lower identifier.
    fn is_before(&self, other: &Self) -> bool {
        if self.is_near != other.is_near {
            return self.is_near;
        }
        let lost = self.losses.compare(self.promised, other.losses, other.promised);
        lost == if self.change < 0 { Ordering::Less } else { Ordering::Greater }
    }
}

/// The longest time that counts, so that sums do not overflow: 146 years.
const MOST: i128 = 1 << 62;

fn nanos(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(MOST).min(MOST)
}

/// The time that a thread was entitled to in a slice.
///
/// * In a usual slice, and in one that lasted longer than any order and a quantum, as no other
///   thread waited: the time that it ran.
/// * In a slice that was to be longer: a quantum, or the time that it ran if it gave the CPU up
///   before.
/// * In a slice that was to be shorter: a quantum, or the time that it ran if it gave the CPU up
///   before half of the order was over (ours: a machine that rounds to its ticks may shorten a
///   turn, too).
fn entitled(quantum: i128, ordered: i128, ran: i128) -> i128 {
    if ordered == quantum || ran > ordered.max(quantum) + quantum {
        ran
    } else if ordered > quantum {
        ran.min(quantum)
    } else if 2 * ran < ordered {
        ran
    } else {
        quantum
    }
}

/// Whether a turn is worth an order: it changes by at least a thousandth of a quantum. Ours;
/// smaller changes wait until they add up to that.
const fn worth_it(change: i128, quantum: i128) -> bool {
    change.unsigned_abs() * 1000 >= quantum.unsigned_abs()
}

impl<T> Exchange<T> {
    /// Begins with this quantum of the machine; promises with another quantum are void. With a
    /// `class`, it is announced once for each best-effort thread that no more is taken from it.
    pub(crate) fn begin(&mut self, quantum: Duration, limit: u32, class: Option<&'static str>) {
        (self.quantum, self.limit, self.class, self.carry) = (nanos(quantum), limit, class, 0);
        for thread in self.threads.values_mut() {
            (thread.promised, thread.ordered) = (0, None);
        }
    }

    /// The sum of all promises, and the carry.
    #[cfg(test)]
    pub(crate) fn books(&self) -> (i128, i128) {
        (self.threads.values().map(|thread| thread.promised).sum(), self.carry)
    }

    /// Whether there is a thread to take time from or to give it to.
    pub(crate) fn has_best_effort(&self) -> bool {
        self.threads.values().any(ExchangeThread::is_best_effort)
    }

    /// Notes that an event reported a thread, whose role is this if it is new.
    pub(crate) fn note(
        &mut self,
        at: Time,
        id: ThreadId,
        role: impl FnOnce() -> Role<T>,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        if let Some(thread) = self.threads.get_mut(&id) {
            thread.seen = at;
            return;
        }
        if self.threads_of(id.app).count() >= MOST_THREADS {
            let oldest = self.threads_of(id.app).min_by_key(|(_, thread)| thread.seen);
            if let Some(oldest) = oldest.map(|(id, _)| id) {
                self.leave(at, &[oldest], act);
            }
        }
        self.threads.insert(id, ExchangeThread::new(role(), at));
    }

    /// The threads of a program.
    pub(crate) fn threads_of(
        &self,
        app: AppId,
    ) -> impl Iterator<Item = (ThreadId, &ExchangeThread<T>)> {
        self.threads.range(all_of(app)).map(|(&id, thread)| (id, thread))
    }

    /// The roles of a program's threads.
    pub(crate) fn roles_of(
        &mut self,
        app: AppId,
    ) -> impl Iterator<Item = (ThreadId, &mut Role<T>)> {
        self.threads.range_mut(all_of(app)).map(|(&id, thread)| (id, &mut thread.role))
    }

    /// Removes the threads of a program.
    pub(crate) fn exit(&mut self, at: Time, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        let gone: Vec<ThreadId> = self.threads_of(app).map(|(id, _)| id).collect();
        self.leave(at, &gone, act);
    }

    pub(crate) const fn quantum(&self) -> i128 {
        self.quantum
    }

    /// Handles the end of a slice: settles the time that the thread really got, and orders its next
    /// turn.
    pub(crate) fn slice(&mut self, at: Time, slice: &EndedTurn, act: &mut dyn FnMut(Action<'_>)) {
        let (quantum, has_best_effort) = (self.quantum, self.has_best_effort());
        let Some(thread) = self.threads.get_mut(&slice.thread) else { return };
        let (ordered, ran) = (nanos(slice.ordered), nanos(slice.ran));
        let due = entitled(quantum, ordered, ran);
        (thread.cpu, thread.seen) = (Some(slice.cpu), at);
        if thread.ordered == Some(ordered) {
            thread.ordered = None;
        }
        match &mut thread.role {
            Role::Fair(account, _) => {
                account.slice(due, ran);
                let wanted = if has_best_effort { account.wanted(quantum) } else { 0 };
                let wanted = if worth_it(wanted, quantum) { wanted } else { 0 };
                self.carry += ran - due - thread.promised + wanted;
                thread.promised = wanted;
                self.cover(at, Some(slice.thread), act);
            }
            Role::BestEffort(losses) => {
                losses.slice(at, due, due - ran);
                thread.promised -= ran - due;
                self.cover(at, None, act);
            }
        }
        self.order(slice.thread, act);
    }

    /// Removes threads; their promises go to others.
    fn leave(&mut self, at: Time, gone: &[ThreadId], act: &mut dyn FnMut(Action<'_>)) {
        for thread in gone.iter().filter_map(|id| self.threads.remove(id)) {
            self.carry -= thread.promised;
        }
        loop {
            let before = self.carry;
            self.cover(at, None, act);
            if self.carry == before || self.carry == 0 {
                break;
            }
        }
        // No thread has room for the rest: the orders that it belongs to shrink.
        let promised = self.threads.iter().filter(|(_, other)| !other.is_best_effort());
        let fair: Vec<ThreadId> = promised.map(|(&id, _)| id).collect();
        for id in fair {
            if self.shrink(id) {
                self.order(id, act);
            }
        }
        if !self.has_best_effort() {
            self.carry = 0;
        }
    }

    /// Brings the carry nearer to 0 by a promise to one best-effort thread. What that thread has no
    /// room for is taken off the promise to `to`.
    fn cover(&mut self, at: Time, to: Option<ThreadId>, act: &mut dyn FnMut(Action<'_>)) {
        if self.carry == 0 {
            return;
        }
        let near = to.and_then(|id| self.threads.get(&id)).and_then(|thread| thread.cpu);
        if let Some((id, change)) = self.choose(at, near, act)
            && let Some(thread) = self.threads.get_mut(&id)
        {
            thread.promised += change;
            self.carry += change;
            if thread.ordered.is_none() {
                self.order(id, act);
            }
        }
        if let Some(id) = to {
            self.shrink(id);
        }
        if !self.has_best_effort() {
            self.carry = 0;
        }
    }

    /// The best-effort thread that compensates the carry, and the change of its promise. To take
    /// time, it is the thread that has lost least; to give time, the one that has lost most. A
    /// thread that ran on that CPU comes before others; of equals, the one with the lowest
    /// identifier (decision cache-fair 5).
    fn choose(
        &mut self,
        at: Time,
        near: Option<u32>,
        act: &mut dyn FnMut(Action<'_>),
    ) -> Option<(ThreadId, i128)> {
        let Self { threads, quantum, limit, class, carry } = self;
        let mut chosen: Option<Candidate<'_>> = None;
        for (&id, thread) in threads {
            let Role::BestEffort(losses) = &mut thread.role else { continue };
            let change = if *carry > 0 {
                let half = *quantum / 2;
                let room = losses.room(at, *quantum, *limit);
                let least = room.map_or(-half, |room| -room.min(half));
                if thread.promised - *carry < least
                    && least > -half
                    && let Some(class) = class.filter(|_| !thread.is_announced)
                {
                    let app = id.app;
                    act(Action::Classified { app, class: class.into(), reason: NO_MORE.into() });
                    thread.is_announced = true;
                }
                (-*carry).max((least - thread.promised).min(0))
            } else {
                (-*carry).min((*quantum - thread.promised).max(0))
            };
            let is_near = near.is_some() && thread.cpu == near;
            let one = Candidate { id, change, is_near, promised: thread.promised, losses };
            if change != 0 && chosen.as_ref().is_none_or(|best| one.is_before(best)) {
                chosen = Some(one);
            }
        }
        chosen.map(|one| (one.id, one.change))
    }

    /// Takes back the part of a thread's promise that no other thread covers; whether there was
    /// any.
    fn shrink(&mut self, id: ThreadId) -> bool {
        let Some(thread) = self.threads.get_mut(&id) else { return false };
        // Never past 0: the next promises compensate the rest.
        let change = if self.carry > 0 {
            thread.promised.clamp(0, self.carry)
        } else {
            thread.promised.clamp(self.carry, 0)
        };
        thread.promised -= change;
        self.carry -= change;
        change != 0
    }

    /// Orders a thread's next turn, unless it has that order already.
    fn order(&mut self, id: ThreadId, act: &mut dyn FnMut(Action<'_>)) {
        let Some(thread) = self.threads.get_mut(&id) else { return };
        let change = thread.promised.clamp(-(self.quantum / 2), self.quantum);
        let change = if worth_it(change, self.quantum) { change } else { 0 };
        let ordered = (change != 0).then_some(self.quantum + change);
        if ordered == thread.ordered {
            return;
        }
        thread.ordered = ordered;
        let reason = match (change.cmp(&0), thread.is_best_effort()) {
            (Ordering::Equal, _) => AS_USUAL,
            (Ordering::Greater, false) => TAKES,
            (Ordering::Less, false) => GIVES,
            (Ordering::Less, true) => GIVES_UP,
            (Ordering::Greater, true) => GETS,
        };
        let time = u64::try_from(self.quantum + change).unwrap_or(u64::MAX);
        act(Action::Quantum {
            thread: id,
            time: Duration::from_nanos(time),
            reason: reason.into(),
        });
    }
}

/// The identifiers that threads of a program can have.
const fn all_of(app: AppId) -> core::ops::RangeInclusive<ThreadId> {
    ThreadId { app, number: 0 }..=ThreadId { app, number: u32::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn id(app: u32) -> ThreadId {
        ThreadId::first_of(AppId(app))
    }

    /// Threads with these promises in microseconds, and a quantum of 10 ms; those from 10 on are
    /// best-effort.
    fn exchange(promised: &[(u32, i128)]) -> Exchange<()> {
        let mut exchange = Exchange::default();
        exchange.begin(Duration::from_millis(10), 0, None);
        for &(app, promised) in promised {
            let role =
                if app < 10 { Role::Fair(Account::default(), ()) } else { Role::best_effort() };
            let mut thread = ExchangeThread::new(role, Time::ZERO);
            thread.promised = promised * 1000;
            exchange.threads.insert(id(app), thread);
            exchange.order(id(app), &mut |_| ());
        }
        exchange
    }

    fn quanta(run: impl FnOnce(&mut dyn FnMut(Action<'_>))) -> Vec<(u32, u128)> {
        let mut all = Vec::new();
        run(&mut |action| {
            if let Action::Quantum { thread, time, .. } = action {
                all.push((thread.app.0, time.as_micros()));
            }
        });
        all
    }

    fn slice(app: u32, ordered: u64, ran: u64) -> EndedTurn {
        let (ordered, ran) = (Duration::from_micros(ordered), Duration::from_micros(ran));
        EndedTurn { thread: id(app), cpu: 0, ordered, ran }
    }

    /// 11 and 12 have room for 1 ms each of the 5 that 10 leaves; thread 0 gets less by the rest.
    #[test]
    fn others_pay_for_a_thread_that_ends_and_the_rest_is_not_given() {
        let all = [(0, 5000), (1, 8000), (10, -5000), (11, -4000), (12, -4000)];
        let mut exchange = exchange(&all);
        let ordered = quanta(|act| exchange.leave(Time::ZERO, &[id(10)], act));
        // Threads that already have an order get the next one when their turn has ended.
        assert_eq!(ordered, [(0, 12_000)]);
        assert_eq!(exchange.books(), (0, 0));
        let paid = [11, 12].map(|app| exchange.threads[&id(app)].promised);
        assert_eq!(paid, [-5_000_000, -5_000_000]);
    }

    /// The order may be under way: the thread would pay twice.
    #[test]
    fn a_thread_with_an_order_gets_no_other_before_its_turn_has_ended() {
        let mut exchange = exchange(&[(0, 2000), (10, -3000)]);
        let ended = quanta(|act| exchange.slice(Time::ZERO, &slice(0, 12_000, 13_000), act));
        assert_eq!(ended, []);
        // It got 1 ms more than it was promised, which 10 pays by the turn after.
        assert_eq!(exchange.threads[&id(10)].promised, -4_000_000);
        let ended = quanta(|act| exchange.slice(Time::ZERO, &slice(10, 7000, 7000), act));
        assert_eq!(ended, [(10, 9000)]);
    }

    /// A turn before the order did not use it up.
    #[test]
    fn an_order_that_is_to_come_and_no_longer_wanted_is_taken_back() {
        let mut exchange = exchange(&[(0, 2000), (10, -2000)]);
        let ended = quanta(|act| exchange.slice(Time::ZERO, &slice(0, 10_000, 10_000), act));
        assert_eq!(ended, [(0, 10_000)]);
        let ended = quanta(|act| exchange.slice(Time::ZERO, &slice(10, 10_000, 10_000), act));
        assert_eq!(ended, [(10, 10_000)]);
        assert_eq!(exchange.books(), (0, 0));
    }

    /// With a quantum of 10: the ordered length of a turn, its actual length, and the time that the
    /// thread was entitled to.
    #[test]
    fn a_thread_is_entitled_to_a_quantum_that_it_uses() {
        let turns = [
            // As usual, whatever it ran.
            ((10, 10), 10),
            ((10, 3), 3),
            ((10, 50), 50),
            // Longer, as it was ordered; rounded to ticks; given up early.
            ((14, 14), 10),
            ((14, 20), 10),
            ((14, 10), 10),
            ((14, 4), 4),
            // Shorter, likewise.
            ((6, 6), 10),
            ((6, 10), 10),
            ((6, 5), 10),
            ((6, 2), 2),
            // No other thread waited for the CPU.
            ((14, 25), 25),
            ((6, 50), 50),
        ];
        for ((ordered, ran), due) in turns {
            assert_eq!(entitled(10, ordered, ran), due, "{ordered} {ran}");
        }
    }
}

//! The daemon itself: it reports events to the observers and the policies, carries out what the
//! policies decide, and restores everything.

mod reload;
mod start;

use std::any::Any;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;

use fairways_core::{Counter, Event, Time};
use fairways_host::emulated::Connection;
use fairways_host::machine::Host;
use fairways_record::status::{MachineRecord, Status};
use fairways_resctrl_client::{Restored, Thing};
use parking_lot::Mutex;
use tracing::{error, info, warn};

use super::Options;
use super::config::Config;
use super::notify::Notify;
use super::observer::{EndOfRun, HostObserver};
use super::open;
use super::pace::TurnPace;
use super::repeated;
use super::rules::Rules;
use super::seen::show_uncounted;
use super::signals::{Asked, Signals};

/// A host and all that manages it.
pub(super) struct Daemon {
    /// As it was at the start.
    config: Config,
    host: Host,
    rules: Rules,
    pub(super) watched: Arc<Mutex<MachineRecord>>,
    observers: Vec<Box<dyn HostObserver>>,
    pace: TurnPace,
    notify: Notify,
    emulator: Option<Connection>,
    /// Whether something could not be restored that a daemon with another lever had left.
    are_others_left: bool,
}

impl Daemon {
    /// Counts these counters as well, even if that makes them take turns.
    pub(super) fn count_also(&mut self, counters: &[Counter]) {
        self.host.count_also(counters, true);
        show_uncounted(&self.host, &self.watched);
    }

    /// Why nothing could be given out in some domains, if that is so.
    pub(super) fn nothing_free(&self) -> Option<String> {
        self.host.actuator()?.nothing_free()
    }

    /// Passes events to the observers and the policies, and actions back, until it is time to stop.
    pub(super) fn follow(
        &mut self,
        args: Option<&Options>,
        signals: &Signals,
    ) -> anyhow::Result<()> {
        self.notify.ready(&format!("{} looks after this host", self.rules.name()));
        self.observers.iter_mut().for_each(|observer| observer.ready());
        while !self.observers.iter().any(|observer| observer.is_done()) {
            self.notify.in_system();
            match signals.asked() {
                Some(Asked::End) => break,
                Some(Asked::Reload) => args.into_iter().for_each(|args| self.reload(args)),
                None => {}
            }
            match self.next_event() {
                Some((at, domain, event)) => self.handle(at, domain, &event),
                None if signals.came() => {}
                None => break,
            }
        }
        match self.host.failure() {
            Some(why) => Err(anyhow::anyhow!("{why}")),
            None => Ok(()),
        }
    }

    /// Waits for the next event of the host, and shows the host meanwhile.
    fn next_event(&mut self) -> Option<(Time, u32, Event)> {
        let Self { host, observers, pace, notify, .. } = self;
        for observer in &mut *observers {
            observer.before(host);
        }
        host.next_event_showing(&mut |host| {
            notify.in_system();
            if pace.is_due(host) {
                repeated::write_counts(false);
                observers.iter_mut().for_each(|observer| observer.turn(host));
            }
        })
    }

    /// Passes an event to the observers, and to the policy unless it is of one of them alone.
    fn handle(&mut self, at: Time, domain: u32, event: &Event) {
        self.notify.in_policy();
        let Self { host, observers, .. } = &mut *self;
        if !observers.iter_mut().any(|observer| observer.is_own(host, domain, at, event)) {
            observers.iter_mut().for_each(|observer| observer.event(host, domain, at, event));
            self.decide(domain, at, event);
        }
        let Self { host, observers, .. } = self;
        observers.iter_mut().for_each(|observer| observer.handled(host, at, event));
    }

    /// Gives the event to the policy; passes its actions to the observers, and carries them out.
    fn decide(&mut self, domain: u32, at: Time, event: &Event) {
        let Self { host, rules, observers, notify, .. } = self;
        let in_host = Cell::new(false);
        let handled = rules.handle(domain, at, event, &mut |action| {
            observers.iter_mut().for_each(|observer| observer.action(host, domain, at, &action));
            // Resctrl may be slow.
            notify.in_system();
            in_host.set(true);
            host.carry_out(domain, action);
            in_host.set(false);
            notify.in_policy();
        });
        let Err(why) = handled else { return };
        if in_host.get() {
            // The host failed, not the policy, and the state of resctrl is unknown: the next start
            // restores it.
            resume_unwind(why);
        }
        let why = text_of(&*why);
        error!(domain, "the policy has failed, and its last decision stays in force: {why}");
        let watched = &mut *self.watched.lock();
        watched.status.failed = Some(why);
        watched.totals.failed += 1;
    }

    /// Ends the observers, restores everything, and logs what could not be restored. That is an
    /// error, and so is a journal that could not be written.
    pub(super) fn end(mut self, was_ended: bool) -> (Status, EndOfRun, anyhow::Result<()>) {
        self.notify.stopping();
        let mut run = EndOfRun::new(was_ended);
        while let Some(observer) = self.observers.pop() {
            observer.end(&mut run);
        }
        let status = self.watched.lock().status.clone();
        let mut restored = self.host.close();
        let again = self.are_others_left.then(|| open::others_left(&self.config));
        for others in again.into_iter().flatten() {
            match others {
                Ok(Restored { done, left, failed }) => {
                    restored.done.extend(done);
                    restored.left.extend(left);
                    restored.failed.extend(failed);
                }
                Err(why) => {
                    let state = Thing::Ledger(self.config.resctrl.state.clone());
                    restored.failed.push((state, why.to_string()));
                }
            }
        }
        for thing in &restored.done {
            info!("restored {thing}");
        }
        for (thing, why) in &restored.left {
            warn!("left {thing}: {why}");
        }
        for (thing, why) in &restored.failed {
            error!("not restored: {thing}: {why}");
        }
        repeated::write_counts(true);
        let ended = match (restored.failed.is_empty(), run.is_journal_whole) {
            (false, _) => Err("not everything could be restored: fairways restore tries again"),
            (true, false) => Err("the journal is not whole, because it could not be written"),
            (true, true) => Ok(()),
        };
        (status, run, ended.map_err(anyhow::Error::msg))
    }
}

/// The message of a panic, in one line.
pub(super) fn text_of(why: &(dyn Any + Send)) -> String {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| why.downcast_ref::<&str>().copied());
    fairways_core::plain(&text.unwrap_or("it broke off").replace('\n', " "))
}

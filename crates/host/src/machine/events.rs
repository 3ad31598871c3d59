//! What happens.

use std::time::Duration;

use fairways_core::{AppId, Counters, Event, Every, Latencies, Q32, Sample, Time};
use fairways_resctrl::language::{Monitoring, Reading};

use super::domain::Due;
use super::turns;
use super::windows::Window;
use super::{Failure, Host, Means};
use crate::clock::Wait;
use crate::emulated::counters::between;

/// No wait is longer, though nothing is to be looked at for an hour.
const LONGEST: Duration = Duration::from_secs(60);

impl Host {
    /// What happened next, when, and in which domain; `None` once nothing more will happen: it was
    /// [told to stop](Self::stop_when), or [failed](Self::failure).
    pub fn next_event(&mut self) -> Option<(Time, u32, Event)> {
        loop {
            if let Some((domain, event)) = self.due() {
                return Some((self.now, domain, event));
            }
            if let Some(mut turn) = self.turn.take() {
                turn(self);
                self.turn = Some(turn);
            }
            self.take_turns();
            self.collect();
            self.tell_turns();
            if self.rang != Some(self.now) {
                self.look();
            }
            if self.domains.values().all(|domain| domain.due.is_empty()) {
                self.ring();
            }
            if self.domains.values().all(|domain| domain.due.is_empty()) {
                if self.is_over() {
                    return None;
                }
                self.wait();
            }
        }
    }

    /// The next of what happens now.
    fn due(&mut self) -> Option<(u32, Event)> {
        self.domains.retain(|_, domain| !domain.is_gone || !domain.due.is_empty());
        let next = |domain: &mut super::Domain| domain.due.pop();
        let (id, due) = self.domains.iter_mut().find_map(|(&id, of)| Some((id, next(of)?)))?;
        match due {
            Due::Event(event) => Some((id, event)),
            Due::Start(app) => {
                let kind = self.members.get(&app).and_then(|of| self.kinds.get(of.kind?));
                let (wish, profile) =
                    kind.map(|of| (of.wish, of.profile.clone())).unwrap_or_default();
                if let Some(domain) = self.domains.get_mut(&id) {
                    domain.told.push(app);
                }
                Some((id, Event::Started { app, wish, profile }))
            }
            Due::Exit(app) => {
                if let Some(domain) = self.domains.get_mut(&id) {
                    domain.told.retain(|other| *other != app);
                    domain.windows.remove(&app);
                }
                self.forget(app, id);
                Some((id, Event::Exited { app }))
            }
        }
    }

    /// Alarms whose time has come, once nothing else happens now.
    fn ring(&mut self) {
        let now = self.now;
        for domain in self.domains.values_mut() {
            if domain.alarm.rings(now) {
                domain.tell(Event::Woke);
                self.rang = Some(now);
            }
        }
    }

    /// Finds the windows that end now.
    fn collect(&mut self) {
        let ids: Vec<u32> = self.domains.keys().copied().collect();
        for id in ids {
            let Some(domain) = self.domains.get(&id) else { continue };
            for app in domain.told.clone() {
                self.end_window(id, app);
            }
        }
    }

    /// Ends a program's window, if its time has come.
    fn end_window(&mut self, id: u32, app: AppId) {
        let tells = self.clock.tells_instructions();
        let now = self.now;
        let Some(domain) = self.domains.get_mut(&id) else { return };
        let Some(window) = domain.windows.get_mut(&app).filter(|window| window.common.since < now)
        else {
            return;
        };
        let is_due = match window.common.every {
            Every::Time(_) => window.common.ends_at().is_some_and(|end| end <= now),
            Every::Instructions(_) if window.told => false,
            Every::Instructions(_) => tells || window.poll_at <= now,
        };
        if !is_due {
            return;
        }
        let mut to = self.source.read(app, id);
        let end = window.ends_at();
        let is_over = end.zip(to.instructions).is_some_and(|(end, did)| did >= end);
        if window.common.ends_at().is_none() && !is_over {
            if window.go_on(now, &to) {
                let every = window.common.every;
                self.add_bytes(id, app, &mut to);
                self.begin_window(id, app, every, to);
            }
            return;
        }
        let window = *window;
        self.add_bytes(id, app, &mut to);
        let counters = between(&window.common.from, &to);
        self.sampled(id, app, counters, now.since(window.common.since), window.next(now, to));
    }

    /// Tells what a window counted that has ended now, and lets the next follow.
    pub(super) fn sampled(
        &mut self,
        id: u32,
        app: AppId,
        counters: Counters,
        length: Duration,
        next: Window,
    ) {
        let Some(domain) = self.domains.get(&id) else { return };
        let straddled = domain.windows.get(&app).is_some_and(|window| window.common.straddled);
        let (way_bytes, plan) = (domain.way_bytes, domain.plan);
        let held = match &mut self.means {
            Means::Ways(actuator) => actuator.occupancy(app, id),
            Means::Turns(_) => Reading::Unassigned,
        };
        let occupancy = match held {
            Reading::Value(bytes) if way_bytes > 0 => Some(Q32::ratio(bytes, way_bytes)),
            _ => None,
        };
        let sample = Sample { app, counters, occupancy, window: length, plan, straddled };
        let latency = self.members.get_mut(&app).and_then(|of| of.latency.as_mut());
        let answered = latency.and_then(|of| of.take(id));
        let Some(domain) = self.domains.get_mut(&id) else { return };
        domain.windows.insert(app, next);
        domain.tell(Event::Sampled(sample));
        if let Some(answered) = answered {
            domain.tell(Event::Latency(Latencies { app, window: length, answered }));
        }
    }

    /// What a program has counted since it was found.
    pub(super) fn counted(&mut self, domain: u32, app: AppId) -> Counters {
        let mut counters = self.source.read(app, domain);
        self.add_bytes(domain, app, &mut counters);
        counters
    }

    /// Where resctrl counts the bytes that programs move, they are its.
    pub(super) fn add_bytes(&mut self, domain: u32, app: AppId, counters: &mut Counters) {
        let Means::Ways(actuator) = &mut self.means else { return };
        let counts = |of: &Monitoring| of.events.iter().any(|name| name == "mbm_total_bytes");
        if actuator.monitoring().is_some_and(counts) {
            counters.memory_bytes = match actuator.memory_bytes(app, domain) {
                Reading::Value(bytes) => Some(bytes),
                _ => None,
            };
        }
    }

    /// Lets time pass until something may have happened.
    fn wait(&mut self) {
        const FOREVER: Time = Time::from_nanos(u64::MAX);
        self.settle();
        let tells = self.clock.tells_instructions();
        let (mut until, mut about) = (self.stop_at.unwrap_or(FOREVER), self.look_at);
        // Whoever is shown turns may take one that does not come for the end.
        about = about.min(self.now.after(LONGEST));
        if self.rang == Some(self.now) && (about <= self.now || self.is_called) {
            // What there is to see is of the next instant.
            about = self.now.after(Duration::from_nanos(1));
            until = about;
        }
        let mut instructions = Vec::new();
        for domain in self.domains.values() {
            until = domain.alarm.at().map_or(until, |alarm| until.min(alarm));
            for (&app, window) in &domain.windows {
                match (window.common.ends_at(), window.ends_at()) {
                    (Some(end), _) => until = until.min(end),
                    (None, _) if window.told => {}
                    (None, Some(count)) if tells => instructions.push((app, count)),
                    (None, _) => about = about.min(window.poll_by),
                }
            }
        }
        let mut attention = self.programs.attention();
        if self.now < self.heed_at {
            about = about.min(self.heed_at);
            attention.clear();
        }
        let mut fetch: Vec<_> = self.source.attention().into_iter().collect();
        if let Some(scheduler) = self.means.scheduler().filter(|_| !self.members.is_empty()) {
            about = about.min(self.now.after(turns::LOOK));
            fetch.extend(scheduler.attention());
        }
        let wait = Wait {
            until,
            about,
            instructions: &instructions,
            attention: &attention,
            fetch: &fetch,
        };
        match self.clock.wait(&wait) {
            Ok(is_called) => self.is_called |= is_called,
            Err(why) => self.failure = Some(Failure::Clock(why)),
        }
        self.now = self.now.max(self.clock.now());
        if self.clock.was_suspended() {
            self.resume();
        }
        self.fetch();
    }

    /// The machine was suspended: windows begin anew.
    fn resume(&mut self) {
        tracing::info!(target: "fairways::machine", "resumed: windows begin anew");
        (self.look_at, self.others_at) = (self.now, self.now);
        let of = |(&id, domain): (&u32, &super::Domain)| {
            let windows =
                domain.windows.iter().map(move |(&app, window)| (id, app, window.common.every));
            windows.collect::<Vec<_>>()
        };
        let all: Vec<(u32, AppId, Every)> = self.domains.iter().flat_map(of).collect();
        for (id, app, every) in all {
            self.watch(id, app, every);
        }
    }

    /// Begins a window.
    pub(super) fn watch(&mut self, id: u32, app: AppId, every: Every) {
        let is_told = self.domains.get(&id).is_some_and(|domain| domain.told.contains(&app));
        if !is_told {
            return;
        }
        let from = self.counted(id, app);
        self.begin_window(id, app, every, from);
    }

    fn begin_window(&mut self, id: u32, app: AppId, every: Every, from: Counters) {
        if let Some(latency) = self.members.get_mut(&app).and_then(|of| of.latency.as_mut()) {
            latency.take(id);
        }
        let count = match every {
            Every::Time(_) => None,
            Every::Instructions(count) => Some(count.max(1)),
        };
        let told = self.source.report_windows(app, id, count) && count.is_some();
        if let Some(domain) = self.domains.get_mut(&id) {
            let rate = domain.windows.get(&app).map(|of| of.rate).unwrap_or_default();
            let mut window = Window::new(every, self.now, from, rate);
            window.told = told;
            domain.windows.insert(app, window);
        }
    }
}

//! The daemon itself: it opens all parts, reports events to the policies, carries out their
//! actions, and restores everything.

mod reload;

use std::any::Any;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairways_command_kit::moment::Moment;
use fairways_core::{Action, AppId, Counter, Event, Levers, Time};
use fairways_host::emulated::Connection;
use fairways_host::machine::Host;
use fairways_record::status::{self, MachineRecord, Sandbox, Status, UncountedCounter};
use fairways_resctrl_client::{Restored, Thing};
use parking_lot::Mutex;
use tracing::{debug, error, info, warn};

use super::Options;
use super::config::{ClockSource, Config};
use super::control::{Control, Served};
use super::degraded::DegradedSources;
use super::energy;
use super::io_masks;
use super::journals::Journals;
use super::lacking::Lacking;
use super::losses::{DaemonLosses, SharedLosses};
use super::metrics::Metrics;
use super::missing::Missing;
use super::node_features::NodeFeatureFile;
use super::notify::Notify;
use super::nri::{Nri, NriTotals};
use super::open;
use super::plan_outcomes::PlanOutcomes;
use super::profiled::Profiled;
use super::promises;
use super::repeated;
use super::rules::Rules;
use super::seen::OfHost;
use super::settings::Checked;
use super::signals::{Asked, Signals};
use super::unmeasured::Unmeasured;

/// How old what `status` shows may be while the host does not change.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// A host and all that manages it.
pub(super) struct Daemon {
    /// As it was at the start.
    config: Config,
    host: Host,
    rules: Rules,
    pub(super) watched: Arc<Mutex<MachineRecord>>,
    profiled: Option<Profiled>,
    journals: Journals,
    unmeasured: Unmeasured,
    lacking: Lacking,
    /// What became of the plans, for the exit code.
    plans: PlanOutcomes,
    /// `None` if nobody can ask for them, or the policy gives out no ways.
    losses: Option<SharedLosses>,
    notify: Notify,
    /// Serves clients until it is dropped.
    control: Option<Control>,
    metrics: Option<Metrics>,
    /// The plugin of the container runtime, until it is dropped.
    nri: Option<Nri>,
    /// Shared with what the host calls on each turn.
    node_features: Option<Arc<Mutex<NodeFeatureFile>>>,
    emulator: Option<Connection>,
    /// Whether the machine's clock is the host's.
    has_time_of_day: bool,
    /// Whether something could not be restored that a daemon with another lever had left.
    are_others_left: bool,
}

impl Daemon {
    /// Opens all parts, resctrl last: if another part fails, resctrl is unchanged.
    pub(super) fn start(
        checked: Checked,
        sandbox: Sandbox,
        signals: &Signals,
    ) -> anyhow::Result<Self> {
        let mode = checked.mode();
        let Checked { config, rules, duration, is_asked, commit } = checked;
        let watched = Arc::new(Mutex::new(MachineRecord::new(Status {
            schema: status::SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            policy: rules.name().to_owned(),
            mode: mode.to_owned(),
            sandbox,
            ..Status::default()
        })));
        let is_asked = is_asked && !config.dry_run;
        let has_metrics = config.metrics.listen.is_some();
        let has_losses = is_asked && rules.trial.is_none() && !config.schedules();
        let losses = has_losses.then(|| {
            let observes = config.observe || config.counters_only;
            let losses = DaemonLosses::new(has_metrics || config.counters_only, observes);
            SharedLosses::new(losses, Arc::clone(&signals.came))
        });
        let nri_totals = config.kubernetes.nri.then(|| Arc::new(Mutex::new(NriTotals::default())));
        let served = Served {
            watched: Arc::clone(&watched),
            losses: losses.clone(),
            nri: nri_totals.clone(),
        };
        let control = is_asked.then(|| open::control(&config, served.clone())).transpose()?;
        let notify = Notify::start(signals.ends())?;
        let metrics = open::metrics(&config, commit, served, &notify)?;
        let has_time_of_day = config.clock.source == ClockSource::Real;
        let began = has_time_of_day.then(Moment::now);
        let open::Opened { mut host, profiled, emulator, why, are_others_left } =
            open::host(&config)?;
        let ids = host.domains().into_iter().map(|domain| domain.id);
        let journals = Journals::new(&config, &rules, mode, host.scheduler(), began, ids);
        let unmeasured = Unmeasured::new(&config);
        let is_described = is_asked && rules.trial.is_none();
        let node_features = open::node_features(&config).filter(|_| is_described);
        let node_features = node_features.map(|features| Arc::new(Mutex::new(features)));
        let scheduler = host.scheduler();
        {
            let status = &mut watched.lock().status;
            status.scheduler = scheduler.map(str::to_owned);
            status.scheduler_reason = why;
        }
        host.stop_when(Arc::clone(&signals.came));
        if let Some(span) = duration {
            host.stop_at(Time::ZERO.after(span));
        }
        let nri = nri_totals.map(|totals| open::nri(&config, &mut host, totals)).transpose()?;
        let (policy, programs) = (rules.name(), config.program.len());
        match scheduler {
            None => {
                info!(policy, mode, programs, root = %config.resctrl.root.display(), "begun");
            }
            Some(scheduler) => {
                let reason = watched.lock().status.scheduler_reason.clone().unwrap_or_default();
                info!(policy, mode, programs, scheduler, reason, "begun");
            }
        }
        config.not_honoured().iter().for_each(|line| warn!("{line}"));
        let lacking = Lacking::new(&config, &host);
        if let Some(metrics) = &metrics {
            metrics.see()(&host);
            info!(listen = %metrics.at(), "metrics");
        }
        let daemon = Self {
            config,
            host,
            rules,
            watched,
            profiled,
            journals,
            unmeasured,
            lacking,
            plans: PlanOutcomes::default(),
            losses,
            notify,
            control,
            metrics,
            nri,
            node_features,
            emulator,
            has_time_of_day,
            are_others_left,
        };
        daemon.show_uncounted();
        Ok(daemon)
    }

    /// Counts these counters as well, even if that makes them take turns.
    pub(super) fn count_also(&mut self, counters: &[Counter]) {
        self.host.count_also(counters, true);
        self.show_uncounted();
    }

    /// Why nothing could be given out in some domains, if that is so.
    pub(super) fn nothing_free(&self) -> Option<String> {
        self.host.actuator()?.nothing_free()
    }

    fn show_uncounted(&self) {
        let mut uncounted = Vec::new();
        for (counter, why) in self.host.uncounted() {
            uncounted.push(UncountedCounter { counter: counter.name().to_owned(), why });
        }
        self.watched.lock().status.uncounted = uncounted;
    }

    /// Reports events to the policies and carries out their actions until it is time to stop.
    pub(super) fn follow(
        &mut self,
        args: Option<&Options>,
        signals: &Signals,
    ) -> anyhow::Result<()> {
        self.notify.ready(&format!("{} looks after this host", self.rules.name()));
        if let Some(metrics) = &self.metrics {
            metrics.begun();
        }
        let (pulse, see) = (self.notify.pulse(), self.metrics.as_ref().map(Metrics::see));
        let after_each = self.metrics.as_ref().map(Metrics::see);
        let watched = Arc::clone(&self.watched);
        let node_features = self.node_features.clone();
        let (mut were_left, mut degraded) = (false, Vec::new());
        let sources = DegradedSources {
            journals: self.journals.trouble(),
            unmeasured: self.unmeasured.warning(self.rules.name()),
            lacking: self.lacking.line(),
            out_of_sight: open::out_of_sight(),
            nri: self.nri.as_ref().map(Nri::connection),
        };
        let mut missing = Missing::default();
        let mut were_io_masks = false;
        let (mut shown_changes, mut shown_at) = (None, Instant::now());
        let has_signal = Arc::clone(&signals.came);
        self.host.on_turn(move |host| {
            pulse.turns();
            // A container that starts does not wait for what is shown.
            if host.has_announcements() {
                return;
            }
            // The host does not count that a scheduler ends, or that journals or policies fail.
            let is_as_before = shown_changes.replace(host.changes()) == Some(host.changes());
            let is_recent = shown_at.elapsed() < SHOWN_EVERY && !has_signal.load(Ordering::SeqCst);
            if is_as_before && is_recent && host.scheduler().is_none() {
                return;
            }
            shown_at = Instant::now();
            repeated::write_counts(false);
            let left = host.not_managed();
            if were_left || !left.is_empty() {
                watched.lock().status.set_not_managed(&left);
                were_left = !left.is_empty();
            }
            energy::show(host, &watched);
            io_masks::show(host, &watched, &mut were_io_masks);
            if let Some(unmatched) = missing.look(host) {
                let status = &mut watched.lock().status;
                if status.unmatched != unmatched {
                    status.unmatched = unmatched.to_vec();
                }
            }
            let mut now = sources.lines(host);
            now.extend(promises::beyond(&watched.lock().status));
            if now != degraded {
                watched.lock().status.degraded.clone_from(&now);
                degraded = now;
            }
            if let Some(features) = &node_features {
                features.lock().update(&watched.lock().status);
            }
            if let Some(see) = &see {
                see(host);
            }
        });
        loop {
            self.notify.in_system();
            match signals.asked() {
                Some(Asked::End) => break,
                Some(Asked::Reload) => args.into_iter().for_each(|args| self.reload(args)),
                None => {}
            }
            // A client may have asked for losses since; one that asks later ends the wait.
            if let Some(losses) = &self.losses {
                let reads = open::read_by_policy(&self.config);
                if losses.watch(&mut self.host, reads) {
                    self.show_uncounted();
                }
            }
            let Some((at, domain, event)) = self.host.next_event() else {
                if signals.came() {
                    continue;
                }
                break;
            };
            self.notify.in_policy();
            let losses = self.losses.as_ref();
            if let (Some(losses), Event::Machine(_)) = (losses, &event) {
                losses.lock().read_caches(&self.host);
            }
            if losses.is_none_or(|losses| losses.lock().hear(domain, at, &event)) {
                self.hear(domain, at, &event);
                self.decide(domain, at, &event);
            }
            self.journals.settle(at);
            if self.rules.trial.as_ref().is_some_and(|trial| trial.follow(at)) {
                break;
            }
            if let Some(see) = &after_each
                && !matches!(event, Event::Sampled(_) | Event::Latency(_))
            {
                see(&self.host);
            }
        }
        match self.host.failure() {
            Some(why) => Err(anyhow::anyhow!("{why}")),
            None => Ok(()),
        }
    }

    /// Records and logs an event; the policy gets it in [`decide`](Self::decide).
    fn hear(&mut self, domain: u32, at: Time, event: &Event) {
        let name = |app: AppId| self.host.name(app).unwrap_or_default().to_owned();
        let started = match event {
            Event::Started { app, .. } => self.host.name(*app),
            _ => None,
        };
        self.journals.event(domain, at, event, started);
        self.unmeasured.hear(domain, event);
        self.lacking.hear(at, event);
        self.plans.hear(event);
        {
            let watched = &mut *self.watched.lock();
            // No event reports that another scheduler has replaced it.
            watched.status.set_scheduler(self.host.scheduler());
            watched.status.now = self.has_time_of_day.then(Moment::now);
            watched.record_event(domain, at, event, &OfHost(&self.host), name);
            if matches!(event, Event::Started { .. })
                && let Some(missing) = self.host.unmatched()
            {
                // Resctrl may be slow until the next turn, at which all of them are found.
                watched.status.unmatched.retain(|of| missing.iter().any(|at| at.name == of.name));
            }
        }
        match event {
            Event::Cpus(cpus) => {
                self.watched.lock().status.set_cpus(domain, self.host.cpus(domain));
                info!(domain, cpus = cpus.count, quantum = ?cpus.quantum, "threads take turns");
            }
            Event::Machine(_) if self.host.scheduler().is_some() => {}
            Event::Machine(Levers { llc, .. }) => {
                info!(
                    domain,
                    ways = llc.ways.get(),
                    clos = llc.clos,
                    "ways and classes to give out"
                );
                let is_profiled =
                    self.profiled.as_ref().is_none_or(|profiled| profiled.domain(domain, llc.ways));
                if !is_profiled {
                    warn!(domain, ways = llc.ways.get(), "no profile covers this number of ways");
                }
            }
            Event::Started { app, .. } => {
                info!(domain, app = app.0, program = name(*app), "starts");
                if let Some(trial) = &self.rules.trial {
                    trial.named(*app, &name(*app));
                }
                if let Some(profiled) = &self.profiled {
                    profiled.started(domain, *app);
                }
            }
            Event::Exited { app } => {
                info!(domain, app = app.0, "has ended");
                if let Some(profiled) = &self.profiled {
                    profiled.exited(domain, *app);
                }
            }
            Event::Applied { plan, actual } => {
                if let Some(profiled) = &self.profiled {
                    profiled.plan(domain, actual);
                }
                for line in self.watched.lock().status.differences(domain) {
                    warn!(domain, plan = plan.0, "the plan is not fully in force: {line}");
                }
            }
            Event::Refused { plan, why } => warn!(domain, plan = plan.0, "refused: {why}"),
            _ => {}
        }
    }

    /// Gives the event to the policy, and carries out its actions.
    fn decide(&mut self, domain: u32, at: Time, event: &Event) {
        let Self { host, rules, watched, journals, unmeasured, losses, notify, .. } = self;
        let in_host = Cell::new(false);
        let handled = rules.handle(domain, at, event, &mut |action| {
            journals.action(domain, at, &action);
            if let Some(losses) = losses {
                losses.lock().see(domain, &action);
            }
            if let Some(shown) = unmeasured.shown(domain, &action) {
                if let Action::Classified { app, class, reason } = &*shown {
                    debug!(domain, app = app.0, %class, "{reason}");
                }
                watched.lock().record_action(domain, &shown, &OfHost(host));
            }
            // Resctrl may be slow.
            notify.in_system();
            in_host.set(true);
            host.carry_out(domain, action);
            in_host.set(false);
            notify.in_policy();
        });
        let domains = host.domains();
        if domains.len() != watched.lock().status.domains.len() {
            watched.lock().status.keep_domains(|id| domains.iter().any(|domain| domain.id == id));
            if let Some(losses) = losses {
                losses.lock().read_caches(host);
            }
        }
        let Err(why) = handled else { return };
        if in_host.get() {
            // The host failed, not the policy, and the state of resctrl is unknown: the next start
            // restores it.
            resume_unwind(why);
        }
        let why = text_of(&*why);
        error!(domain, "the policy has failed, and its last decision stays in force: {why}");
        let watched = &mut *watched.lock();
        watched.status.failed = Some(why);
        watched.totals.failed += 1;
    }

    /// Why the run managed nothing, where it was to give out ways and no plan was ever in force.
    /// One that a signal ended may have had no time for a plan.
    pub(super) fn without_plan(&self, was_ended: bool) -> Option<String> {
        let Config { observe, dry_run, counters_only, .. } = self.config;
        let gives_none = observe || dry_run || counters_only || self.config.schedules();
        self.plans.failure(was_ended).filter(|_| !gives_none)
    }

    /// Restores everything, and logs what could not be restored. That is an error, and so is a
    /// journal that could not be written.
    pub(super) fn end(self) -> (Status, anyhow::Result<()>) {
        self.notify.stopping();
        if let Some(features) = &self.node_features {
            features.lock().withdraw();
        }
        // Containers that start from now on do not wait for this daemon.
        drop((self.nri, self.control, self.metrics));
        let is_written = self.journals.finish();
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
        let ended = match (restored.failed.is_empty(), is_written) {
            (false, _) => Err("not everything could be restored: fairways restore tries again"),
            (true, false) => Err("the journal is not whole, because it could not be written"),
            (true, true) => Ok(()),
        };
        (status, ended.map_err(anyhow::Error::msg))
    }
}

/// The message of a panic, in one line.
pub(super) fn text_of(why: &(dyn Any + Send)) -> String {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| why.downcast_ref::<&str>().copied());
    fairways_core::plain(&text.unwrap_or("it broke off").replace('\n', " "))
}

//! The daemon starts: it opens all parts, and lists what observes the run.

use std::sync::Arc;

use fairways_command_kit::moment::Moment;
use fairways_core::Time;
use fairways_host::machine::Host;
use fairways_record::status::{self, MachineRecord, Sandbox, Status};
use parking_lot::Mutex;
use tracing::{info, warn};

use super::Daemon;
use crate::config::{ClockSource, Config};
use crate::control::Served;
use crate::degraded::Degraded;
use crate::energy::Energy;
use crate::event_log::LoggedEvents;
use crate::io_masks::IoMaskObserver;
use crate::journals::Journals;
use crate::lacking::Lacking;
use crate::losses::{DaemonLosses, LossObserver, SharedLosses};
use crate::missing::Missing;
use crate::notify::Notify;
use crate::nri::{Nri, NriTotals};
use crate::observer::HostObserver;
use crate::on_trial::OnTrial;
use crate::open;
use crate::pace::TurnPace;
use crate::plan_outcomes::PlanOutcomes;
use crate::recorded::RecordObserver;
use crate::rules::Rules;
use crate::seen::show_uncounted;
use crate::settings::Checked;
use crate::signals::Signals;
use crate::unmeasured::Unmeasured;

impl Daemon {
    /// Opens all parts, resctrl last: if another part fails, resctrl is unchanged.
    pub(crate) fn start(
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
        let losses = losses(&config, &rules, signals).filter(|_| is_asked);
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
        let open::Opened { mut host, invention, emulator, why, are_others_left } =
            open::host(&config)?;
        let ids = host.domains().into_iter().map(|domain| domain.id);
        let journals = Journals::new(&config, &rules, mode, host.scheduler(), began, ids);
        show_scheduler(&host, why, &watched);
        host.stop_when(Arc::clone(&signals.came));
        if let Some(span) = duration {
            host.stop_at(Time::ZERO.after(span));
        }
        let nri = nri_totals.map(|totals| open::nri(&config, &mut host, totals)).transpose()?;
        log_begin(&config, mode, &host, &rules, &watched);
        let lacking = Lacking::new(&config, &host);
        if let Some(metrics) = &metrics {
            metrics.see(&host);
            info!(listen = %metrics.at(), "metrics");
        }
        show_uncounted(&host, &watched);
        let unmeasured = Unmeasured::new(&config);
        let degraded = Degraded {
            watched: Arc::clone(&watched),
            shown: Vec::new(),
            journals: journals.trouble(),
            unmeasured: unmeasured.warning(rules.name()),
            lacking: lacking.line(),
            out_of_sight: open::out_of_sight(),
            nri: nri.as_ref().map(Nri::connection),
        };
        let reads = open::read_by_policy(&config);
        let mut observers = ObserverList::default();
        observers.add(journals);
        observers.add_if_some(
            losses.map(|losses| LossObserver::new(losses, Arc::clone(&watched), reads)),
        );
        observers.add(lacking);
        observers.add_if_some(PlanOutcomes::new(&config));
        observers.add(RecordObserver::new(Arc::clone(&watched), unmeasured, has_time_of_day));
        observers.add(LoggedEvents(Arc::clone(&watched)));
        observers.add_if_some(rules.trial.clone().map(OnTrial::new));
        observers.add_if_some(invention);
        observers.add(Energy(Arc::clone(&watched)));
        observers.add(IoMaskObserver::new(Arc::clone(&watched)));
        observers.add(Missing::new(Arc::clone(&watched)));
        observers.add(degraded);
        // These serve others, and end first.
        observers.add_if_some(metrics);
        observers.add_if_some(control);
        observers.add_if_some(nri);
        let pace = TurnPace::new(Arc::clone(&signals.came));
        Ok(Self {
            config,
            host,
            rules,
            watched,
            observers: observers.0,
            pace,
            notify,
            emulator,
            are_others_left,
        })
    }
}

/// What observes the run, in order.
#[derive(Default)]
struct ObserverList(Vec<Box<dyn HostObserver>>);

impl ObserverList {
    fn add(&mut self, observer: impl HostObserver + 'static) {
        self.0.push(Box::new(observer));
    }

    fn add_if_some(&mut self, observer: Option<impl HostObserver + 'static>) {
        if let Some(observer) = observer {
            self.add(observer);
        }
    }
}

/// The losses that clients can ask for; `None` on trial, and if the policy gives out no ways.
fn losses(config: &Config, rules: &Rules, signals: &Signals) -> Option<SharedLosses> {
    if rules.trial.is_some() || config.schedules() {
        return None;
    }
    let is_wanted = config.metrics.listen.is_some() || config.counters_only;
    let losses = DaemonLosses::new(is_wanted, config.observe || config.counters_only);
    Some(SharedLosses::new(losses, Arc::clone(&signals.came)))
}

/// Shows which scheduler runs, and `why` it was chosen.
fn show_scheduler(host: &Host, why: Option<String>, watched: &Mutex<MachineRecord>) {
    let status = &mut watched.lock().status;
    status.scheduler = host.scheduler().map(str::to_owned);
    status.scheduler_reason = why;
}

/// Logs that the daemon begins, and which requests of owners its policy does not honour.
fn log_begin(
    config: &Config,
    mode: &str,
    host: &Host,
    rules: &Rules,
    watched: &Mutex<MachineRecord>,
) {
    let (policy, programs) = (rules.name(), config.program.len());
    match host.scheduler() {
        None => {
            info!(policy, mode, programs, root = %config.resctrl.root.display(), "begun");
        }
        Some(scheduler) => {
            let reason = watched.lock().status.scheduler_reason.clone().unwrap_or_default();
            info!(policy, mode, programs, scheduler, reason, "begun");
        }
    }
    config.not_honoured().iter().for_each(|line| warn!("{line}"));
}

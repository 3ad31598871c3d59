//! `fairways run` on this host, the daemon. It manages programs under a policy until it is stopped,
//! shows how they are (`fairways status`, metrics), and finally restores everything.
//! `fairways restore` restores what a killed daemon left behind. [`config`] has the configuration.

mod clients;
pub mod config;
mod control;
mod cpu_waits;
mod daemon;
mod degraded;
mod energy;
mod event_log;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzzed;
mod invented;
mod io_masks;
mod journals;
mod lacking;
mod logging;
mod losses;
mod metrics;
mod missing;
mod notify;
mod nri;
mod observer;
mod on_trial;
mod open;
mod options;
mod pace;
mod plan_outcomes;
mod promises;
mod recorded;
mod repeated;
mod report;
mod restore;
mod rules;
mod sampling;
mod sandbox;
mod scheduler;
mod seen;
mod settings;
mod signals;
mod socket;
mod unmatched;
mod unmeasured;

use std::io::Write;
use std::time::Duration;

use fairways_command_kit::{BadInput, Interrupted};
use fairways_core::Counter;
use fairways_record::status::{Status, Totals};
use fairways_record::trial::{Trial, Tried};

use config::Config;
use daemon::Daemon;
use rules::Rules;
use settings::Checked;
use signals::Signals;

pub use invented::{EventFollower, InventedCounters, Inventor, invent_by};
pub use open::{implausible_counts, perf};
pub use options::{Options, Restore};
pub use report::status;
pub use restore::restore;
pub use sampling::can as windows_in_kernel;
pub use scheduler::in_kernel;

/// Manages this host until a signal stops it. Everything is checked before anything is changed.
///
/// # Errors
/// If this host can't do what is configured, not everything could be restored, the journal could
/// not be written, or no plan was ever in force; [`Interrupted`] if SIGINT stopped it.
pub fn run(args: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let shows = |config: &Config| args.json || config.dry_run;
    let Ended { status, signals, shows, without_plan, ended } = look_after(args, None, shows)?;
    if shows {
        report::print(&status, args.json, out)?;
        out.flush()?;
    }
    ended?;
    if let Some(why) = without_plan {
        return Err(anyhow::anyhow!("{why}"));
    }
    if signals.interrupted() { Err(Interrupted.into()) } else { Ok(()) }
}

/// Manages this host until the trial of the policy is over, or a signal stops it.
///
/// # Errors
/// Those of [`run`] except [`Interrupted`], and except that not everything was restored, which
/// [`Tried`] has; and if the policy gives out no ways, or the configuration forbids it to.
pub fn tried(args: &Options, on: Box<dyn Trial>) -> anyhow::Result<Tried> {
    let Ended { status, signals, ended, .. } = look_after(args, Some(on), |_| false)?;
    Ok(Tried { policy: status.policy, interrupted: signals.ended(), ended })
}

/// What [`watch`] observed of programs.
#[derive(Debug)]
pub struct Seen {
    /// Their state at the end.
    pub status: Status,
    /// Their counts.
    pub totals: Totals,
    /// Why no ways could be assigned in some domains, in a line, if so.
    pub nothing_free: Option<String>,
    /// Whether a signal stopped it early.
    pub interrupted: bool,
    /// An error if not everything was restored; the observations count nevertheless.
    pub ended: anyhow::Result<()>,
}

/// Watches the programs of a configuration for `duration`, by these counters beside those that its
/// policy reads. It opens no control socket, since
/// another daemon may listen there.
///
/// # Errors
/// Those of [`run`] except [`Interrupted`], and except that not everything was restored, which
/// [`Seen`] has.
pub fn watch(config: Config, duration: Duration, counters: &[Counter]) -> anyhow::Result<Seen> {
    let rules = Rules::new(&config.policy, serde_json::Map::new())?;
    let (is_asked, commit) = (false, "");
    let checked = Checked { config, rules, duration: Some(duration), is_asked, commit };
    logging::start(checked.config.log)?;
    let signals = Signals::take()?;
    let sandbox = sandbox::enter(&checked.config);
    let mut daemon = Daemon::start(checked, sandbox, &signals)?;
    daemon.count_also(counters);
    let followed = daemon.follow(None, &signals);
    let totals = daemon.watched.lock().totals.clone();
    let nothing_free = daemon.nothing_free();
    let (status, _, ended) = daemon.end(signals.ended());
    followed?;
    Ok(Seen { status, totals, nothing_free, interrupted: signals.ended(), ended })
}

/// A daemon that has ended.
struct Ended {
    status: Status,
    signals: Signals,
    shows: bool,
    /// Why no plan was ever in force, if none was.
    without_plan: Option<String>,
    /// An error if not everything was restored.
    ended: anyhow::Result<()>,
}

fn look_after(
    args: &Options,
    on: Option<Box<dyn Trial>>,
    shows: impl Fn(&Config) -> bool,
) -> anyhow::Result<Ended> {
    let (mut checked, mut counters) = (Checked::new(args)?, Vec::new());
    if let Some(on) = on {
        if checked.mode() != "manage" {
            let wrong = "a trial gives out ways: expected none of --dry-run, --observe and \
                         --counters-only";
            return Err(BadInput(wrong.to_owned()).into());
        }
        if checked.config.schedules() {
            let wrong =
                format!("policy {}: expected one that gives out ways", checked.config.policy);
            return Err(BadInput(wrong).into());
        }
        checked.duration = None;
        // A trial's journal would not show what the policy decides.
        checked.config.journal.file = None;
        counters = on.counters();
        checked.rules.trial = Some(on.into());
    }
    logging::start(checked.config.log)?;
    // From here on a signal ends the daemon only after everything is restored.
    let signals = Signals::take()?;
    let shows = shows(&checked.config);
    // Before reading anything that others can write, and before other threads exist.
    let sandbox = sandbox::enter(&checked.config);
    let mut daemon = Daemon::start(checked, sandbox, &signals)?;
    if !counters.is_empty() {
        daemon.count_also(&counters);
    }
    let followed = daemon.follow(Some(args), &signals);
    let (status, run, ended) = daemon.end(signals.ended());
    followed?;
    Ok(Ended { status, signals, shows, without_plan: run.without_plan, ended })
}

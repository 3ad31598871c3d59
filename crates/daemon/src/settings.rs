//! From flags and files to what the daemon does, checked.

use std::time::Duration;

use fairways_command_kit::input::{number, repeated, span};
use fairways_command_kit::similar::did_you_mean;
use fairways_command_kit::{BadInput, policies};
use fairways_programs::Selector;
use fairways_record::journal::limits;

use super::Options;
use super::rules::Rules;
use crate::config::{self, ClockSource, Config, CounterSource, ProgramConfig};

/// How selectors begin, for whoever misspells one.
const SELECTORS: [&str; 6] = ["cgroup", "unit", "container", "pod", "process", "pid"];

/// A daemon that can be started.
pub(super) struct Checked {
    pub(super) config: Config,
    pub(super) rules: Rules,
    /// How long to run; `None`: until told to stop.
    pub(super) duration: Option<Duration>,
    /// Whether it listens at the control socket.
    pub(super) is_asked: bool,
    /// The commit that it was built of, for metrics.
    pub(super) commit: &'static str,
}

impl Checked {
    /// Reads the configuration, lays the flags over it, and checks all.
    pub(super) fn new(args: &Options) -> Result<Self, BadInput> {
        let config = read(args)?;
        if config.schedules() && needs_emulator(&config) {
            return Err(BadInput(format!(
                "policy {}: expected the real clock, and counters of perf, profiles or none: an emulator's programs take no turns",
                config.policy
            )));
        }
        if let Some(why) = config.missing_need() {
            return Err(BadInput(why));
        }
        let flags = policies::parse(&args.set)?;
        let mut parameters = config.given()?;
        parameters.extend(flags);
        let rules = Rules::new(&config.policy, parameters)?;
        let duration = args.duration.as_ref().map(|text| span(text, "--duration")).transpose()?;
        Ok(Self { config, rules, duration, is_asked: true, commit: args.commit })
    }

    /// What `manage`, `observe` and `dry-run` say of it.
    pub(super) fn mode(&self) -> &'static str {
        match (self.config.dry_run, self.config.observe) {
            (true, _) => "dry-run",
            (false, true) => "observe",
            (false, false) => "manage",
        }
    }
}

/// Whether an emulator's clock or counters are asked for.
fn needs_emulator(config: &Config) -> bool {
    matches!(config.clock.source, ClockSource::Emulator(_))
        || matches!(config.counters.source, CounterSource::Emulator(_))
}

/// The configuration with the flags laid over it.
pub(super) fn read(flags: &Options) -> Result<Config, BadInput> {
    // Lines that are for people who edit the file; here the first one has to do.
    let (mut config, _) = config::load(flags.config.as_deref()).map_err(|errors| {
        let more = errors.len() - 1;
        let more = if more > 0 {
            format!(" (and {more} more: fairways config check)")
        } else {
            String::new()
        };
        BadInput(format!("{}{more}", errors.first().map_or("", String::as_str)))
    })?;
    lay_over(&mut config, flags)?;
    if let Some(policy) = &flags.policy {
        policies::named(policy, "--policy")?;
        config.policy.clone_from(policy);
    }
    if let Some(journal) = &flags.journal {
        config.journal.file = Some(journal.clone());
    }
    let (size, parts) = limits(flags.journal_size.as_deref(), flags.journal_parts.as_deref())?;
    config.journal.size = size.unwrap_or(config.journal.size);
    config.journal.parts = parts.or(config.journal.parts);
    if config.program.is_empty() {
        let said = "expected a program to manage: --program NAME=SELECTOR, or [[program]] in \
                    /etc/fairways/fairways.toml (docs/config.md); or --machine, for a simulated one";
        return Err(BadInput(said.to_owned()));
    }
    Ok(config)
}

fn lay_over(config: &mut Config, flags: &Options) -> Result<(), BadInput> {
    let parse_error = |flag: &str, why: String| BadInput(format!("{flag}: {why}"));
    config.dry_run |= flags.dry_run;
    config.observe |= flags.observe;
    let resctrl = &mut config.resctrl;
    resctrl.root = flags.resctrl_root.clone().unwrap_or(std::mem::take(&mut resctrl.root));
    resctrl.state = flags.state.clone().unwrap_or(std::mem::take(&mut resctrl.state));
    resctrl.take_over |= flags.take_over;
    resctrl.adopt_monitors |= flags.adopt_monitors;
    resctrl.use_shareable |= flags.use_shareable;
    if let Some(ways) = &flags.confine_others {
        resctrl.confine_others = Some(number(ways, "--confine-others", 1, 31)?);
    }
    config.scheduler.kind = flags.scheduler.unwrap_or(config.scheduler.kind);
    if let Some(source) = &flags.counters {
        config.counters.source = source.parse().map_err(|why| parse_error("--counters", why))?;
    }
    if let Some(source) = &flags.clock {
        config.clock.source = source.parse().map_err(|why| parse_error("--clock", why))?;
    }
    if let Some(socket) = &flags.control {
        config.control.socket.clone_from(socket);
    }
    if let Some(listen) = &flags.metrics {
        let listen = listen.parse().map_err(|why| parse_error("--metrics", why))?;
        config.metrics.listen = Some(listen);
    }
    if let Some(target) = flags.log {
        config.log.target = target;
    }
    if let Some(format) = flags.log_format {
        config.log.format = format;
    }
    if let Some(level) = flags.log_level {
        config.log.level = level;
    }
    if let Some(why) = config.log.contradiction() {
        return Err(BadInput(why.to_owned()));
    }
    if !flags.programs.is_empty() {
        let programs = flags.programs.iter().map(|text| program(text));
        config.program = programs.collect::<Result<_, _>>()?;
        let names = config.program.iter().map(|of| of.name.as_str());
        if let Some(name) = repeated(names) {
            let said =
                format!("--program: expected programs of different names, found two {name:?}");
            return Err(BadInput(said));
        }
    }
    Ok(())
}

/// `NAME=SELECTOR`, or `NAME.*=SELECTOR` where every match is a program of its own.
fn program(text: &str) -> Result<ProgramConfig, BadInput> {
    let wrong = |why: &str| BadInput(format!("--program: {why}, found {text:?}"));
    let (name, select) = text.split_once('=').ok_or_else(|| wrong("expected NAME=SELECTOR"))?;
    let (name, each) = name.strip_suffix(".*").map_or((name, false), |name| (name, true));
    let select = select.parse::<Selector>().map_err(|why| {
        let kind = select.split(':').next().unwrap_or_default();
        BadInput(format!("--program: {why}, found {text:?}{}", did_you_mean(kind, SELECTORS)))
    })?;
    if name.is_empty() || name.chars().any(|c| c.is_control() || c == '/' || c == ',') {
        return Err(wrong("expected a name without blanks, commas and slashes"));
    }
    let name = name.to_owned();
    Ok(ProgramConfig { each, ..ProgramConfig::new(name, select) })
}

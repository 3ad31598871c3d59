//! From flags and files to what the daemon does, checked.

use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{number, span};
use fairways_command_kit::similar::did_you_mean;
use fairways_host::programs::Selector;

use super::rules::Rules;
use crate::args::{HostFlags, Run};
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
}

impl Checked {
    /// Reads the configuration, lays the flags over it, and checks all.
    pub(super) fn new(args: &Run) -> Result<Self, BadInput> {
        if let Some(flag) = of_other_machines(args) {
            return Err(BadInput(format!(
                "{flag}: expected --machine with it, which is then no host"
            )));
        }
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
        let flags = fairways_command_kit::policies::parse(&args.of.set)?;
        let mut parameters = config.given()?;
        parameters.extend(flags);
        let rules = Rules::new(&config.policy, parameters)?;
        let duration =
            args.of.duration.as_ref().map(|text| span(text, "--duration")).transpose()?;
        Ok(Self { config, rules, duration, is_asked: true })
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
pub(super) fn read(args: &Run) -> Result<Config, BadInput> {
    let flags = &args.host;
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
    if let Some(policy) = &args.of.policy {
        fairways_command_kit::policies::named(policy, "--policy")?;
        config.policy.clone_from(policy);
    }
    if let Some(journal) = &args.journal {
        config.journal.file = Some(journal.clone());
    }
    let (size, parts) = crate::run::journal_limits(args)?;
    config.journal.size = size.unwrap_or(config.journal.size);
    config.journal.parts = parts.or(config.journal.parts);
    if config.program.is_empty() {
        let said = "expected a program to manage: --program NAME=SELECTOR, or [[program]] in \
                    /etc/fairways/fairways.toml (docs/config.md); or --machine, for a simulated one";
        return Err(BadInput(said.to_owned()));
    }
    Ok(config)
}

fn lay_over(config: &mut Config, flags: &HostFlags) -> Result<(), BadInput> {
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
    if !flags.program.is_empty() {
        let programs = flags.program.iter().map(|text| program(text));
        config.program = programs.collect::<Result<_, _>>()?;
        let names = config.program.iter().map(|of| of.name.as_str());
        if let Some(name) = fairways_command_kit::input::repeated(names) {
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

/// What a host is not asked: the flags that say what a simulated machine is.
fn of_other_machines(args: &Run) -> Option<&'static str> {
    let world = &args.of.world;
    let given = [
        ("--mix", args.of.mix.is_some()),
        ("--profiles", world.profiles.is_some()),
        ("--phases", world.phases.is_some()),
        ("--ways", world.ways.is_some()),
        ("--baselines", world.baselines.is_some()),
        ("--bandwidth-mbps", world.bandwidth_mbps.is_some()),
        ("--time-scale", args.of.time_scale.is_some()),
        ("--known-profiles", args.of.known_profiles),
    ];
    let given = given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag);
    given.or_else(|| args.of.chip.given()).or_else(|| args.of.observation.given())
}

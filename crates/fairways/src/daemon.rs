//! `fairways run` on this host: what the flags ask of the daemon.

use std::io::Write;

use fairways_command_kit::BadInput;
use fairways_daemon::Options;

use crate::args::{HostFlags, Run};

/// Runs the command.
pub(crate) fn run(args: Run, out: &mut dyn Write) -> anyhow::Result<()> {
    fairways_daemon::run(&options(args)?, out)
}

/// What is asked for; what it is worth is checked with the configuration.
pub(crate) fn options(args: Run) -> Result<Options, BadInput> {
    if let Some(flag) = of_other_machines(&args) {
        return Err(BadInput(format!("{flag}: expected --machine with it, which is then no host")));
    }
    let Run { host, of, journal, journal_size, journal_parts, json, .. } = args;
    let HostFlags {
        config,
        program: programs,
        dry_run,
        observe,
        resctrl_root,
        state,
        counters,
        clock,
        scheduler,
        take_over,
        adopt_monitors,
        confine_others,
        use_shareable,
        control,
        metrics,
        log,
        log_format,
        log_level,
    } = host;
    Ok(Options {
        config,
        programs,
        dry_run,
        observe,
        resctrl_root,
        state,
        counters,
        clock,
        scheduler: scheduler.map(Into::into),
        take_over,
        adopt_monitors,
        confine_others,
        use_shareable,
        control,
        metrics,
        log: log.map(Into::into),
        log_format: log_format.map(Into::into),
        log_level: log_level.map(Into::into),
        policy: of.policy,
        set: of.set,
        duration: of.duration,
        journal,
        journal_size,
        journal_parts,
        json,
        commit: env!("FAIRWAYS_HASH"),
    })
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

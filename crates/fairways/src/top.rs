//! `fairways top`: what the flags ask of the view.

use std::io::Write;
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{number, real, span};
use fairways_top::{LONGEST, MakeMachine, Options, Pace, SHORTEST, Target};

use crate::args::Top;
use crate::run::Stepped;

/// Runs the command.
pub(crate) fn run(args: Top, out: &mut dyn Write) -> anyhow::Result<()> {
    fairways_top::run(options(args)?, out)
}

/// What is asked for, checked.
fn options(args: Top) -> Result<Options, BadInput> {
    if args.machine.is_none()
        && let Some(flag) = given(&args)
    {
        return Err(BadInput(format!("{flag}: expected --machine with it")));
    }
    let speed = args.speed.as_ref().map_or(Ok(1.0), |text| real(text, "--speed", 0.001, 1e6))?;
    let interval = args.interval.as_ref().map_or(Ok(Duration::from_secs(1)), |text| {
        let interval = span(text, "--interval")?;
        if (SHORTEST..=LONGEST).contains(&interval) {
            return Ok(interval);
        }
        Err(BadInput(format!("--interval: expected 100ms to 60s, found {text:?}")))
    })?;
    let at = args.at.as_ref().map(|text| span(text, "--at")).transpose()?;
    let size = |text: &Option<String>, flag, most| {
        text.as_ref().map_or(Ok(most), |text| number(text, flag, 1, 1000))
    };
    let (width, height) = (size(&args.width, "--width", 80)?, size(&args.height, "--height", 24)?);
    let Top { control, journal, emulated, machine, no_color, once, of, .. } = args;
    let watch = match (journal, machine, emulated) {
        (Some(file), ..) => Target::Journal { file, at },
        (None, Some(machine), _) => {
            let make: MakeMachine =
                Box::new(move |stop| Ok(Box::new(Stepped::new(&machine, &of, stop)?)));
            Target::Machine { make, kill: fairways_tracer::kill_all }
        }
        (None, None, Some(dir)) => Target::Emulator(dir),
        (None, None, None) => Target::Daemon(control),
    };
    let once = once.then_some((width, height));
    Ok(Options { watch, pace: Pace { speed, interval }, no_color, once })
}

/// The first flag that was given and that only a machine heeds.
fn given(args: &Top) -> Option<&'static str> {
    let of = &args.of;
    let own = [
        ("--mix", of.mix.is_some()),
        ("--policy", of.policy.is_some()),
        ("--set", !of.set.is_empty()),
        ("--duration", of.duration.is_some()),
        ("--time-scale", of.time_scale.is_some()),
        ("--known-profiles", of.known_profiles),
        ("--profiles", of.world.profiles.is_some()),
        ("--phases", of.world.phases.is_some()),
        ("--ways", of.world.ways.is_some()),
        ("--baselines", of.world.baselines.is_some()),
        ("--bandwidth-mbps", of.world.bandwidth_mbps.is_some()),
    ];
    let own = own.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag));
    own.or_else(|| of.chip.given()).or_else(|| of.observation.given())
}

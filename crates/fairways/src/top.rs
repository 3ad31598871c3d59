//! `fairways top`: its options, from the flags.

use std::io::Write;

use fairways_top::{MakeMachine, Options, Pace, Target};

use crate::args::Top;
use crate::run::Stepped;

/// Runs the command.
pub(crate) fn run(args: Top, out: &mut dyn Write) -> anyhow::Result<()> {
    fairways_top::run(options(args), out)
}

/// The view's options.
fn options(args: Top) -> Options {
    let Top { control, journal, emulated, machine, at, no_color, once, of, .. } = args;
    let pace = Pace { speed: args.speed, interval: args.interval };
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
    Options { watch, pace, no_color, once: once.then_some((args.width, args.height)) }
}

//! `fairways run` on this host: the daemon's options, from the flags.

use std::io::Write;

use fairways_daemon::Options;
use fairways_daemon::config::Config;

use crate::args::{Run, set};

/// Runs the command.
pub(crate) fn run(args: Run, out: &mut dyn Write) -> anyhow::Result<()> {
    fairways_daemon::run(&options(args), out)
}

/// The daemon's options; it checks them together with the configuration.
pub(crate) fn options(args: Run) -> Options {
    Options {
        file: args.host.config.clone(),
        parameters: args.of.set.clone(),
        duration: args.of.duration,
        json: args.json,
        commit: env!("FAIRWAYS_HASH"),
        flags: Box::new(move |config| lay_over(&args, config)),
    }
}

fn lay_over(args: &Run, config: &mut Config) {
    args.host.lay_over(config);
    set(&mut config.policy, &args.of.policy.map(|policy| policy.name.to_owned()));
    config.journal.file = args.journal.clone().or(config.journal.file.take());
    set(&mut config.journal.size, &args.journal_size);
    config.journal.parts = args.journal_parts.or(config.journal.parts);
}

//! `fairways restore`: putting back what a daemon that was killed has left.

use std::io::Write;

use fairways_host::actuate::{OpenError, Settings};
use serde_json::json;

use super::status::SCHEMA;
use crate::{ExitCode, args, config, exit};

/// Runs the command. What is left as it is, because others have changed it since, is no failure, and told.
pub(crate) fn restore(args: &args::Restore, out: &mut dyn Write) -> anyhow::Result<()> {
    // Whatever has become of the configuration since, what was left is to be put back.
    let (config, _) = config::load(args.config.as_deref()).unwrap_or_else(|errors| {
        crate::warn(&format!("the usual places hold: {}", errors.join("; ")));
        Default::default()
    });
    let settings = Settings {
        root: args.resctrl_root.clone().unwrap_or(config.resctrl.root),
        state: args.state.clone().unwrap_or(config.resctrl.state),
        ..Settings::default()
    };
    let restored = fairways_host::actuate::restore(&settings).map_err(refused)?;
    if args.json {
        let done: Vec<String> = restored.done.iter().map(ToString::to_string).collect();
        let left = restored.left.iter();
        let left: Vec<_> =
            left.map(|(thing, why)| json!({"what": thing.to_string(), "why": why})).collect();
        let report = json!({"schema": SCHEMA, "restored": done, "left": left});
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)?;
    } else if restored.done.is_empty() && restored.left.is_empty() {
        if !args.quiet {
            writeln!(out, "nothing to restore")?;
        }
    } else {
        write!(out, "{restored}")?;
    }
    Ok(out.flush()?)
}

/// Each kind of refusal has its exit code.
pub(super) fn refused(why: OpenError) -> anyhow::Error {
    let code = match why {
        OpenError::NotSupported(_) => exit::NOT_SUPPORTED,
        OpenError::Busy(_) => exit::BUSY,
        OpenError::Permission(_) => exit::PERMISSION,
        _ => return why.into(),
    };
    crate::fail(&why.to_string(), code);
    ExitCode(code).into()
}

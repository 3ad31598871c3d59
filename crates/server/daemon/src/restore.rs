//! `fairways restore`: restores what a killed daemon has left behind.

use std::io::Write;

use fairways_command_kit::{ExitCode, exit};
use fairways_record::status::SCHEMA;
use fairways_resctrl_client::{OpenError, Restored, Settings, Thing};
use serde_json::{Value, json};

use super::Restore;
use crate::config::{self, Config, Places};

/// Runs the command. It reports what it leaves alone because others have changed it since; that is
/// no failure. What could not be restored is one, and the next run tries it again.
///
/// # Errors
/// If something could not be restored, or resctrl can't be used.
pub fn restore(args: &Restore, out: &mut dyn Write) -> anyhow::Result<()> {
    // A configuration that is wrong by now must not prevent the restoration.
    let places = match config::load(args.config.as_deref()) {
        Ok((Config { resctrl, .. }, _)) => {
            Places { root: Some(resctrl.root), state: Some(resctrl.state), are_known: true }
        }
        Err(errors) => {
            let places = config::places(args.config.as_deref());
            let which = match places.are_known {
                true => "only the places in the configuration are used, which is wrong otherwise",
                false => "places that the configuration names may be missed, as it can't be read",
            };
            fairways_command_kit::warn(&format!("{which}: {}", errors.join("; ")));
            places
        }
    };
    let usual = Settings::default();
    let settings = Settings {
        root: args.resctrl_root.clone().or(places.root).unwrap_or(usual.root.clone()),
        state: args.state.clone().or(places.state).unwrap_or(usual.state.clone()),
        ..usual
    };
    // A ledger that is somewhere else is not restored.
    let is_everything = places.are_known || args.state.is_some();
    let threads = fairways_turns::Settings {
        state: settings.state.clone(),
        ..fairways_turns::Settings::default()
    };
    // One ledger that can't be used must not keep the other from being restored.
    let all =
        [fairways_turns::ledger::restore(&threads), fairways_resctrl_client::restore(&settings)];
    let (mut restored, mut failed) = (Restored::default(), None);
    for one in all {
        match one {
            Ok(Restored { done, left, failed }) => {
                restored.done.extend(done);
                restored.left.extend(left);
                restored.failed.extend(failed);
            }
            Err(why) => failed = Some(why),
        }
    }
    if let Some(why) = failed.take_if(|_| restored == Restored::default()) {
        return Err(refused(why));
    }
    if args.json {
        let done: Vec<String> = restored.done.iter().map(ToString::to_string).collect();
        let (left, failed) = (with_reasons(&restored.left), with_reasons(&restored.failed));
        let report = json!({"schema": SCHEMA, "restored": done, "left": left, "failed": failed});
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)?;
    } else if restored == Restored::default() {
        if !args.quiet {
            writeln!(out, "nothing to restore")?;
        }
    } else {
        write!(out, "{restored}")?;
    }
    out.flush()?;
    if let Some(why) = failed {
        return Err(refused(why));
    }
    if restored.failed.is_empty() && is_everything { Ok(()) } else { Err(ExitCode(1).into()) }
}

fn with_reasons(things: &[(Thing, String)]) -> Vec<Value> {
    things.iter().map(|(thing, why)| json!({"what": thing.to_string(), "why": why})).collect()
}

/// The error for a refusal to open. Each kind has its exit code.
pub(super) fn refused(why: OpenError) -> anyhow::Error {
    let code = match why {
        OpenError::NotSupported(_) => exit::NOT_SUPPORTED,
        OpenError::Busy(_) => exit::BUSY,
        OpenError::Permission(_) => exit::PERMISSION,
        OpenError::Input(_) => exit::USAGE,
        _ => return why.into(),
    };
    let hint = match code {
        exit::NOT_SUPPORTED => "; fairways doctor says what this host can, and what is missing",
        _ => "",
    };
    fairways_command_kit::fail(&format!("{why}{hint}"), code);
    ExitCode(code).into()
}

//! How far a trial is, in a line on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use fairways_core::Time;

use super::found::{Arm, Doing, Found};

/// How far the trial of these policies is, with the time that is left: that of the domain that
/// takes longest. `None` where nothing is under way.
pub(crate) fn progress(found: &Found, policies: &[String], at: Time) -> Option<String> {
    let of = found.domains.values().filter(|domain| !domain.is_over());
    let domain = of.max_by_key(|domain| domain.ends_at)?;
    let policy = match domain.doing {
        Doing::Learning(policy) | Doing::Block { arm: Arm::With(policy), .. } => policy,
        _ => 0,
    };
    let name = policies.get(policy).map_or(found.policy, String::as_str);
    let doing = match domain.doing {
        Doing::Nothing => return None,
        Doing::Learning(_) => format!("{name} decides"),
        Doing::Block { number, of, arm: Arm::With(_) } => {
            format!("block {number} of {of}, with the plan of {name}")
        }
        Doing::Block { number, of, arm: Arm::Without } => {
            format!("block {number} of {of}, without partitioning")
        }
    };
    // A second that has begun is left.
    let left = domain.ends_at.since(at);
    let left = Duration::from_secs(left.as_secs() + u64::from(left.subsec_nanos() > 0));
    Some(format!("{doing}; {} left", humantime::format_duration(left)))
}

/// The line on standard error, if that is a terminal.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine {
    shown: String,
}

impl ProgressLine {
    /// Shows this text in place of what is shown.
    pub(crate) fn show(&mut self, text: &str) {
        let mut terminal = std::io::stderr();
        if self.shown == text || !terminal.is_terminal() {
            return;
        }
        // A terminal that can't be written to is no reason to end a trial.
        let _ = write!(terminal, "\r\x1b[K{text}");
        let _ = terminal.flush();
        text.clone_into(&mut self.shown);
    }
}

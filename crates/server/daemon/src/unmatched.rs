//! Explains why a configured program matches no process.

use fairways_command_kit::plain::plain;
use fairways_command_kit::similar::nearest;
use fairways_programs::{Running, Selector};

/// Why no process matches, and a running program that may have been meant.
pub(crate) fn why(selector: &Selector, running: &Running) -> String {
    let candidates = match selector {
        Selector::Unit(_) => &running.units,
        Selector::UserUnit(_) => &running.user_units,
        Selector::Cgroup(_) => &running.cgroups,
        Selector::Process { .. } => &running.commands,
        Selector::PodsOf { .. } => &running.pods,
        _ => return plain(&format!("no process matches {selector}")),
    };
    let text = selector.to_string();
    let name = match selector {
        Selector::Process { pattern, .. } => pattern,
        _ => text.split_once(':').map_or(text.as_str(), |(_, name)| name),
    };
    let near = nearest(name, candidates.iter().map(String::as_str));
    let near = near.map(|near| format!("; {near} runs")).unwrap_or_default();
    plain(&format!("no process matches {selector}{near}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_pod_is_answered_with_one_that_runs() {
        let pods = ["web/api-1".to_owned()].into();
        let running = Running { pods, ..Running::default() };
        let why = |text: &str| why(&text.parse().unwrap(), &running);
        assert_eq!(why("pod:web/apl-1"), "no process matches pod:web/apl-1; web/api-1 runs");
        assert_eq!(why("container:ab12"), "no process matches container:ab12");
    }
}

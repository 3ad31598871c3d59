//! The outcomes of a run's plans, which determine its exit code.

use fairways_core::{Event, Time};
use fairways_host::machine::Host;

use super::observer::{EndOfRun, HostObserver};
use crate::config::Config;

/// The outcomes of all plans, and whether there were programs to plan for.
#[derive(Debug, Default)]
pub(super) struct PlanOutcomes {
    was_in_force: bool,
    had_programs: bool,
    refused: u64,
    why: String,
}

impl PlanOutcomes {
    /// Follows the plans of a run that is to give out ways; `None` for another one.
    pub(super) fn new(config: &Config) -> Option<Self> {
        let Config { observe, dry_run, counters_only, .. } = *config;
        let gives_none = observe || dry_run || counters_only || config.schedules();
        (!gives_none).then(Self::default)
    }

    /// Takes in an event.
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Started { .. } => self.had_programs = true,
            Event::Applied { .. } => self.was_in_force = true,
            Event::Refused { why, .. } => {
                self.refused += 1;
                self.why = why.to_string();
            }
            _ => {}
        }
    }

    /// Why the run managed nothing, if no plan was ever in force. A run that a signal ended early
    /// may have had no time for one.
    fn failure(&self, was_ended: bool) -> Option<String> {
        let Self { was_in_force, had_programs, refused, why } = self;
        if *was_in_force {
            return None;
        }
        match refused {
            0 => (*had_programs && !was_ended)
                .then(|| "no plan was ever in force: the policy made none".to_owned()),
            refused => Some(format!(
                "no plan was ever in force: {refused} refused, the last one: {why} (the log has the error)"
            )),
        }
    }
}

impl HostObserver for PlanOutcomes {
    fn event(&mut self, _: &Host, _: u32, _: Time, event: &Event) {
        self.hear(event);
    }

    fn end(self: Box<Self>, run: &mut EndOfRun) {
        run.without_plan = self.failure(run.was_ended);
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{AppId, Partition, PartitionError, PlanId, Wish};

    use super::*;

    #[test]
    fn a_run_fails_if_no_plan_was_ever_in_force() {
        let started = Event::Started { app: AppId(0), wish: Wish::default(), profile: None };
        let refused = Event::Refused { plan: PlanId(0), why: PartitionError::Failed };
        let applied = Event::Applied { plan: PlanId(1), actual: Partition::default() };
        for (events, at_its_end, by_signal) in [
            (&[][..], false, false),
            (&[&started], true, false),
            (&[&started, &refused], true, true),
            (&[&started, &refused, &applied], false, false),
            (&[&started, &applied, &refused], false, false),
        ] {
            let mut outcomes = PlanOutcomes::default();
            events.iter().for_each(|event| outcomes.hear(event));
            let fails = [false, true].map(|was_ended| outcomes.failure(was_ended).is_some());
            assert_eq!(fails, [at_its_end, by_signal], "{events:?}");
        }
    }
}

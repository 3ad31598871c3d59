//! One instance of the policy for each domain.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use fairways_command_kit::BadInput;
use fairways_core::{Action, Event, Policy, Time};
use fairways_exec_policy::descriptor;
use fairways_exec_policy::policies;
use fairways_policy::table::OwnerRequest;
use serde_json::{Map, Value};

use fairways_record::trial::Trial;

/// Whether a policy guarantees programs their baselines.
pub(super) fn honours_baselines(policy: &str) -> bool {
    descriptor(policy).is_some_and(|policy| policy.honours(OwnerRequest::Baselines))
}

/// The policies of the domains.
pub(super) struct Rules {
    name: &'static str,
    parameters: Map<String, Value>,
    /// All parameters, with their values.
    pub(super) all: Value,
    domains: BTreeMap<u32, Option<Box<dyn Policy>>>,
    /// Where the policy is on trial.
    pub(super) trial: Option<Rc<dyn Trial>>,
}

impl Rules {
    /// Checks the policy and its parameters.
    ///
    /// # Errors
    /// If there is no such policy or parameter.
    pub(super) fn new(name: &str, parameters: Map<String, Value>) -> Result<Self, BadInput> {
        let (policy, all) = make(name, parameters.clone())?;
        Ok(Self { name: policy.name(), parameters, all, domains: BTreeMap::new(), trial: None })
    }

    /// The policy's name.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Reports an event to a domain's policy. A policy that fails is not called again: its last
    /// decision stays in force.
    ///
    /// # Errors
    /// The panic with which the policy failed, the first time.
    pub(super) fn handle(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        act: &mut dyn FnMut(Action<'_>),
    ) -> std::thread::Result<()> {
        let policy = self.domains.entry(domain).or_insert_with(|| {
            // `new` has made one with the same parameters.
            let made = make(self.name, self.parameters.clone()).ok();
            made.map(|(policy, _)| match &self.trial {
                Some(on) => on.of(domain, policy),
                None => policy,
            })
        });
        let Some(running) = policy else { return Ok(()) };
        let done = catch_unwind(AssertUnwindSafe(|| running.handle(at, event, act)));
        if done.is_err() {
            *policy = None;
        }
        done
    }
}

/// The policy with this name and these parameters, and all parameters. One that is a program runs
/// without this process's rights.
pub(super) fn make(
    name: &str,
    parameters: Map<String, Value>,
) -> Result<(Box<dyn Policy>, Value), BadInput> {
    describe(name)?;
    policies::make(name, parameters)
}

/// Asks a policy that is a program to describe itself. It is started without this process's rights.
pub(super) fn describe(policy: &str) -> Result<(), BadInput> {
    if policies::is_program(policy) {
        fairways_exec_policy::described(policy, true).map_err(BadInput)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fairways_core::{AppId, Wish};

    use super::*;

    #[test]
    fn a_policy_that_fails_is_not_called_again_and_others_are() {
        let mut rules = Rules::new("stock", Map::new()).unwrap();
        let event = Event::Started { app: AppId(0), wish: Wish::default(), profile: None };
        let machine = Event::Machine(
            fairways_core::Llc::with_ways(fairways_core::Ways::new(4).unwrap()).into(),
        );
        for domain in [0, 1] {
            rules.handle(domain, Time::ZERO, &machine, &mut |_| ()).unwrap();
        }
        let failed = rules.handle(0, Time::ZERO, &event, &mut |_| panic!("a test's"));
        assert_eq!(crate::daemon::text_of(&*failed.unwrap_err()), "a test's");
        let mut actions = 0;
        rules.handle(0, Time::ZERO, &event, &mut |_| actions += 1).unwrap();
        assert_eq!(actions, 0);
        rules.handle(1, Time::ZERO, &event, &mut |_| actions += 1).unwrap();
        assert!(actions > 0);
    }

    #[test]
    fn policies_say_whether_they_guarantee_baselines() {
        let all =
            ["dcat", "static", "fairways", "lfoc", "stock", "no-policy"].map(honours_baselines);
        assert_eq!(all, [true, true, true, false, false, false]);
    }
}

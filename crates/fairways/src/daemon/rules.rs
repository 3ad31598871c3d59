//! One instance of the policy for each domain.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fairways_core::{Action, Event, Policy, Time};
use serde_json::{Map, Value};

use crate::{BadInput, policies};

/// The policies of the domains.
pub(super) struct Rules {
    name: &'static str,
    parameters: Map<String, Value>,
    /// All parameters, with their values.
    pub(super) all: Value,
    domains: BTreeMap<u32, Option<Box<dyn Policy>>>,
}

impl Rules {
    /// Checks the policy and its parameters.
    ///
    /// # Errors
    /// If there is no such policy or parameter.
    pub(super) fn new(name: &str, parameters: Map<String, Value>) -> Result<Self, BadInput> {
        let (policy, all) = policies::make(name, parameters.clone())?;
        Ok(Self { name: policy.name(), parameters, all, domains: BTreeMap::new() })
    }

    /// The policy's name.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Tells a domain's policy what happened. One that fails is asked no more: what it decided last holds.
    ///
    /// # Errors
    /// Why it failed, the first time.
    pub(super) fn handle(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        act: &mut dyn FnMut(Action<'_>),
    ) -> Result<(), String> {
        let policy = self.domains.entry(domain).or_insert_with(|| {
            // It was made before with the same parameters.
            policies::make(self.name, self.parameters.clone()).ok().map(|(policy, _)| policy)
        });
        let Some(running) = policy else { return Ok(()) };
        let done = catch_unwind(AssertUnwindSafe(|| running.handle(at, event, act)));
        done.map_err(|why| {
            *policy = None;
            let text = why.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| why.downcast_ref::<&str>().copied());
            text.unwrap_or("it broke off").replace(char::is_control, " ")
        })
    }
}

//! The journals of the domains.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fairways_core::{Action, Event, Time};
use serde_json::{Value, json};

use super::rules::Rules;
use crate::config::Config;
use crate::journal::Writer;
use crate::world::shown;

/// What happens in each domain, written down for `fairways replay`: FILE for the first, FILE.domain-N for others.
pub(super) struct Journals {
    file: Option<PathBuf>,
    limits: (u64, Option<u32>),
    policy: &'static str,
    parameters: Value,
    machine: Value,
    domains: BTreeMap<u32, Writer>,
}

impl Journals {
    pub(super) fn new(config: &Config, rules: &Rules) -> Self {
        let programs: Vec<&str> = config.program.iter().map(|of| of.name.as_str()).collect();
        Self {
            file: config.journal.file.clone(),
            limits: (config.journal.size, config.journal.parts),
            policy: rules.name(),
            parameters: rules.all.clone(),
            machine: json!({
                "kind": "host",
                "resctrl": shown(&config.resctrl.root),
                "counters": config.counters.source.to_string(),
                "clock": config.clock.source.to_string(),
                "programs": programs,
            }),
            domains: BTreeMap::new(),
        }
    }

    pub(super) fn event(&mut self, domain: u32, at: Time, event: &Event) -> anyhow::Result<()> {
        self.of(domain)?.map_or(Ok(()), |of| of.event(at, event))
    }

    pub(super) fn action(
        &mut self,
        domain: u32,
        at: Time,
        action: &Action<'_>,
    ) -> anyhow::Result<()> {
        self.of(domain)?.map_or(Ok(()), |of| of.action(at, action))
    }

    fn of(&mut self, domain: u32) -> anyhow::Result<Option<&mut Writer>> {
        let Some(file) = &self.file else { return Ok(None) };
        if !self.domains.contains_key(&domain) {
            let mut path = file.clone().into_os_string();
            if !self.domains.is_empty() {
                path.push(format!(".domain-{domain}"));
            }
            let mut machine = self.machine.clone();
            machine["domain"] = domain.into();
            let parameters = self.parameters.clone();
            let writer = Writer::create(
                &PathBuf::from(path),
                self.policy,
                parameters,
                machine,
                self.limits,
            )?;
            self.domains.insert(domain, writer);
        }
        Ok(self.domains.get_mut(&domain))
    }
}

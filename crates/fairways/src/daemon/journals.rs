//! The journals of the domains.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fairways_core::{Action, Event, Time};
use serde_json::{Value, json};
use tracing::error;

use super::rules::Rules;
use crate::config::Config;
use crate::journal::Writer;
use crate::world::shown;

/// What happens in each domain, written down for `fairways replay`: FILE for the first, FILE.domain-N for others. One that can't be
/// written any more is given up: programs are looked after all the same.
pub(super) struct Journals {
    file: Option<PathBuf>,
    limits: (u64, Option<u32>),
    policy: &'static str,
    parameters: Value,
    machine: Value,
    domains: BTreeMap<u32, Option<Writer>>,
}

impl Journals {
    /// Begins those of these domains.
    ///
    /// # Errors
    /// If a file can't be made, or there is something already.
    pub(super) fn new(
        config: &Config,
        rules: &Rules,
        scheduler: Option<&str>,
        domains: impl IntoIterator<Item = u32>,
    ) -> anyhow::Result<Self> {
        let programs: Vec<&str> = config.program.iter().map(|of| of.name.as_str()).collect();
        let mut journals = Self {
            file: config.journal.file.clone(),
            limits: (config.journal.size, config.journal.parts),
            policy: rules.name(),
            parameters: rules.all.clone(),
            machine: json!({
                "kind": "host",
                "resctrl": scheduler.is_none().then(|| shown(&config.resctrl.root)),
                "scheduler": scheduler,
                "counters": config.counters.source.to_string(),
                "clock": config.clock.source.to_string(),
                "programs": programs,
            }),
            domains: BTreeMap::new(),
        };
        for domain in domains {
            let writer = journals.begin(domain)?;
            journals.domains.insert(domain, writer);
        }
        Ok(journals)
    }

    fn begin(&self, domain: u32) -> anyhow::Result<Option<Writer>> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut path = file.clone().into_os_string();
        if !self.domains.is_empty() {
            path.push(format!(".domain-{domain}"));
        }
        let mut machine = self.machine.clone();
        machine["domain"] = domain.into();
        let parameters = self.parameters.clone();
        let path = PathBuf::from(path);
        Ok(Some(Writer::create(&path, self.policy, parameters, machine, self.limits)?))
    }

    pub(super) fn event(&mut self, domain: u32, at: Time, event: &Event, name: Option<&str>) {
        self.write(domain, |writer| writer.event(at, event, name));
    }

    pub(super) fn action(&mut self, domain: u32, at: Time, action: &Action<'_>) {
        self.write(domain, |writer| writer.action(at, action));
    }

    fn write(&mut self, domain: u32, write: impl FnOnce(&mut Writer) -> anyhow::Result<()>) {
        if self.file.is_none() {
            return;
        }
        if !self.domains.contains_key(&domain) {
            let writer = self.begin(domain).unwrap_or_else(|why| {
                error!(domain, "no journal: {why:#}");
                None
            });
            self.domains.insert(domain, writer);
        }
        let Some(journal) = self.domains.get_mut(&domain) else { return };
        if let Some(writer) = journal
            && let Err(why) = write(writer)
        {
            error!(domain, "the journal is given up: {why:#}");
            *journal = None;
        }
    }

    /// Writes out what is still held back.
    pub(super) fn finish(self) {
        for writer in self.domains.into_values().flatten() {
            if let Err(why) = writer.finish() {
                error!("journal: {why:#}");
            }
        }
    }
}

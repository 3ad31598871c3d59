//! The journals of the domains.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairways_command_kit::input::shown;
use fairways_command_kit::moment::Moment;
use fairways_command_kit::plain::plain;
use fairways_core::{Action, Event, Time};
use fairways_host::machine::Host;
use fairways_record::journal::{Start, Writer};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing::error;

use super::observer::{EndOfRun, HostObserver};
use super::rules::Rules;
use crate::config::Config;

/// The longest time after an event, by the machine's clock, until it is in the file. Decisions
/// about ways are written at once.
const LATEST: Duration = Duration::from_millis(500);

/// Records what happens in each domain for `fairways replay`: in FILE for the first domain, in
/// FILE.domain-N for the others. A journal that can't be written is given up: this is logged at
/// once, shown by `status`, and reported on exit. The daemon goes on managing programs.
pub(super) struct Journals {
    file: Option<PathBuf>,
    limits: (u64, Option<u32>),
    policy: &'static str,
    parameters: Value,
    machine: Value,
    domains: BTreeMap<u32, Option<Writer>>,
    /// When the journals were last written to their files, and whether a plan was made since.
    written: Time,
    is_decided: bool,
    trouble: Arc<Mutex<Vec<String>>>,
}

impl Journals {
    /// Begins the journals of these domains, after the parts that earlier daemons wrote. `began` is
    /// the time of day at which the clock was 0, if the clock has a time of day.
    pub(super) fn new(
        config: &Config,
        rules: &Rules,
        mode: &str,
        scheduler: Option<&str>,
        began: Option<Moment>,
        domains: impl IntoIterator<Item = u32>,
    ) -> Self {
        let programs: Vec<&str> = config.program.iter().map(|of| of.name.as_str()).collect();
        let mut journals = Self {
            file: config.journal.file.clone(),
            limits: (config.journal.size, config.journal.parts),
            policy: rules.name(),
            parameters: rules.all.clone(),
            machine: json!({
                "kind": "host",
                "mode": mode,
                "resctrl": scheduler.is_none().then(|| shown(&config.resctrl.root)),
                "scheduler": scheduler,
                "counters": config.counters.source.to_string(),
                "clock": config.clock.source.to_string(),
                "began": began,
                "programs": programs,
            }),
            domains: BTreeMap::new(),
            written: Time::ZERO,
            is_decided: false,
            trouble: Arc::default(),
        };
        for domain in domains {
            journals.begin(domain);
        }
        journals
    }

    /// A line for each journal that could not be written; lines are added while the daemon runs.
    pub(super) fn trouble(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.trouble)
    }

    fn begin(&mut self, domain: u32) {
        let writer = self.writer(domain).unwrap_or_else(|why| {
            self.fails(domain, &format!("no journal is written: {why:#}"));
            None
        });
        self.domains.insert(domain, writer);
    }

    fn fails(&self, domain: u32, why: &str) {
        error!(domain, "{why}");
        self.trouble.lock().push(plain(why));
    }

    fn writer(&self, domain: u32) -> anyhow::Result<Option<Writer>> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut path = file.clone().into_os_string();
        if !self.domains.is_empty() {
            path.push(format!(".domain-{domain}"));
        }
        let mut machine = self.machine.clone();
        machine["domain"] = domain.into();
        let parameters = self.parameters.clone();
        let path = PathBuf::from(path);
        let (policy, limits) = (self.policy, self.limits);
        Ok(Some(Writer::create(&path, policy, parameters, machine, limits, Start::GoOn)?))
    }

    /// Writes the journals to their files if a plan was decided or it is time, so that nothing is
    /// lost if this process is killed.
    fn settle(&mut self, at: Time) {
        if self.file.is_none() || !self.is_decided && at.since(self.written) < LATEST {
            return;
        }
        (self.written, self.is_decided) = (at, false);
        self.flush();
    }

    fn flush(&mut self) {
        let domains: Vec<u32> = self.domains.keys().copied().collect();
        domains.into_iter().for_each(|domain| self.write(domain, Writer::flush));
    }

    fn write(&mut self, domain: u32, write: impl FnOnce(&mut Writer) -> anyhow::Result<()>) {
        if self.file.is_none() {
            return;
        }
        if !self.domains.contains_key(&domain) {
            self.begin(domain);
        }
        let Some(journal) = self.domains.get_mut(&domain) else { return };
        if let Some(writer) = journal
            && let Err(why) = write(writer)
        {
            *journal = None;
            self.fails(domain, &format!("the journal is given up: {why:#}"));
        }
    }
}

impl HostObserver for Journals {
    fn event(&mut self, host: &Host, domain: u32, at: Time, event: &Event) {
        let started = match event {
            Event::Started { app, .. } => host.name(*app),
            _ => None,
        };
        self.write(domain, |writer| writer.write_event(at, event, started));
    }

    fn action(&mut self, _: &Host, domain: u32, at: Time, action: &Action<'_>) {
        self.is_decided |= matches!(action, Action::Partition { .. });
        self.write(domain, |writer| writer.write_action(at, action));
    }

    fn handled(&mut self, _: &Host, at: Time, _: &Event) {
        self.settle(at);
    }

    /// Writes what is still buffered.
    fn end(mut self: Box<Self>, run: &mut EndOfRun) {
        self.flush();
        run.is_journal_whole = self.trouble.lock().is_empty();
    }
}

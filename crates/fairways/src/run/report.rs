//! What happens, a line each.

use std::collections::HashMap;
use std::io::{self, Write};

use fairways_core::{Action, AppId, Event, Time, Ways};
use fairways_policy::{kpart, lfoc};

use super::machine::Running;
use super::settings::Checked;
use crate::partition::{bar, members};

/// Tells what happens as it happens.
pub(super) struct Report<'a> {
    out: &'a mut dyn Write,
    ways: Ways,
    /// The names of the mix's programs.
    names: Vec<String>,
    /// Which of them each app is.
    programs: HashMap<AppId, usize>,
    /// Who is being sampled.
    sampled: Option<AppId>,
}

impl<'a> Report<'a> {
    pub(super) fn new(checked: &Checked, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            ways: checked.ways(),
            names: checked.names(),
            programs: HashMap::new(),
            sampled: None,
        }
    }

    /// The app, and which program it is.
    fn name(&self, app: AppId) -> String {
        let program = self.programs.get(&app).and_then(|&index| self.names.get(index));
        format!("{} {}", app.0, program.map_or("", String::as_str))
    }

    pub(super) fn event(&mut self, at: Time, event: &Event, machine: &Running) -> io::Result<()> {
        match event {
            Event::Machine(llc) => {
                let (ways, least, clos) = (llc.ways, llc.min_ways(), llc.clos);
                writeln!(
                    self.out,
                    "{at:>11}  a cache of {ways} ways, {clos} classes of service, {least} at least a mask"
                )
            }
            Event::Started { app, .. } => {
                self.programs.extend(machine.job(*app).map(|job| (*app, job)));
                writeln!(self.out, "{at:>11}  {} starts", self.name(*app))
            }
            Event::Exited { app } => {
                writeln!(self.out, "{at:>11}  {} has finished", self.name(*app))
            }
            Event::Refused { plan, why } => {
                writeln!(self.out, "{at:>11}  plan {} is refused: {why}", plan.0)
            }
            Event::Sampled(_) | Event::Woke => Ok(()),
        }
    }

    pub(super) fn action(&mut self, at: Time, action: &Action<'_>) -> io::Result<()> {
        match action {
            Action::Partition { partition, reason, .. }
                if [lfoc::SAMPLING, kpart::SAMPLING].contains(reason) =>
            {
                let app = partition.places().first().map(|place| place.app);
                if self.sampled == app {
                    return Ok(());
                }
                self.sampled = app;
                let name = app.map_or(String::new(), |app| self.name(app));
                writeln!(self.out, "{at:>11}  {name} is sampled")
            }
            Action::Partition { plan, partition, reason } => {
                self.sampled = None;
                let bar = bar(partition, self.ways);
                let members = members(partition);
                writeln!(self.out, "{at:>11}  plan {} {bar}  {members}  ({reason})", plan.0)
            }
            Action::Classified { app, class, reason } => {
                writeln!(self.out, "{at:>11}  {} is {class}: {reason}", self.name(*app))
            }
            Action::Watch { .. } | Action::Wake { .. } => Ok(()),
        }
    }
}

//! What a program must know that is started again.

use std::collections::BTreeMap;

use fairways_core::{AppId, Event};

/// The machine, and the programs on it.
#[derive(Debug, Default)]
pub(crate) struct Present {
    machine: Option<Event>,
    cpus: Option<Event>,
    /// How each program started, with what its owner wishes now.
    programs: BTreeMap<AppId, Event>,
}

impl Present {
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Machine(_) => self.machine = Some(event.clone()),
            Event::Cpus(_) => self.cpus = Some(event.clone()),
            Event::Started { app, .. } => {
                self.programs.insert(*app, event.clone());
            }
            Event::Wished { app, wish: new } => {
                if let Some(Event::Started { wish, .. }) = self.programs.get_mut(app) {
                    *wish = *new;
                }
            }
            Event::Exited { app } => {
                self.programs.remove(app);
            }
            _ => {}
        }
    }

    /// Checks that an action of this kind is about a program that runs.
    pub(crate) fn check(&self, app: AppId, kind: &str) -> Result<(), String> {
        match self.programs.contains_key(&app) {
            true => Ok(()),
            false => Err(format!("{kind}: expected a program that runs, found {app}")),
        }
    }

    /// The events that report it.
    pub(crate) fn events(&self) -> Vec<Event> {
        let machine = self.machine.iter().chain(&self.cpus);
        machine.chain(self.programs.values()).cloned().collect()
    }
}

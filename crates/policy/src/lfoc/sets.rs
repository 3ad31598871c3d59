//! ST, CS and LS: which programs are of which class.

use alloc::vec::Vec;

use fairways_core::{AppId, Curve, Llc, Profile};

use super::{Class, Parameters, classify};
use crate::slowdown::slowdown_table;

/// The programs by class: ST, CS and LS of the paper, and those of unknown class, each in the
/// order in which they started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    pub(crate) streaming: Vec<AppId>,
    pub(crate) sensitive: Vec<AppId>,
    /// The slowdown table of each sensitive program.
    pub(crate) slowdowns: Vec<Curve>,
    pub(crate) light: Vec<AppId>,
    pub(crate) unknown: Vec<AppId>,
}

impl Sets {
    pub(crate) fn clear(&mut self) {
        self.streaming.clear();
        self.sensitive.clear();
        self.slowdowns.clear();
        self.light.clear();
        self.unknown.clear();
    }

    /// Classifies a program.
    pub(crate) fn learn(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        app: AppId,
        profile: Option<&Profile>,
    ) {
        let Some(profile) = profile else {
            self.unknown.push(app);
            return;
        };
        match classify(profile, llc.ways, p) {
            Class::Streaming => self.streaming.push(app),
            Class::Light => self.light.push(app),
            Class::Sensitive => {
                self.sensitive.push(app);
                self.slowdowns.push(slowdown_table(&profile.ipc, llc.ways, p.reference));
            }
        }
    }

    pub(crate) fn forget(&mut self, app: AppId) {
        if let Some(index) = self.sensitive.iter().position(|&other| other == app) {
            self.sensitive.remove(index);
            self.slowdowns.remove(index);
            return;
        }
        for set in [&mut self.streaming, &mut self.light, &mut self.unknown] {
            set.retain(|&other| other != app);
        }
    }
}

//! ST, CS and LS: the programs of each class.

use alloc::vec::Vec;

use fairways_core::{AppId, Curve, Llc};

use super::Parameters;
use super::classify::{Class, KnownCurves, class_of, critical_size};
use crate::slowdown::slowdown_table;

/// The programs by class: ST, CS and LS of the paper, and those of unknown class. Each set is in
/// the order of the ids, in which programs started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    pub(crate) streaming: Vec<AppId>,
    pub(crate) sensitive: Vec<AppId>,
    /// The slowdown table of each sensitive program.
    pub(crate) slowdowns: Vec<Curve>,
    /// Its critical size in ways.
    pub(crate) critical: Vec<u32>,
    pub(crate) light: Vec<AppId>,
    /// Grows whenever sensitive programs, or those of unknown class, come, go or change.
    pub(crate) version: u64,
    pub(crate) unknown: Vec<AppId>,
}

impl Sets {
    pub(crate) fn clear(&mut self) {
        self.version += 1;
        self.streaming.clear();
        self.sensitive.clear();
        self.slowdowns.clear();
        self.critical.clear();
        self.light.clear();
        self.unknown.clear();
    }

    /// Classifies a program; without curves it is of unknown class.
    pub(crate) fn learn(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        app: AppId,
        known: Option<KnownCurves<'_>>,
    ) -> Option<Class> {
        let class = known.map(|known| class_of(known, llc.ways, p));
        self.version += u64::from(matches!(class, None | Some(Class::Sensitive)));
        let set = match class {
            None => &mut self.unknown,
            Some(Class::Streaming) => &mut self.streaming,
            Some(Class::Light) => &mut self.light,
            Some(Class::Sensitive) => &mut self.sensitive,
        };
        // The order in which programs were classified does not matter.
        let place = set.partition_point(|&other| other < app);
        set.insert(place, app);
        if let (Some(Class::Sensitive), Some(known)) = (class, known) {
            let slowdowns = slowdown_table(known.ipc, llc.ways, known.reference);
            self.critical.insert(place, critical_size(&slowdowns, llc.ways, p));
            self.slowdowns.insert(place, slowdowns);
        }
        class
    }

    pub(crate) fn forget(&mut self, app: AppId) {
        for set in [&mut self.light, &mut self.streaming] {
            if let Some(index) = set.iter().position(|&other| other == app) {
                remove(set, index);
                return;
            }
        }
        self.version += 1;
        if let Some(index) = self.sensitive.iter().position(|&other| other == app) {
            remove(&mut self.sensitive, index);
            remove(&mut self.slowdowns, index);
            remove(&mut self.critical, index);
            return;
        }
        self.unknown.retain(|&other| other != app);
    }
}

/// Removes an entry, which is not copied out: tables are large.
fn remove<T: Copy>(entries: &mut Vec<T>, index: usize) {
    entries.copy_within(index + 1.., index);
    entries.truncate(entries.len() - 1);
}

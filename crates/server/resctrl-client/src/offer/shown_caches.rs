//! What resctrl shows on a host where nothing may change: the caches, and the ways that programs
//! may fill. Nothing is written, and no lock is taken.

use std::collections::HashMap;

use fairways_core::{CpuSet, Llc, WayMask, Ways};
use fairways_linux::status;
use fairways_linux::topology::{Topology, listed};

use super::domain::Domain;
use super::survey::Survey;
use crate::error::Error;
use crate::settings::Settings;
use crate::tree::schemata::masks_in;
use crate::tree::{Tree, of};

/// A mounted resctrl that is read only.
#[derive(Debug)]
pub struct ShownCaches {
    tree: Tree,
    settings: Settings,
    topology: Topology,
    survey: Survey,
    /// The threads of classes besides the root's, each with its class's number in the survey.
    threads: HashMap<i32, usize>,
    /// The CPUs of such classes.
    cpus: Vec<(CpuSet, usize)>,
}

impl ShownCaches {
    /// The resctrl mounted at the settings' root; `None` if none is, or it shows no ways of the
    /// last-level cache.
    #[must_use]
    pub fn open(settings: &Settings) -> Option<Self> {
        let tree = Tree::open(&settings.root).ok()?;
        let none = Topology::default();
        let survey = Survey::read(&tree, settings, &none, None, &|_| false).ok()??;
        let (threads, cpus) = (HashMap::new(), Vec::new());
        let topology = Topology::of_level(survey.level());
        let mut shown = Self { tree, settings: settings.clone(), topology, survey, threads, cpus };
        // Ways of an L2 below an L3 have nothing to do with misses of the last-level cache.
        let mut last = Topology::default();
        last.refresh(&settings.sysfs);
        let is_last = shown.survey.level() == 3 || last.ids().next().is_none();
        (is_last && shown.look().is_ok()).then_some(shown)
    }

    /// Whether this is still what is mounted there.
    #[must_use]
    pub fn is_mounted(&self) -> bool {
        self.tree.is_mounted()
    }

    /// Reads everything again. If that fails, the previous reading stays.
    ///
    /// # Errors
    /// If a file can't be read.
    pub fn look(&mut self) -> Result<(), Error> {
        let Self { tree, settings, topology, survey, .. } = self;
        let survey = Survey::read(tree, settings, topology, Some(survey), &|_| false)?;
        let Some(survey) = survey else {
            return Err(Error::Unmounted { root: settings.root.clone() });
        };
        let (mut threads, mut cpus) = (HashMap::new(), Vec::new());
        for (number, class) in survey.foreign.iter().enumerate() {
            let inside = tree.members(&class.name)?;
            threads.extend(inside.into_iter().map(|thread| (thread, number)));
            match tree.read(&of(&class.name, "cpus_list")) {
                Err(error) if error.is_gone() => {}
                text => cpus.push((listed(&text?), number)),
            }
        }
        cpus.retain(|(cpus, _)| !cpus.is_empty());
        self.topology.refresh(&settings.sysfs);
        (self.survey, self.threads, self.cpus) = (survey, threads, cpus);
        Ok(())
    }

    /// The caches, each with all its ways.
    #[must_use]
    pub fn domains(&self) -> Vec<Domain> {
        let cache = self.survey.cache.mask;
        let Some(ways) = Ways::new(cache.count()) else { return Vec::new() };
        let llc = Llc { clos: 1, ..Llc::with_ways(ways) };
        let found = self.survey.domains.iter().map(|found| Domain {
            id: found.id,
            cache_id: found.id,
            node: None,
            llc,
            bandwidth: None,
            cache,
            way_bytes: found.way_bytes,
            ways: (0..32).filter(|&way| cache.contains(way)).collect(),
            cpus: self.topology.cpus_of(found.id),
        });
        found.collect()
    }

    /// The ways of a domain that these threads may fill, by their classes and those of their CPUs;
    /// `None` if that is all of them, or unknown.
    #[must_use]
    pub fn limit(&self, threads: &[i32], domain: u32) -> Option<WayMask> {
        let root = masks_in(&self.survey.root, self.survey.sides);
        let root = root.iter().filter(|((_, id), _)| *id == domain);
        let root = root.fold(0, |all, (_, mask)| all | mask.bits());
        let all = threads.iter().map(|&thread| self.mask_of(thread, domain, root));
        let all = all.reduce(|all, mask| all | mask).unwrap_or(root);
        let is_limited = all != 0 && all != self.survey.cache.mask.bits();
        is_limited.then_some(WayMask::from_bits(all))
    }

    /// The ways that a thread may fill, if the root's class has these.
    fn mask_of(&self, thread: i32, domain: u32, root: u32) -> u32 {
        let of_class = |number: usize| {
            let class = self.survey.foreign.get(number);
            class.and_then(|class| class.masks.get(&domain)).map_or(0, |mask| mask.bits())
        };
        if let Some(&number) = self.threads.get(&thread) {
            return of_class(number);
        }
        if self.cpus.is_empty() {
            return root;
        }
        // A thread of the root's group has the class of the CPU that it runs on.
        let may = status::text(&self.settings.proc, thread).and_then(|text| status::cpus(&text));
        let Some(may) = may else { return root };
        let (mut mask, mut others) = (0, CpuSet::new());
        for (cpus, number) in &self.cpus {
            others = others.union(cpus);
            if !cpus.intersection(&may).is_empty() {
                mask |= of_class(*number);
            }
        }
        if may.is_subset(&others) { mask } else { mask | root }
    }
}

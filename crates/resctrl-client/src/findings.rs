//! The findings of the last look, and what they leave to offer to policies.

use fairways_linux::topology::Topology;
use fairways_resctrl::language::CountedTraffic;

use super::counters::{read_traffic, say_filtered};
use super::domain::{Cap, Domain, Offers};
use super::error::Error;
use super::settings::Settings;
use super::survey::Survey;
use super::tree::Tree;

/// A survey, and what follows from it.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) survey: Survey,
    topology: Topology,
    pub(super) offers: Offers,
    /// The cap, where fewer classes are available than counted.
    pub(super) cap: Option<Cap>,
    pub(super) domains: Vec<Domain>,
    /// How memory traffic is counted.
    pub(super) traffic: CountedTraffic,
}

impl Findings {
    /// The findings of the first survey.
    ///
    /// # Errors
    /// [`Error::Busy`] if it leaves nothing to offer; if `info` can't be read.
    pub(super) fn new(survey: Survey, settings: &Settings, tree: &Tree) -> Result<Self, Error> {
        let offers = Offers::find(&survey, settings, None)?;
        let mut topology = Topology::default();
        topology.refresh(&settings.sysfs);
        let domains = offers.domains(&survey, tree, &topology);
        let traffic = read_traffic(tree, &survey)?;
        say_filtered(&traffic);
        Ok(Self { survey, topology, offers, cap: None, domains, traffic })
    }

    /// Replaces the survey by a newer one. Returns whether the domains have changed.
    pub(super) fn renew(
        &mut self,
        survey: Survey,
        offers: Offers,
        settings: &Settings,
        tree: &Tree,
    ) -> bool {
        self.topology.refresh(&settings.sysfs);
        let domains = offers.domains(&survey, tree, &self.topology);
        let have_changed = domains != self.domains;
        (self.survey, self.offers, self.domains) = (survey, offers, domains);
        have_changed
    }

    /// The domain with this id, if anything of it is offered.
    pub(super) fn domain(&self, id: u32) -> Option<&Domain> {
        self.domains.iter().find(|domain| domain.id == id)
    }
}

//! The table of policies: how users see each policy, what it needs, its parameters, and a function
//! that makes it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use fairways_core::{Counter, Policy};

use crate::parameter::{Parameter, ParameterSet, Value};

/// A policy as users know it.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The name by which users select it.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The paper; empty where there is none.
    pub paper: &'static str,
    /// What it decides.
    pub decides: DecisionScope,
    /// Where its knowledge of programs comes from.
    pub knows: KnowledgeSource,
    /// Which requests of a program's owner it honours ([`fairways_core::Wish`]).
    pub honours: &'static [OwnerRequest],
    /// The counters that it reads. A host counts only these for it, so that they need not take
    /// turns on the processor's few counters.
    pub counters: &'static [Counter],
    /// The needs without which it learns nothing, or sets nothing.
    pub needs: &'static [PolicyNeed],
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The function that makes it.
    pub make: Make,
}

/// A function that makes a policy from the parameters that are set.
pub type MakeFn = dyn Fn(&[(&str, Value<'static>)]) -> ConfiguredPolicy + Send + Sync;

/// How a policy is made.
#[derive(Clone, Copy)]
pub struct Make(&'static MakeFn);

impl Make {
    /// Makes it with this function.
    #[must_use]
    pub const fn new(function: &'static MakeFn) -> Self {
        Self(function)
    }
}

impl fmt::Debug for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionScope {
    /// Nothing.
    Nothing,
    /// Which ways programs may fill.
    Ways,
    /// Which ways programs may fill, and how much memory bandwidth they may use.
    WaysAndBandwidth,
    /// How much memory bandwidth programs may use.
    Bandwidth,
    /// Where and when threads run; the machine must let programs take turns.
    Turns,
}

/// Where a policy's knowledge of programs comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnowledgeSource {
    /// It uses none.
    Nothing,
    /// From profiles that were measured before they started.
    Profiles,
    /// From counters while they run.
    Counters,
    /// From counters under different numbers of ways: it learns nothing if its plans are not
    /// carried out.
    OtherWays,
    /// From the latencies of their answers.
    Latencies,
    /// From counters of threads that run together.
    Threads,
}

/// A request that the owner of a program can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerRequest {
    /// [`fairways_core::Wish::baseline_ways`].
    Baselines,
    /// [`fairways_core::Wish::objective`].
    Objectives,
    /// [`fairways_core::Wish::best_effort`].
    BestEffort,
    /// [`fairways_core::Wish::importance`].
    Importance,
}

/// What a policy on counters needs; without it, it leaves all programs as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyNeed {
    /// A counter of programs.
    Counter(Counter),
    /// How much of the cache programs occupy.
    Occupancy,
    /// A lever of memory bandwidth.
    Bandwidth,
}

impl PolicyNeed {
    /// Its name, for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter(counter) => counter.name(),
            Self::Occupancy => "occupancy",
            Self::Bandwidth => "a limit of memory bandwidth",
        }
    }
}

/// A policy with all its parameters.
pub struct ConfiguredPolicy {
    /// The policy.
    pub policy: Box<dyn Policy>,
    /// Its parameters, in the order of the table.
    pub parameters: Vec<(&'static str, Value<'static>)>,
}

impl Descriptor {
    /// A descriptor with a name, a summary, and how the policy is made from its parameters. The
    /// other fields have defaults.
    pub(crate) const fn new<P: ParameterSet>(
        name: &'static str,
        summary: &'static str,
        make: &'static MakeFn,
    ) -> Self {
        let (decides, knows) = (DecisionScope::Ways, KnowledgeSource::Nothing);
        let (parameters, make) = (P::TABLE, Make::new(make));
        let (honours, counters, needs) = (&[], &[], &[]);
        Self {
            name,
            summary,
            paper: "",
            decides,
            knows,
            honours,
            counters,
            needs,
            parameters,
            make,
        }
    }

    /// Makes the policy with these parameters, read by [`Parameter::read`]; the others have their
    /// defaults.
    #[must_use]
    pub fn make(&self, settings: &[(&str, Value<'static>)]) -> ConfiguredPolicy {
        (self.make.0)(settings)
    }

    /// The parameter of this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Whether the policy honours this request.
    #[must_use]
    pub fn honours(&self, what: OwnerRequest) -> bool {
        self.honours.contains(&what)
    }

    /// Whether the policy learns what it must know about a program from counters.
    #[must_use]
    pub fn learns(&self) -> bool {
        matches!(self.knows, KnowledgeSource::Counters | KnowledgeSource::OtherWays)
    }

    /// Whether the policy decides where and when threads run.
    #[must_use]
    pub fn schedules(&self) -> bool {
        self.decides == DecisionScope::Turns
    }
}

/// Makes a policy from its default parameters and these settings.
pub(crate) fn make<P: ParameterSet, T: Policy + 'static>(
    mut parameters: P,
    new: fn(P) -> T,
    settings: &[(&str, Value<'static>)],
) -> ConfiguredPolicy {
    for &(name, value) in settings {
        parameters.set(name, value);
    }
    let names = P::TABLE.iter().map(|parameter| &*parameter.name);
    let parameters_made = names.zip(parameters.values()).collect();
    ConfiguredPolicy { policy: Box::new(new(parameters)), parameters: parameters_made }
}

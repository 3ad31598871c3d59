//! Mixes: programs that share a cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairways_core::{Llc, Ways};
use fairways_profiles::{BandwidthModel, MemoryBandwidth};
use fairways_simulation::{World, cache, profile_needs};
use pyo3::prelude::*;

use crate::error::CallFailure;
use crate::profiles::{Profiles, ProfilesArgument};

/// Programs that share a cache.
#[pyclass(frozen, module = "fairways", name = "Mix")]
#[derive(Clone, Debug)]
pub(crate) struct PyMix {
    pub(crate) world: World,
    pub(crate) mix: fairways_profiles::Mix,
    /// The size of the cache of the profiles, MB.
    pub(crate) llc_mb: f64,
}

impl PyMix {
    fn of(profiles: &Profiles, mix: fairways_profiles::Mix, llc: Llc) -> Self {
        let world = World {
            programs: Arc::clone(&profiles.catalog),
            llc,
            caches: Vec::new(),
            bandwidth: None,
            levels: Vec::new(),
            wishes: Vec::new(),
            seed: 1,
        };
        Self { world, mix, llc_mb: profiles.llc_mb }
    }

    /// Checks that no program has phases, which only machines over time run.
    pub(crate) fn is_constant(&self) -> Result<(), CallFailure> {
        let Self { world: World { programs, .. }, mix, .. } = self;
        let constant = programs.table().names().len();
        match mix.programs.iter().find(|&&program| program >= constant) {
            None => Ok(()),
            Some(&program) => Err(CallFailure::Said(format!(
                "mix {}: expected programs without phases, which {:?} has: they take dynamic=True \
                 or a machine",
                mix.name,
                programs.name(program)
            ))),
        }
    }
}

#[pymethods]
impl PyMix {
    #[new]
    #[pyo3(signature = (
        programs, profiles = None, *, name = None, ways = None, clos = 16, min_bits = 1,
        bandwidth_mbps = None, baselines = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn new(
        programs: Vec<String>,
        profiles: Option<ProfilesArgument>,
        name: Option<&str>,
        ways: Option<u32>,
        clos: u32,
        min_bits: u32,
        bandwidth_mbps: Option<f64>,
        baselines: Option<BTreeMap<String, u32>>,
    ) -> PyResult<Self> {
        let made = (|| -> Result<Self, CallFailure> {
            let profiles = match profiles {
                Some(profiles) => profiles.read()?,
                None => Profiles::named("skylake")?,
            };
            let most = profiles.catalog.table().ways();
            let llc =
                cache(ways, at_least_1("clos", clos)?, at_least_1("min_bits", min_bits)?, most)?;
            if programs.is_empty() {
                return Err(CallFailure::Said(
                    "programs: expected at least one, found none".to_owned(),
                ));
            }
            let empty = fairways_profiles::Mix { name: String::new(), programs: Vec::new() };
            let mut made = Self::of(&profiles, empty, llc);
            let joined = programs.join(",");
            let each = programs.iter().map(String::as_str);
            made.mix = made.world.mix_of("programs", name.unwrap_or(&joined), each)?;
            if let Some(mbps) = bandwidth_mbps {
                profile_needs::check_limit("bandwidth_mbps", profiles.catalog.table())?;
                made.world.bandwidth = MemoryBandwidth::new(mbps, BandwidthModel::Simple);
                if made.world.bandwidth.is_none() {
                    let said = format!("bandwidth_mbps: expected a number above 0, found {mbps}");
                    return Err(CallFailure::Said(said));
                }
            }
            made.world.promise(&baselines.unwrap_or_default().into_iter().collect::<Vec<_>>())?;
            Ok(made)
        })();
        Ok(made?)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.mix.name
    }

    /// The names of its programs.
    #[getter]
    fn programs(&self) -> Vec<&str> {
        self.world.programs.names_of(&self.mix)
    }

    /// The ways of the cache.
    #[getter]
    pub(crate) fn ways(&self) -> u32 {
        self.world.llc.ways.get()
    }

    fn __len__(&self) -> usize {
        self.mix.programs.len()
    }

    fn __repr__(&self) -> String {
        format!("<fairways.Mix {} on {} ways>", self.mix.name, self.ways())
    }
}

fn at_least_1(what: &str, number: u32) -> Result<u32, CallFailure> {
    match number {
        0 => {
            Err(CallFailure::Said(format!("{what}: expected a whole number, at least 1, found 0")))
        }
        number => Ok(number),
    }
}

/// One mix, or several.
#[derive(FromPyObject)]
pub(crate) enum MixArgument {
    #[pyo3(transparent)]
    One(Py<PyMix>),
    #[pyo3(transparent)]
    Several(Vec<Py<PyMix>>),
}

impl MixArgument {
    pub(crate) fn each(&self) -> Vec<&PyMix> {
        match self {
            Self::One(mix) => vec![mix.get()],
            Self::Several(mixes) => mixes.iter().map(Py::get).collect(),
        }
    }
}

fn of_all(
    profiles: Option<ProfilesArgument>,
    draw: impl FnOnce(&Profiles, Ways) -> Vec<fairways_profiles::Mix>,
) -> PyResult<Vec<PyMix>> {
    let profiles = match profiles {
        Some(profiles) => profiles.read()?,
        None => Profiles::named("skylake")?,
    };
    let ways = profiles.catalog.table().ways();
    let llc = Llc { clos: 16, ..Llc::with_ways(ways) };
    let mixes = draw(&profiles, ways);
    Ok(mixes.into_iter().map(|mix| PyMix::of(&profiles, mix, llc)).collect())
}

/// Twelve mixes of 4 to 10 programs of every class, as `fairways-lab simulate` draws them.
#[pyfunction]
#[pyo3(signature = (profiles = None, *, seed = 1))]
pub(crate) fn draw_mixes(profiles: Option<ProfilesArgument>, seed: u64) -> PyResult<Vec<PyMix>> {
    of_all(profiles, |profiles, ways| {
        fairways_experiments::draw_mixes(profiles.catalog.table(), ways, seed)
    })
}

/// Mixes of any programs, which may repeat.
#[pyfunction]
#[pyo3(signature = (count, size, profiles = None, *, seed = 1))]
pub(crate) fn random_mixes(
    count: usize,
    size: usize,
    profiles: Option<ProfilesArgument>,
    seed: u64,
) -> PyResult<Vec<PyMix>> {
    of_all(profiles, |profiles, _| {
        fairways_experiments::random_mixes(profiles.catalog.table(), &[size], count, seed)
    })
}

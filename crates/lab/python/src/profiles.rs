//! Profiles of programs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use fairways_profiles::{ProfileMetric, ProgramCatalog};
use fairways_simulation::catalog::ProfileSource;
use pyo3::prelude::*;

use crate::error::CallFailure;
use crate::table::{PyTable, numbers, texts, wholes};

/// Programs with profiles: what each does with every number of ways.
#[pyclass(frozen, module = "fairways")]
#[derive(Clone, Debug)]
pub(crate) struct Profiles {
    /// Where they come from.
    #[pyo3(get)]
    name: String,
    pub(crate) catalog: Arc<ProgramCatalog>,
    /// The size of the cache on which they were measured, MB.
    #[pyo3(get)]
    pub(crate) llc_mb: f64,
}

/// The built-in profiles that were read, by name.
static READ: Mutex<BTreeMap<String, Profiles>> = Mutex::new(BTreeMap::new());

impl Profiles {
    /// Built-in profiles by their name, or those of a file.
    pub(crate) fn named(text: &str) -> Result<Self, CallFailure> {
        let source: ProfileSource = text.parse().unwrap_or_else(|never| match never {});
        let is_built_in = !matches!(source, ProfileSource::File(_));
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profiles) = read.get(text).filter(|_| is_built_in) {
            return Ok(profiles.clone());
        }
        let catalog = Arc::new(source.programs_to_score(None)?);
        let llc_mb = source.llc_mb(catalog.table());
        let profiles = Self { name: source.name(), catalog, llc_mb };
        if is_built_in {
            read.insert(text.to_owned(), profiles.clone());
        }
        Ok(profiles)
    }
}

/// Profiles as a user names them: by a text, or as they are.
#[derive(FromPyObject)]
pub(crate) enum ProfilesArgument {
    #[pyo3(transparent)]
    Read(Py<Profiles>),
    #[pyo3(transparent)]
    Named(String),
}

impl ProfilesArgument {
    pub(crate) fn read(self) -> Result<Profiles, CallFailure> {
        match self {
            Self::Read(profiles) => Ok(profiles.get().clone()),
            Self::Named(text) => Profiles::named(&text),
        }
    }
}

#[pymethods]
impl Profiles {
    /// The names of the programs, those with phases last.
    #[getter]
    fn programs(&self) -> Vec<String> {
        (0..self.catalog.len()).map(|index| self.catalog.name(index).to_owned()).collect()
    }

    /// The ways of the cache on which they were measured.
    #[getter]
    fn ways(&self) -> u32 {
        self.catalog.table().ways().get()
    }

    fn __repr__(&self) -> String {
        let (name, programs, ways) = (&self.name, self.catalog.len(), self.ways());
        format!("<fairways.Profiles {name}: {programs} programs, {ways} ways>")
    }

    /// A row for each program and number of ways, with the columns of a file of profiles.
    fn table(&self) -> PyResult<PyTable> {
        let table = self.catalog.table();
        let (programs, ways) = (0..table.names().len(), self.ways());
        let rows: Vec<(usize, u32)> =
            programs.clone().flat_map(|program| (1..=ways).map(move |of| (program, of))).collect();
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("program", texts(rows.iter().map(|&(program, _)| Some(&table.names()[program])))),
            ("ways", wholes(rows.iter().map(|&(_, ways)| Some(u64::from(ways))))),
        ];
        for metric in ProfileMetric::ALL {
            let values = programs.clone().flat_map(|program| {
                let values: Vec<f64> = table.values(program, metric).collect();
                // What no file had to have is not a number.
                values.into_iter().map(|value| Some(value).filter(|value| !value.is_nan()))
            });
            let values: Vec<Option<f64>> = values.collect();
            if values.iter().any(Option::is_some) {
                columns.push((metric.column(), numbers(values)));
            }
        }
        Ok(PyTable::new(columns)?)
    }
}

/// Profiles by name (`skylake`, `broadwell`, `small`, `synthetic`), or of a CSV file.
#[pyfunction]
#[pyo3(signature = (source = "skylake"))]
pub(crate) fn profiles(source: &str) -> PyResult<Profiles> {
    Ok(Profiles::named(source)?)
}

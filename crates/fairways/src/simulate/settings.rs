//! From flags to what is to be done, checked.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use fairways_core::{Llc, Ways, Wish};
use fairways_lab::{Settings, draw_mixes};
use fairways_profiles::{Bandwidth, BandwidthModel, Mix, Table, embedded, read_mixes, read_table};

use crate::BadInput;
use crate::args::{Model, Simulate};

/// No profile or mixes file is larger.
const LARGEST_FILE: u64 = 1 << 28;

/// A run that can be made.
pub(super) struct Checked {
    /// The profiles from a file; else the embedded ones.
    profiles: Option<Table>,
    pub(super) mixes: Vec<Mix>,
    pub(super) policies: Vec<&'static str>,
    pub(super) settings: Settings,
}

impl Checked {
    /// Reads the files and checks every flag.
    pub(super) fn new(args: &Simulate) -> Result<Self, BadInput> {
        let profiles = match &args.profiles {
            Some(path) => {
                let table = read_table(&read(path)?, &shown(path));
                Some(table.map_err(|error| BadInput(error.to_string()))?)
            }
            None => None,
        };
        let table = profiles.as_ref().unwrap_or_else(|| embedded());
        let llc = llc(args, table)?;
        let policies = policies(&args.policies)?;
        if args.baselines.is_some() && !policies.contains(&"static") {
            let said = "--baselines: expected the policy static among --policies, which alone \
                        heeds them";
            return Err(BadInput(said.to_owned()));
        }
        let bandwidth = bandwidth(args)?;
        let wishes = match &args.baselines {
            Some(baselines) => wishes(baselines, table, llc.ways)?,
            None => Vec::new(),
        };
        let seed = number(&args.seed, "--seed", 0, u64::MAX)?;
        let mut mixes = Vec::new();
        for names in &args.mix {
            mixes.push(mix(names, table)?);
        }
        if let Some(path) = &args.mixes {
            let read = read_mixes(&read(path)?, &shown(path), |name| table.find(name));
            mixes.extend(read.map_err(|error| BadInput(error.to_string()))?);
        }
        if let Some(twice) = repeated(mixes.iter().map(|mix| &mix.name)) {
            return Err(BadInput(format!(
                "--mix, --mixes: expected mixes of different names, found two {twice:?}"
            )));
        }
        if mixes.is_empty() {
            mixes = draw_mixes(table, llc.ways, seed);
        }
        let settings = Settings { llc, bandwidth, wishes };
        Ok(Self { profiles, mixes, policies, settings })
    }

    pub(super) fn table(&self) -> &Table {
        self.profiles.as_ref().unwrap_or_else(|| embedded())
    }
}

/// A path on one line, whatever is in it.
fn shown(path: &Path) -> String {
    path.display().to_string().replace(char::is_control, "?")
}

fn read(path: &Path) -> Result<Vec<u8>, BadInput> {
    let error = |why: std::io::Error| BadInput(format!("{}: can't read it: {why}", shown(path)));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(error)?;
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(error)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(BadInput(format!(
            "{}: expected a file of at most {LARGEST_FILE} bytes",
            shown(path)
        )));
    }
    Ok(bytes)
}

fn llc(args: &Simulate, table: &Table) -> Result<Llc, BadInput> {
    let most = table.ways().get();
    let ways = match &args.ways {
        Some(text) => number(text, "--ways", 1, most)?,
        None => most,
    };
    let Some(ways) = Ways::new(ways) else { unreachable!("1 to {most} ways") };
    let clos = number(&args.clos, "--clos", 1, u32::MAX)?;
    let min_bits = number(&args.min_bits, "--min-bits", 1, ways.get())?;
    Ok(Llc { clos, min_bits, ..Llc::with_ways(ways) })
}

fn policies(names: &str) -> Result<Vec<&'static str>, BadInput> {
    let find = |name: &str| {
        let known = fairways_policy::NAMES.into_iter().find(|&known| known == name);
        known.ok_or_else(|| {
            let known = fairways_policy::NAMES.join(", ");
            BadInput(format!("--policies: expected some of {known}, found {name:?}"))
        })
    };
    let policies: Vec<_> = names.split(',').map(str::trim).map(find).collect::<Result<_, _>>()?;
    match repeated(&policies) {
        Some(twice) => {
            Err(BadInput(format!("--policies: expected each policy once, found {twice} twice")))
        }
        None => Ok(policies),
    }
}

/// The first item that was there before.
fn repeated<T: Copy + Eq + std::hash::Hash>(items: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = HashSet::new();
    items.into_iter().find(|&item| !seen.insert(item))
}

fn bandwidth(args: &Simulate) -> Result<Option<Bandwidth>, BadInput> {
    let Some(text) = &args.bandwidth_mbps else { return Ok(None) };
    let model = match args.bandwidth_model {
        Model::Simple => BandwidthModel::Simple,
        Model::Stalls => BandwidthModel::Stalls,
    };
    let bandwidth = text.trim().parse().ok().and_then(|limit| Bandwidth::new(limit, model));
    bandwidth.map(Some).ok_or_else(|| {
        BadInput(format!("--bandwidth-mbps: expected a number above 0, found {text:?}"))
    })
}

fn wishes(baselines: &str, table: &Table, ways: Ways) -> Result<Vec<Wish>, BadInput> {
    let mut wishes = vec![Wish::default(); table.names().len()];
    for promise in baselines.split(',').map(str::trim) {
        let (name, text) = promise.split_once('=').ok_or_else(|| {
            BadInput(format!("--baselines: expected PROGRAM=WAYS, found {promise:?}"))
        })?;
        let program = find(name, "--baselines", table)?;
        let baseline = number(text, &format!("--baselines, {name}"), 1, ways.get())?;
        if wishes[program].baseline_ways.replace(baseline).is_some() {
            let said = format!("--baselines: expected each program once, found {name:?} twice");
            return Err(BadInput(said));
        }
    }
    Ok(wishes)
}

/// A mix named on the command line; its name is what was typed.
fn mix(names: &str, table: &Table) -> Result<Mix, BadInput> {
    let programs = names.split(',').map(|name| find(name.trim(), "--mix", table));
    Ok(Mix {
        name: names.replace(char::is_control, "?"),
        programs: programs.collect::<Result<_, _>>()?,
    })
}

fn find(name: &str, flag: &str, table: &Table) -> Result<usize, BadInput> {
    table.find(name).ok_or_else(|| {
        let few = table.names().iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        let count = table.names().len();
        BadInput(format!(
            "{flag}: expected one of the {count} programs of the profiles ({few}, ...), found {name:?}"
        ))
    })
}

fn number<N>(text: &str, flag: &str, least: N, most: N) -> Result<N, BadInput>
where
    N: FromStr + PartialOrd + std::fmt::Display,
{
    text.trim().parse().ok().filter(|number| (&least..=&most).contains(&number)).ok_or_else(|| {
        BadInput(format!("{flag}: expected a whole number from {least} to {most}, found {text:?}"))
    })
}

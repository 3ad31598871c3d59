//! The programs and the machine that flags describe, checked.

use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{at_most, read, repeated, shown};
use fairways_command_kit::plain::plain;
use fairways_command_kit::similar::did_you_mean;
use fairways_core::{Llc, Ways, Wish};
use fairways_lab::{draw_mixes, draw_workloads};
use fairways_profiles::{
    BandwidthModel, MemoryBandwidth, Mix, ProgramCatalog, embedded_programs, read_mixes,
    read_phased, read_table,
};

use crate::args::{Model, Names, Observation, Pairs, World as Args};

/// Programs, and the machine on which they run.
pub(crate) struct World {
    /// The programs from files; `None` for the embedded ones.
    read: Option<ProgramCatalog>,
    pub(crate) llc: Llc,
    /// Size of a way in bytes.
    pub(crate) way_bytes: f64,
    pub(crate) bandwidth: Option<MemoryBandwidth>,
    /// The ways promised to each program, by index; empty if none were promised.
    pub(crate) wishes: Vec<Wish>,
    pub(crate) seed: u64,
}

impl World {
    /// Reads the files and checks every flag.
    pub(crate) fn new(args: &Args) -> Result<Self, BadInput> {
        let read = read_programs(args)?;
        let programs = read.as_ref().unwrap_or_else(|| embedded_programs());
        let llc = llc(args, programs.table().ways())?;
        let wishes = match &args.baselines {
            Some(baselines) => wishes(baselines, programs, llc.ways)?,
            None => Vec::new(),
        };
        let way_bytes = args.llc_mb * 1024.0 * 1024.0 / f64::from(programs.table().ways().get());
        let (bandwidth, seed) = (bandwidth(args), args.seed);
        Ok(Self { read, llc, way_bytes, bandwidth, wishes, seed })
    }

    pub(crate) fn programs(&self) -> &ProgramCatalog {
        self.read.as_ref().unwrap_or_else(|| embedded_programs())
    }

    /// Warns of likely mistakes: promises that do not fit, and profiles in which a policy that
    /// needs to cannot distinguish phases.
    pub(crate) fn warn(&self, mixes: &[Mix], policies: &[&str]) {
        let wish = |index: &usize| self.wishes.get(*index).copied().unwrap_or_default();
        let total = mixes
            .iter()
            .map(|mix: &Mix| promised(mix.programs.iter().map(wish)))
            .max()
            .unwrap_or(0);
        warn_of_promises(total, self.llc.ways);
        if policies.contains(&"dcat") && self.programs().table().l1rpki(0).is_none() {
            fairways_command_kit::warn(
                "dcat: the profiles have no column l1rpki, so it cannot distinguish phases; \
                 with --set reclaim_on_ipc=true it also uses IPC and misses",
            );
        }
    }

    /// The analytic machine over time, as well as it can be observed.
    pub(crate) fn machine(&self, observed: &Observation) -> fairways_model::Settings {
        fairways_model::Settings {
            way_bytes: self.way_bytes,
            bandwidth: self.bandwidth,
            noise: observed.noise / 100.0,
            lost: observed.lost / 100.0,
            overshoot: observed.overshoot,
            seed: self.seed,
            ..fairways_model::Settings::new(self.llc)
        }
    }

    /// A mix from the command line; the text that was typed is its name.
    pub(crate) fn mix(&self, names: &Names) -> Result<Mix, BadInput> {
        let programs = names.each.iter().map(|name| find(name, "--mix", self.programs()));
        Ok(Mix { name: plain(&names.text), programs: programs.collect::<Result<_, _>>()? })
    }

    /// The mixes from flags and a file. If there are none, mixes are drawn. Only over time, mixes
    /// may have programs with phases.
    pub(crate) fn mixes(
        &self,
        names: &[Names],
        file: Option<&Path>,
        over_time: bool,
    ) -> Result<Vec<Mix>, BadInput> {
        let programs = self.programs();
        let mut mixes: Vec<Mix> =
            names.iter().map(|names| self.mix(names)).collect::<Result<_, _>>()?;
        if let Some(path) = file {
            let read = read_mixes(&read(path)?, &shown(path), |name| programs.find(name));
            mixes.extend(read.map_err(|error| BadInput(error.to_string()))?);
        }
        if let Some(twice) = repeated(mixes.iter().map(|mix| &mix.name)) {
            return Err(BadInput(format!(
                "--mix, --mixes: expected mixes of different names, found two {twice:?}"
            )));
        }
        if mixes.is_empty() {
            let (ways, seed) = (self.llc.ways, self.seed);
            return Ok(if over_time {
                draw_workloads(programs, ways, 2, seed)
            } else {
                draw_mixes(programs.table(), ways, seed)
            });
        }
        let constant = programs.table().names().len();
        let mut all = mixes.iter().flat_map(|mix| &mix.programs);
        match all.find(|&&program| program >= constant) {
            Some(&program) if !over_time => Err(BadInput(format!(
                "--mix, --mixes: expected programs without phases, which {:?} has: they take \
                 simulate --dynamic or run",
                programs.name(program)
            ))),
            _ => Ok(mixes),
        }
    }
}

/// The programs from files, otherwise the embedded ones.
pub(crate) fn profiles(args: &Args) -> Result<ProgramCatalog, BadInput> {
    Ok(read_programs(args)?.unwrap_or_else(|| embedded_programs().clone()))
}

/// The ways promised to programs.
pub(crate) fn promised(wishes: impl Iterator<Item = Wish>) -> u64 {
    wishes.filter_map(|wish| wish.baseline_ways).map(u64::from).sum()
}

/// Warns where more ways are promised to programs that run together than a cache has.
pub(crate) fn warn_of_promises(total: u64, ways: Ways) {
    if total > u64::from(ways.get()) {
        fairways_command_kit::warn(&format!(
            "--baselines: {total} ways are promised, and there are {ways}: not every promise can hold"
        ));
    }
}

fn read_programs(args: &Args) -> Result<Option<ProgramCatalog>, BadInput> {
    let wrong = |error: fairways_profiles::InputError| BadInput(error.to_string());
    if args.profiles.is_none() && args.phases.is_none() {
        return Ok(None);
    }
    let table = match &args.profiles {
        Some(path) => read_table(&read(path)?, &shown(path)).map_err(wrong)?,
        None => embedded_programs().table().clone(),
    };
    let phased = match &args.phases {
        Some(path) => read_phased(&read(path)?, &shown(path), &table).map_err(wrong)?,
        None => Vec::new(),
    };
    Ok(Some(ProgramCatalog::new(table, phased)))
}

fn llc(args: &Args, most: Ways) -> Result<Llc, BadInput> {
    let ways = args.ways.unwrap_or(most.get());
    let ways = Ways::new(ways).filter(|ways| *ways <= most).ok_or_else(|| {
        BadInput(format!("--ways: expected a whole number from 1 to {most}, found \"{ways}\""))
    })?;
    let min_bits = at_most(args.min_bits, "--min-bits", ways.get())?;
    Ok(Llc { clos: args.clos, min_bits, ..Llc::with_ways(ways) })
}

fn bandwidth(args: &Args) -> Option<MemoryBandwidth> {
    let model = match args.bandwidth_model {
        Model::Simple => BandwidthModel::Simple,
        Model::Stalls => BandwidthModel::Stalls,
    };
    MemoryBandwidth::new(args.bandwidth_mbps?, model)
}

fn wishes(
    Pairs(baselines): &Pairs<u32>,
    programs: &ProgramCatalog,
    ways: Ways,
) -> Result<Vec<Wish>, BadInput> {
    let mut wishes = vec![Wish::default(); programs.len()];
    for (name, baseline) in baselines {
        let baseline = at_most(*baseline, &format!("--baselines: {name}"), ways.get())?;
        wishes[find(name, "--baselines", programs)?].baseline_ways = Some(baseline);
    }
    Ok(wishes)
}

fn find(name: &str, flag: &str, programs: &ProgramCatalog) -> Result<usize, BadInput> {
    programs.find(name).ok_or_else(|| {
        let few: Vec<_> = (0..programs.len().min(3)).map(|index| programs.name(index)).collect();
        let (count, few) = (programs.len(), few.join(", "));
        let meant = did_you_mean(name, (0..count).map(|index| programs.name(index)));
        BadInput(format!(
            "{flag}: expected one of the {count} programs of the profiles ({few}, ...), found {name:?}{meant}"
        ))
    })
}

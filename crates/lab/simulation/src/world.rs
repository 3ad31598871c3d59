//! Programs with profiles, and the cache that they share.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use fairways_chip::program::split;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{at_most, read, repeated, shown};
use fairways_command_kit::plain::plain;
use fairways_command_kit::similar::{did_you_mean, nearest};
use fairways_core::{BandwidthLevel, Llc, MachineCache, Ways, Wish};
use fairways_experiments::{draw_mixes, draw_workloads};
use fairways_profiles::{MemoryBandwidth, Mix, ProgramCatalog, read_mixes};

use crate::catalog::synthetic_has;

/// Names with commas between them: `A,B,C`.
#[derive(Clone, Debug)]
pub struct Names {
    /// The whole list, as it was typed.
    pub text: String,
    /// Each name.
    pub each: Vec<String>,
}

impl FromStr for Names {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let each = split(text).into_iter().map(str::to_owned).collect();
        Ok(Self { text: text.to_owned(), each })
    }
}

/// Programs, and the machine on which they run.
#[derive(Clone, Debug)]
pub struct World {
    /// The programs.
    pub programs: Arc<ProgramCatalog>,
    /// The cache; the largest one, if there are several.
    pub llc: Llc,
    /// The caches, if there are several.
    pub caches: Vec<MachineCache>,
    /// The memory's limit, if it has one.
    pub bandwidth: Option<MemoryBandwidth>,
    /// The levels of bandwidth to which the optimum may limit a cluster.
    pub levels: Vec<BandwidthLevel>,
    /// What the owner of each program asks for, by index; those without an entry ask for nothing.
    pub wishes: Vec<Wish>,
    /// The seed of mixes and of everything random.
    pub seed: u64,
}

impl World {
    /// The ways of each cache.
    #[must_use]
    pub fn ways(&self) -> Vec<Ways> {
        match &self.caches[..] {
            [] => vec![self.llc.ways],
            several => several.iter().map(|cache| cache.llc.ways).collect(),
        }
    }

    /// Promises ways to programs.
    ///
    /// # Errors
    /// If there is no such program, or the cache has fewer ways.
    pub fn promise(&mut self, baselines: &[(String, u32)]) -> Result<(), BadInput> {
        for (name, ways) in baselines {
            let ways = at_most(*ways, &format!("--baselines: {name}"), self.llc.ways.get())?;
            self.wish("--baselines", name)?.baseline_ways = Some(ways);
        }
        Ok(())
    }

    /// Sets how many programs each of these counts as.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn weigh(&mut self, importance: &[(String, u32)]) -> Result<(), BadInput> {
        for (name, times) in importance {
            self.wish("--importance", name)?.importance = Some(*times);
        }
        Ok(())
    }

    /// What the owner of a program that a flag names asks for.
    fn wish(&mut self, flag: &str, name: &str) -> Result<&mut Wish, BadInput> {
        let program = find(name, flag, &self.programs)?;
        self.wishes.resize(self.programs.len(), Wish::default());
        Ok(&mut self.wishes[program])
    }

    /// Warns of likely mistakes: promises that do not fit, and profiles in which a policy that
    /// needs to cannot distinguish phases.
    pub fn warn(&self, mixes: &[Mix], policies: &[&str]) {
        let wish = |index: &usize| self.wishes.get(*index).copied().unwrap_or_default();
        let total = mixes
            .iter()
            .map(|mix: &Mix| promised(mix.programs.iter().map(wish)))
            .max()
            .unwrap_or(0);
        warn_of_promises(total, self.ways().iter().map(|ways| ways.get()).sum());
        for (index, wish) in self.wishes.iter().enumerate() {
            let asks = wish.baseline_ways.is_some() || wish.importance.is_some();
            if asks && !mixes.iter().any(|mix| mix.programs.contains(&index)) {
                fairways_command_kit::warn(&format!(
                    "--baselines, --importance: {} is in no mix",
                    plain(self.programs.name(index))
                ));
            }
        }
        if policies.contains(&"dcat") && self.programs.table().l1rpki(0).is_none() {
            fairways_command_kit::warn(
                "dcat: the profiles have no column l1rpki, so it cannot distinguish phases; \
                 with --set reclaim_on_ipc=true it also uses IPC and misses",
            );
        }
    }

    /// A mix from the command line; the text that was typed is its name.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn mix(&self, names: &Names) -> Result<Mix, BadInput> {
        self.mix_of("--mix", &names.text, names.each.iter().map(String::as_str))
    }

    /// A mix of these programs, with this name. `what` names them in errors.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn mix_of<'a>(
        &self,
        what: &str,
        name: &str,
        programs: impl IntoIterator<Item = &'a str>,
    ) -> Result<Mix, BadInput> {
        let programs = programs.into_iter().map(|program| find(program, what, &self.programs));
        Ok(Mix { name: plain(name), programs: programs.collect::<Result<_, _>>()? })
    }

    /// The analytic machine over time, observed without error. `llc_mb` is the size of the cache of
    /// the profiles.
    #[must_use]
    pub fn model(&self, llc_mb: f64) -> fairways_model::Settings {
        let ways = f64::from(self.programs.table().ways().get());
        fairways_model::Settings {
            way_bytes: llc_mb * 1024.0 * 1024.0 / ways,
            bandwidth: self.bandwidth,
            seed: self.seed,
            ..fairways_model::Settings::new(self.llc)
        }
    }

    /// The programs without phases; those with phases follow.
    fn constant(&self) -> usize {
        self.programs.table().names().len()
    }

    /// Drawn mixes. Over time, those in which programs have phases are among them, if there are
    /// such programs.
    fn drawn(&self, over_time: bool) -> Vec<Mix> {
        let (programs, ways, seed) = (&self.programs, self.llc.ways, self.seed);
        if !over_time {
            return draw_mixes(programs.table(), ways, seed);
        }
        let mut mixes = draw_workloads(programs, ways, 2, seed);
        if programs.len() == self.constant() {
            mixes.retain(|mix| !mix.name.starts_with('P'));
        }
        mixes
    }

    /// The mixes from flags and a file. If there are none, mixes are drawn. Only over time, mixes
    /// may have programs with phases.
    ///
    /// # Errors
    /// If the file can't be read, a program is not known or may not be there, or two mixes have
    /// one name.
    pub fn mixes(
        &self,
        names: &[Names],
        file: Option<&Path>,
        over_time: bool,
    ) -> Result<Vec<Mix>, BadInput> {
        let programs = &self.programs;
        let mut mixes: Vec<Mix> =
            names.iter().map(|names| self.mix(names)).collect::<Result<_, _>>()?;
        if let Some(path) = file {
            let bytes = read(path)?;
            let read = read_mixes(&bytes, &shown(path), |name| programs.find(name));
            let read = read.map_err(|error| BadInput(error.to_string()))?;
            // Without a header, what stands first in a line and is no program is the mix's name.
            let mut unsure = read.iter().filter(|_| !bytes.starts_with(b"mix,"));
            let like = unsure.find_map(|Mix { name, .. }| {
                let all = (0..programs.len()).map(|index| programs.name(index));
                Some((name, nearest(name, all)?))
            });
            if let Some((name, program)) = like {
                fairways_command_kit::warn(&format!(
                    "{}: {name:?} is taken for the name of a mix; did you mean the program {program:?}?",
                    shown(path)
                ));
            }
            mixes.extend(read);
        }
        if let Some(twice) = repeated(mixes.iter().map(|mix| &mix.name)) {
            return Err(BadInput(format!(
                "--mix, --mixes: expected mixes of different names, found two {twice:?}"
            )));
        }
        if mixes.is_empty() {
            return Ok(self.drawn(over_time));
        }
        let constant = self.constant();
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

/// The cache: that of the profiles, or some of its ways.
///
/// # Errors
/// If it has fewer ways, or too few for the narrowest mask.
pub fn cache(ways: Option<u32>, clos: u32, min_bits: u32, most: Ways) -> Result<Llc, BadInput> {
    let ways = ways.unwrap_or(most.get());
    let ways = Ways::new(ways).filter(|ways| *ways <= most).ok_or_else(|| {
        BadInput(format!("--ways: expected a whole number from 1 to {most}, found \"{ways}\""))
    })?;
    let min_bits = at_most(min_bits, "--min-bits", ways.get())?;
    Ok(Llc { clos, min_bits, ..Llc::with_ways(ways) })
}

/// The caches of a machine that has several: none if it has one. `ways` and `cpus` have a number
/// for all caches or one for each, or none.
///
/// # Errors
/// If the numbers do not go together, or a cache has no such ways.
pub fn caches(
    count: Option<u32>,
    (ways, cpus): (&[u32], &[u32]),
    (clos, min_bits, most): (u32, u32, Ways),
) -> Result<Vec<MachineCache>, BadInput> {
    let longest = ways.len().max(cpus.len()).max(1);
    let count = count.map_or(longest, |count| count as usize);
    let ways = for_each("--ways", ways, most.get(), count)?;
    let cpus = for_each("--cpus", cpus, MANY_CPUS, count)?;
    if count > MOST_CACHES {
        return Err(BadInput(format!("--ways, --cpus: expected at most 16 caches, found {count}")));
    }
    if count == 1 {
        return match cpus[..] {
            [MANY_CPUS] => Ok(Vec::new()),
            _ => Err(BadInput("--cpus: expected --caches, or a number for each cache".to_owned())),
        };
    }
    let each = ways.into_iter().zip(cpus);
    each.map(|(ways, cpus)| {
        Ok(MachineCache { llc: cache(Some(ways), clos, min_bits, most)?, cpus })
    })
    .collect()
}

/// The number of each cache, where a flag has one for all or one for each.
fn for_each(flag: &str, numbers: &[u32], usual: u32, count: usize) -> Result<Vec<u32>, BadInput> {
    match numbers {
        [] => Ok(vec![usual; count]),
        [one] => Ok(vec![*one; count]),
        all if all.len() == count => Ok(all.to_vec()),
        all => Err(BadInput(format!(
            "{flag}: expected one number, or one for each cache (--caches {count}), found {}",
            all.len()
        ))),
    }
}

/// The most caches of a machine.
const MOST_CACHES: usize = 16;

/// CPUs for every program of any mix.
const MANY_CPUS: u32 = 1024;

/// The ways promised to programs.
pub fn promised(wishes: impl Iterator<Item = Wish>) -> u64 {
    wishes.filter_map(|wish| wish.baseline_ways).map(u64::from).sum()
}

/// Warns where more ways are promised to programs that run together than a cache has.
pub fn warn_of_promises(total: u64, ways: u32) {
    if total > u64::from(ways) {
        fairways_command_kit::warn(&format!(
            "--baselines: {total} ways are promised, and there are {ways}: not every promise can hold"
        ));
    }
}

fn find(name: &str, flag: &str, programs: &ProgramCatalog) -> Result<usize, BadInput> {
    programs.find(name).ok_or_else(|| {
        let few: Vec<_> = (0..programs.len().min(3)).map(|index| programs.name(index)).collect();
        let (count, few) = (programs.len(), few.join(", "));
        let meant = synthetic_has(name, programs.table())
            .unwrap_or_else(|| did_you_mean(name, (0..count).map(|index| programs.name(index))));
        BadInput(format!(
            "{flag}: expected one of the {count} programs of the profiles ({few}, ...), found {name:?}{meant}"
        ))
    })
}

//! LFOC (Garcia-Garcia et al., ICPP 2019): its figures and tables.

mod cost;
mod numbers;
mod over_time;
mod plots;
mod statically;

use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_core::{Llc, Ways};
use fairways_policy::lfoc::{Class, Parameters, classify};
use fairways_profiles::{Program, Programs, Table};

use super::Findings;
use super::figures::Line;
use crate::best::{CLASSES, Composition, composition, partitioning_over_clustering};
use crate::draw::{draw_workloads, random_mixes};
use crate::live::LiveError;
use numbers::{parameters, phases, search_space};

pub use plots::Figures;
pub use statically::Scored;

/// How the paper's experiments are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The cache; the paper's has 11 ways.
    pub llc: Llc,
    /// The machine over time, on which programs run.
    pub machine: fairways_model::Settings,
    /// Mixes of each size (8, 12, 16) and kind (S, P); the paper's 36 are 6.
    pub workloads: usize,
    /// Mixes of each size for Figures 2 and 3.
    pub mixes: usize,
    /// Runs and phases over time are so many times as long as the paper's.
    pub time_scale: f64,
    /// The seed of every mix.
    pub seed: u64,
    /// Seeds, from that one on, with which all is run; values are the first's.
    pub seeds: u64,
}

/// Ways of the paper's cache (§5).
const WAYS: u32 = 11;

impl Setting {
    /// The paper's numbers; if `quick`, fewer mixes and shorter runs.
    #[must_use]
    pub fn new(table: &Table, quick: bool) -> Self {
        let ways = Ways::new(table.ways().get().min(WAYS)).expect("a table has a way");
        let llc = Llc::with_ways(ways);
        Self {
            llc,
            machine: fairways_model::Settings::new(llc),
            workloads: if quick { 2 } else { 6 },
            mixes: 20,
            time_scale: if quick { 0.2 } else { 1.0 },
            seed: 1,
            seeds: if quick { 1 } else { 5 },
        }
    }
}

/// The paper's experiments, one after the other.
#[derive(Debug)]
pub struct Lfoc<'a> {
    programs: &'a Programs,
    setting: Setting,
}

impl<'a> Lfoc<'a> {
    /// The experiments with these programs.
    #[must_use]
    pub fn new(programs: &'a Programs, setting: Setting) -> Self {
        Self { programs, setting }
    }

    /// Runs them all. `told` hears what is at hand, how much of it is done, and how much there is.
    ///
    /// # Errors
    /// If memory has a limit and can't serve a mix.
    pub fn run(
        &self,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), LiveError> {
        let Self { programs, setting } = self;
        let (mut findings, mut figures) = self.once(told)?;
        if setting.seeds > 1 {
            let mut seeds = vec![findings.clone()];
            for seed in (setting.seed..).take(usize::try_from(setting.seeds).unwrap_or(1)).skip(1) {
                let another = Self::new(programs, Setting { seed, ..*setting });
                let told = |what: &str, done, count| {
                    told(&format!("Seed {seed}, {what}"), done, count);
                };
                seeds.push(another.once(&told)?.0);
            }
            findings.note_seeds(&seeds);
        }
        told("Table 2: decisions timed", 0, 1);
        figures.costs = cost::measure(programs.table(), setting.llc, setting.seed);
        cost::findings(&figures.costs, &mut findings);
        Ok((findings, figures))
    }

    /// All but what is timed, with one seed.
    fn once(
        &self,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), LiveError> {
        let Self { programs, setting } = self;
        let table = programs.table();
        let mut findings = Findings::default();
        search_space(&mut findings);
        parameters(table, setting, &mut findings);
        let phased = phases(programs, setting.llc.ways, &mut findings);
        let curves = self.curves(&mut findings);
        let composition = self.composition(&mut findings, told);
        let ratios = self.ratios(&mut findings, told);

        let workloads = draw_workloads(programs, setting.llc.ways, setting.workloads, setting.seed);
        let of_kind = |kind: &'static str| {
            let mixes = workloads.iter().filter(move |mix| mix.name.starts_with(kind));
            mixes.cloned().collect::<Vec<_>>()
        };
        let (one_class, mut all) = (of_kind("S"), of_kind("S"));
        // Without phased programs, a P mix is another S mix.
        if programs.len() > table.names().len() {
            all.extend(of_kind("P"));
        }
        let done = AtomicUsize::new(0);
        let step = |what: &'static str, count: usize| {
            done.store(0, Ordering::Relaxed);
            let done = &done;
            move || told(what, 1 + done.fetch_add(1, Ordering::Relaxed), count)
        };
        let scored = statically::score(
            table,
            &one_class,
            setting,
            &step("Figure 6: mixes scored", one_class.len()),
        );
        statically::findings(&scored, &mut findings);
        // A quick run is not the paper's.
        if setting.time_scale >= 1.0 {
            findings.add("§5", "workloads in all", all.len() as f64);
        }
        let ran = over_time::run(programs, &all, setting, &step("Figure 7: mixes run", all.len()))?;
        over_time::findings(&ran, &mut findings);
        let costs = Vec::new();
        Ok((findings, Figures { curves, phased, composition, ratios, scored, ran, costs }))
    }

    /// Figure 1.
    fn curves(&self, findings: &mut Findings) -> Vec<Line> {
        const ITEM: &str = "Figure 1";
        let (table, ways) = (self.programs.table(), self.setting.llc.ways);
        // Those of the paper, or those among the embedded programs that are most like them.
        let pairs = [["lbm06", "xalancbmk06"], ["lattice-flow", "graph-walk"]];
        let find = |names: &[&str; 2]| Some([table.find(names[0])?, table.find(names[1])?]);
        let Some(pair) = pairs.iter().find_map(find) else { return Vec::new() };
        let class = |index| classify(&table.profile(index), ways, &Parameters::default());
        let as_claimed = pair.map(class) == [Class::Streaming, Class::Sensitive];
        findings.add(
            ITEM,
            "lbm meets the streaming rule; xalancbmk the sensitive rule",
            f64::from(u8::from(as_claimed)),
        );
        let lines = pair.map(|index| {
            let program = Program::new(table, index, ways);
            let point = |ways: u32| (f64::from(ways), program.slowdown(f64::from(ways)));
            Line {
                name: table.names()[index].clone(),
                points: (1..=ways.get()).map(point).collect(),
            }
        });
        let rises = lines[1].points.windows(2).filter(|pair| pair[1].1 > pair[0].1 + 1e-9).count();
        let case = "xalancbmk slowdown never rises with ways (violations)";
        findings.add(ITEM, case, rises as f64);
        lines.into()
    }

    /// Figure 2, and what §3 says beside it.
    fn composition(
        &self,
        findings: &mut Findings,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Composition {
        const ITEM: &str = "Figure 2";
        const PROGRAMS: usize = 10;
        told("Figure 2: fairest clusterings", 0, 1);
        let Setting { llc, mixes, seed, .. } = self.setting;
        let table = self.programs.table();
        let mixes = random_mixes(table, &[PROGRAMS], mixes, seed);
        let found = composition(table, &mixes, llc).expect("ten programs have a best clustering");
        let mut add = |case: &str, class, ways: &dyn Fn(usize) -> bool| {
            findings.add_if(ITEM, case, found.share(class, ways).map(|share| 100.0 * share));
        };
        add("streaming instances in 1-way clusters, 20 mixes of 10", Class::Streaming, &|w| w == 1);
        add("streaming instances in clusters of 1 or 2 ways", Class::Streaming, &|w| w <= 2);
        add("sensitive instances in clusters of 4 ways or more", Class::Sensitive, &|w| w >= 4);
        add("light instances in 1-way clusters", Class::Light, &|w| w == 1);
        findings.add_text(ITEM, "mixes, programs per mix", format!("{} x {PROGRAMS}", mixes.len()));
        let mut ways = found.streaming_ways.clone();
        ways.sort_unstable();
        let most = ways.last().copied().unwrap_or(0);
        let case = "most ways given to streaming clusters in any mix";
        findings.add("§3", case, f64::from(most));
        let median = ways.get(ways.len() / 2).copied().unwrap_or(0);
        let case = "ways given to streaming clusters, the median mix";
        findings.add_beside("§3", case, "ways", Some(f64::from(median)));
        for (class, changes) in CLASSES.into_iter().zip(&found.moves) {
            let mut changes = changes.clone();
            changes.sort_unstable_by(f64::total_cmp);
            let case = format!("one {} program to another cluster, median change", class.name());
            let median = changes.get(changes.len() / 2).map(|change| 100.0 * change);
            findings.add_beside("§3", &format!("{case} of unfairness"), "percent", median);
        }
        found
    }

    /// Figure 3: the mean ratio by number of programs.
    fn ratios(
        &self,
        findings: &mut Findings,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Vec<(f64, f64)> {
        const ITEM: &str = "Figure 3";
        let Setting { llc, mixes, seed, .. } = self.setting;
        let (table, most) = (self.programs.table(), llc.ways.get());
        let mut below_one = 0;
        let sizes = 4..=most;
        let ratio = |programs: u32| {
            told("Figure 3: fairest partitionings", programs as usize - 3, most as usize - 3);
            let mixes = random_mixes(table, &[programs as usize], mixes, seed);
            let ratios = partitioning_over_clustering(table, &mixes, llc);
            let ratios = ratios.expect("there are as many ways as programs");
            below_one += ratios.iter().filter(|ratio| **ratio < 1.0 - 1e-12).count();
            (f64::from(programs), ratios.iter().sum::<f64>() / ratios.len() as f64)
        };
        let line: Vec<(f64, f64)> = sizes.map(ratio).collect();
        if let ([first, ..], [.., last]) = (&line[..], &line[..]) {
            findings.add(ITEM, "optimal partitioning over optimal clustering, 4 programs", first.1);
            if most == WAYS {
                let case = "the same, 11 programs on 11 ways, over the 4-program value";
                findings.add(ITEM, case, last.1 / first.1);
            }
            findings.add(
                ITEM,
                "ratio never below 1",
                f64::from(u32::try_from(below_one).unwrap_or(u32::MAX)),
            );
        }
        line
    }
}

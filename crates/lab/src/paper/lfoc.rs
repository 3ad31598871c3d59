//! LFOC (Garcia-Garcia et al., ICPP 2019): its figures and tables.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_core::{Llc, Ways};
use fairways_optimum::count::{clusterings, partitionings};
use fairways_policy::lfoc::{Class, Parameters, classify};
use fairways_profiles::{Program, Programs, Table};

use super::figures::{Bars, FigureError, Line, bars, lines};
use super::over_time::Ran;
use super::{Findings, Scored, cost, over_time, statically};
use crate::best::{CLASSES, Composition, composition, partitioning_over_clustering};
use crate::draw::{WORKLOAD_SIZES, classes, draw_workloads, random_mixes};
use crate::live::{LiveError, Protocol};

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
}

/// Programs that the authors profiled.
const PROFILED: usize = 55;

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
        }
    }
}

/// What is plotted.
#[derive(Clone, Debug)]
pub struct Figures {
    curves: Vec<Line>,
    phased: Option<Line>,
    composition: Composition,
    ratios: Vec<(f64, f64)>,
    scored: Vec<Scored>,
    ran: Ran,
    costs: Vec<[f64; 3]>,
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
        told("Table 2: decisions timed", 0, 1);
        let costs = cost::measure(table, setting.llc, setting.seed);
        cost::findings(&costs, &mut findings);
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

/// §2.2.
fn search_space(findings: &mut Findings) {
    let mut add = |case: &str, count: u128| findings.add("§2.2", case, count as f64);
    add("partitionings of 8 programs on 11 ways", partitionings(8, 11));
    add("partitionings of 8 programs on 20 ways", partitionings(8, 20));
    add("clusterings of 8 programs on 20 ways", clusterings(8, 20));
    add("clusterings of 11 programs on 20 ways", clusterings(11, 20));
}

/// The parameters, as they are by default, and the machine.
fn parameters(table: &Table, setting: &Setting, findings: &mut Findings) {
    let (p, protocol) = (Parameters::default(), Protocol::default());
    let q32 = |value: fairways_core::Q32| value.raw() as f64 / (1u64 << 32) as f64;
    let percent = |value: u32| f64::from(value) / 100.0;
    let mut add = |item: &str, case: &str, value: f64| findings.add(item, case, value);
    let one = percent(p.streaming_slowdown_percent);
    add("Table 1", "streaming: slowdown at most, in one allocation", one);
    add("Table 1", "streaming: LLCMPKC at least, same allocation", q32(p.streaming_llcmpkc));
    let all = percent(p.streaming_slowdown_bound_percent);
    add("Table 1", "streaming: slowdown below, in all allocations", all);
    add("Table 1", "sensitive: slowdown at least", percent(p.sensitive_slowdown_percent));
    add("Table 1", "sensitive: from this many ways", f64::from(p.sensitive_from_ways));
    add("Algorithm 1", "max_streaming_way", f64::from(p.max_streaming_way));
    add("Algorithm 1", "gaps_per_streaming", f64::from(p.gaps_per_streaming));
    add("Algorithm 1", "ways reserved for streaming at most", f64::from(p.max_ways_streaming));
    add("§4.1", "warm-up", f64::from(p.warm_up_intervals));
    add("§4.2", "high_threshold", q32(p.high_threshold));
    add("§4.2", "low_threshold over high_threshold", f64::from(p.low_threshold_percent));
    add("§4.2", "long-latency stall fraction", f64::from(p.stalls_percent));
    add("§4.2", "averaging window (light rule)", f64::from(p.averaged_periods));
    let critical = f64::from(p.critical_slowdown_percent) - 100.0;
    add("§4.2", "critical size: slowdown below", critical);
    add("§5.2", "sampling window, normal mode", p.normal_window as f64);
    add("§5.2", "sampling window, sampling mode", p.sampling_window as f64);
    let dunn = fairways_policy::dunn::Parameters::default();
    if dunn.decision_period == p.decision_period {
        let period = p.decision_period.as_secs_f64() * 1e3;
        add("§5.2", "decision period, LFOC and Dunn", period);
    }
    // A quick run is not the paper's.
    if setting.time_scale >= 1.0 {
        add("§5", "instructions per run", protocol.instructions as f64);
    }
    add("§5", "completions of the longest program", f64::from(protocol.completions));
    let megabytes = setting.machine.way_bytes * f64::from(setting.llc.ways.get()) / 1024.0 / 1024.0;
    add("§5", "LLC ways", f64::from(setting.llc.ways.get()));
    add("§5", "LLC size", megabytes);
    add("§5", "core clock", setting.machine.mhz / 1000.0);
    add("§5", "smallest partition", setting.machine.way_bytes / 1024.0 / 1024.0);
    findings.add_text(
        "§5",
        "workload sizes",
        WORKLOAD_SIZES.map(|size| size.to_string()).join("/"),
    );
    let classes = classes(table, setting.llc.ways);
    let count = |class| classes.iter().filter(|&&other| other == class).count().to_string();
    let counts = CLASSES.map(count).join("/");
    if table.names().len() == PROFILED {
        let case = "class counts of the 55 profiled programs (streaming/sensitive/light)";
        findings.add_text("Table 1", case, counts);
    }
}

/// Figure 4: a program that is light at first, and then streams. Of those with phases, whether there is
/// one whose LLCMPKC goes up through the threshold once, and never down.
fn phases(programs: &Programs, ways: Ways, findings: &mut Findings) -> Option<Line> {
    let table = programs.table();
    let threshold = Parameters::default().high_threshold;
    let phased = table.names().len()..programs.len();
    let streams = |&index: &usize| {
        let phases = programs.phases(index);
        let light = |phase: &fairways_profiles::Phase| {
            classify(&table.profile(phase.program), ways, &Parameters::default()) == Class::Light
        };
        if !phases.first().is_some_and(light) {
            return false;
        }
        let busy = phases
            .iter()
            .map(|phase| table.profile(phase.program).llcmpkc.at(ways.get()) > threshold);
        let busy: Vec<bool> = busy.collect();
        let first = busy.iter().position(|&busy| busy);
        first.is_some_and(|first| first > 0 && busy[first..].iter().all(|&busy| busy))
    };
    if phased.is_empty() {
        return None;
    }
    let found = phased.clone().find(streams);
    let case = "fotonik3d: light at first, then LLCMPKC above 10 for the rest";
    findings.add("Figure 4", case, f64::from(u8::from(found.is_some())));
    let index = found?;
    let mut points = Vec::new();
    let mut ran = 0.0;
    for phase in programs.phases(index) {
        let program = Program::new(table, phase.program, ways);
        let llcmpkc = program.rates(f64::from(ways.get())).llcmpkc;
        points.push((ran, llcmpkc));
        // The last may have no end.
        let instructions = phase.instructions.unwrap_or(Protocol::default().instructions);
        ran += instructions as f64 / 1e9;
        points.push((ran, llcmpkc));
    }
    Some(Line { name: programs.name(index).to_owned(), points })
}

impl Figures {
    /// Draws them all into a folder: `figure1.svg` and so on.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &Path) -> Result<(), FigureError> {
        let Self { curves, phased, composition, ratios, scored, ran, costs } = self;
        let file = |name: &str| folder.join(name);
        if !curves.is_empty() {
            lines(&file("figure1.svg"), "Figure 1: slowdown", ["ways", "slowdown"], curves)?;
        }
        let classes = CLASSES.iter().enumerate().map(|(index, class)| {
            let heights = composition.programs.iter().map(|programs| f64::from(programs[index]));
            (class.name().to_owned(), heights.collect())
        });
        let sizes = Bars {
            labels: (1..=composition.programs.len()).map(|ways| ways.to_string()).collect(),
            series: classes.collect(),
            stacked: true,
        };
        let title = "Figure 2: programs by the ways of their clusters";
        bars(&file("figure2.svg"), title, ["ways of the cluster", "programs"], &sizes)?;
        let title = "Figure 3: best partitioning over best clustering, unfairness";
        let line = Line { name: "mean".into(), points: ratios.clone() };
        // There is none on fewer ways than the fewest programs.
        if !line.points.is_empty() {
            lines(&file("figure3.svg"), title, ["programs", "ratio"], &[line])?;
        }
        if let Some(line) = phased {
            let axes = ["10^9 instructions", "LLC misses per 1000 cycles"];
            let title = "Figure 4: a program that is light at first, and then streams";
            lines(&file("figure4.svg"), title, axes, std::slice::from_ref(line))?;
        }
        let ran: Vec<Scored> = ran.iter().map(|(mix, _)| mix.clone()).collect();
        for (number, mixes, names) in
            [(6, scored, &statically::POLICIES[..]), (7, &ran, &over_time::POLICIES)]
        {
            for (what, part) in [("unfairness", 0), ("STP", 1)] {
                let heights = |policy: &&str| {
                    let of = |mix: &Scored| {
                        let (unfairness, stp) = mix.of(policy);
                        [unfairness, stp][part]
                    };
                    ((*policy).to_owned(), mixes.iter().map(of).collect())
                };
                let plot = Bars {
                    labels: mixes.iter().map(|mix| mix.mix.clone()).collect(),
                    series: names.iter().map(heights).collect(),
                    stacked: false,
                };
                let name = format!("figure{number}-{}.svg", what.to_lowercase());
                let title = format!("Figure {number}: {what} over stock");
                bars(&file(&name), &title, ["mix", what], &plot)?;
            }
        }
        let cost = |(index, name): (usize, &str)| {
            let points = cost::PROGRAMS
                .zip(costs)
                .map(|(programs, cost)| (programs as f64, cost[index].log10()));
            Line { name: name.to_owned(), points: points.collect() }
        };
        let costs: Vec<Line> =
            ["LFOC", "KPart", "LFOC+"].into_iter().enumerate().map(cost).collect();
        let title = "Table 2: what a decision costs";
        lines(&file("table2.svg"), title, ["programs", "log10 of milliseconds"], &costs)
    }
}

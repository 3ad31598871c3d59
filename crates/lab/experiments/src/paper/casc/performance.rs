//! Figures 5 to 7: miss rates, throughput and fairness, and how well threads are classified.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fairways_chip::{Account, ChipError};
use fairways_policy::casc::{Measurement, Parameters};
use rayon::prelude::*;

use super::setup::{CascBench, CascOutcome, JudgedThread, PROGRAMS, SIZES, THREADS, alone, chip};
use super::{Setting, claims};
use crate::paper::Findings;
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{Stretch, least, mean, median, most, spread};

/// The results with an L2 of one size, by run.
#[derive(Clone, Debug)]
pub(super) struct SizeOutcome {
    /// The paper's benchmarks.
    programs: [&'static str; 3],
    pub(super) kb: u32,
    pub(super) stock: Vec<Stretch>,
    /// Empty for the size that runs with the default scheduler only.
    pub(super) casc: Vec<CascOutcome>,
}

/// All results.
#[derive(Clone, Debug)]
pub(super) struct Performance {
    /// From the smallest on; the last is twice the base.
    pub(super) sizes: Vec<SizeOutcome>,
    /// Misses per 100 references of each program alone with the base L2.
    alone: Vec<f64>,
}

/// What runs, and how CASC decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) programs: [&'static str; 3],
    pub(super) parameters: Parameters,
    /// Whether CASC counts stores that hit the L1 as references, too.
    pub(super) counts_stores: bool,
}

/// `stock`: the results of the default scheduler with the same programs and seeds, if known.
pub(super) fn run(
    setting: Setting,
    Load { programs, parameters, counts_stores }: Load,
    stock: Option<&Performance>,
    what: &str,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Performance, ChipError> {
    let Setting { time_scale, runs, seconds, seed, ground, .. } = setting;
    let run_programs = programs.map(|name| BenchProgram::of_benchmark(name, ground));
    let bench = |l2_kb, run| CascBench {
        programs: run_programs,
        l2_kb,
        time_scale,
        seed: seed + run,
        span: Duration::from_secs_f64(seconds),
        counts_stores,
    };
    let with_casc = |&kb: &u32| (0..runs).map(move |run| (kb, run, true));
    let without = |&kb: &u32| (0..runs).map(move |run| (kb, run, false));
    let sizes: Vec<u32> = SIZES.into_iter().chain([1536]).collect();
    let mut all: Vec<(u32, u64, bool)> = SIZES.iter().flat_map(with_casc).collect();
    if stock.is_none() {
        all.extend(sizes.iter().flat_map(without));
    }
    let done = AtomicUsize::new(0);
    let one = |&(kb, run, with_casc): &(u32, u64, bool)| {
        let bench = bench(kb, run);
        let found = if with_casc {
            bench.casc(parameters).map(BenchOutcome::Casc)
        } else {
            bench.stock().map(BenchOutcome::Stock)
        };
        progress(what, 1 + done.fetch_add(1, Ordering::Relaxed), all.len());
        found.map(|found| (kb, found))
    };
    let found: Vec<(u32, BenchOutcome)> =
        all.par_iter().map(one).collect::<Result<_, ChipError>>()?;
    let mut sizes: Vec<SizeOutcome> = sizes
        .into_iter()
        .enumerate()
        .map(|(size, kb)| {
            let stock = stock.map_or(Vec::new(), |known| known.sizes[size].stock.clone());
            SizeOutcome { programs, kb, stock, casc: Vec::new() }
        })
        .collect();
    for (kb, found) in found {
        let size = sizes.iter_mut().find(|size| size.kb == kb);
        let Some(size) = size else { continue };
        match found {
            BenchOutcome::Stock(stretch) => size.stock.push(stretch),
            BenchOutcome::Casc(fared) => size.casc.push(fared),
        }
    }
    let alone = match stock {
        Some(known) => known.alone.clone(),
        None => {
            run_programs.iter().map(|&program| alone(program, seed)).collect::<Result<_, _>>()?
        }
    };
    Ok(Performance { sizes, alone })
}

enum BenchOutcome {
    Stock(Stretch),
    Casc(CascOutcome),
}

impl SizeOutcome {
    /// The means over the runs, with the default scheduler and with CASC.
    fn means(&self, value: fn(&Stretch) -> f64) -> (f64, f64) {
        let stock: Vec<f64> = self.stock.iter().map(value).collect();
        let casc: Vec<f64> = self.casc.iter().map(|fared| value(&fared.stretch)).collect();
        (mean(&stock), mean(&casc))
    }

    /// Misses per 100 references with the default scheduler and with CASC.
    pub(super) fn miss_rates(&self) -> (f64, f64) {
        self.means(Stretch::miss_rate)
    }

    /// Instructions per second, likewise.
    pub(super) fn throughputs(&self) -> (f64, f64) {
        self.means(Stretch::throughput)
    }

    /// The share of all CPU time that a program's threads had, percent, likewise: threads that are
    /// kept from most CPUs starve.
    fn shares(&self, program: usize) -> (f64, f64) {
        let share = |stretch: &Stretch| {
            let its = stretch.each.iter().skip(program).step_by(self.programs.len());
            100.0 * its.map(Account::cycles).sum::<f64>()
                / stretch.each.iter().map(Account::cycles).sum::<f64>()
        };
        let stock: Vec<f64> = self.stock.iter().map(share).collect();
        let casc: Vec<f64> = self.casc.iter().map(|fared| share(&fared.stretch)).collect();
        (mean(&stock), mean(&casc))
    }

    /// Adds the scores of the threads in the first run, and the resulting `MAX_PCMR`s.
    fn scores(&self, item: &str, findings: &mut Findings) {
        let Some(fared) = self.casc.first() else { return };
        let kb = self.kb;
        for (program, name) in self.programs.iter().enumerate() {
            let its = fared.threads.iter().filter(|judged| judged.program == program);
            fn text(judged: &JudgedThread) -> String {
                let mark = if judged.by == Measurement::Secondary { "'" } else { "" };
                format!("{:.0}{mark}", judged.score)
            }
            let text = its.map(text).collect::<Vec<_>>().join(" ");
            // Programs of the same name differ by their order.
            let case = format!("{kb} KB, PCMRs of {name} ({})", program + 1);
            findings.add_text_beside(item, &case, text);
        }
        let text = fared.max_pcmrs.iter().map(|max| format!("{max:.0}"));
        let case = format!("{kb} KB, MAX_PCMR by CPU");
        findings.add_text_beside(item, &case, text.collect::<Vec<_>>().join(" "));
    }

    fn reduction(&self) -> f64 {
        let (stock, casc) = self.miss_rates();
        100.0 * (1.0 - casc / stock)
    }

    fn gain(&self) -> f64 {
        let (stock, casc) = self.throughputs();
        100.0 * (casc / stock - 1.0)
    }

    /// The standard deviation of the threads' time over its mean, percent, with the default
    /// scheduler and with CASC.
    fn unevenness(&self) -> (f64, f64) {
        let (stock, casc) = self.means(Stretch::unevenness);
        (100.0 * stock, 100.0 * casc)
    }
}

impl Performance {
    fn with_casc(&self) -> &[SizeOutcome] {
        &self.sizes[..SIZES.len()]
    }

    /// The size at which CASC is least even.
    pub(super) fn worst(&self) -> &SizeOutcome {
        self.with_casc()
            .iter()
            .max_by(|a, b| a.unevenness().1.total_cmp(&b.unevenness().1))
            .unwrap_or(&self.sizes[0])
    }

    pub(super) fn findings(&self, setting: Setting, findings: &mut Findings) {
        let mhz = f64::from(chip(SIZES[0]).mhz);
        let steps = (setting.seconds * mhz * 1e6 / f64::from(setting.time_scale)).round();
        findings.add(claims::MEASURED_RUN, steps);
        let is_quick = setting.runs == 1;
        self.by_seed(is_quick, findings);
        if !is_quick {
            let runs = (0..usize::try_from(setting.runs).unwrap_or(1)).map(|run| {
                let mut findings = Findings::default();
                self.only_run(run).by_seed(is_quick, &mut findings);
                findings
            });
            findings.note_seeds(&runs.collect::<Vec<_>>());
        }
        let each: Vec<f64> =
            (0..THREADS).map(|thread| self.alone[thread % PROGRAMS.len()]).collect();
        findings.add(claims::MISS_RATE_SPREAD, 100.0 * spread(&each));
        for (name, rate) in PROGRAMS.iter().zip(&self.alone) {
            let case = format!("{name} by itself, 768 KB");
            findings.add_beside("§5.4.1", &case, "misses/100 refs", Some(*rate));
        }
    }

    /// Adds the results that depend on the seed.
    fn by_seed(&self, is_quick: bool, findings: &mut Findings) {
        self.beside("Figures 5 and 6", findings);
        // In a quick run the 2 ms of a measurement are 0.1 ms, in which caches still fill: scores,
        // and the results that follow from them, are not the paper's.
        if !is_quick {
            self.gains(findings);
            self.accuracy(findings);
            self.fairness(findings);
        }
        self.starved(findings);
    }

    /// The results of one of the seeds.
    pub(super) fn only_run(&self, run: usize) -> Self {
        Self {
            sizes: self
                .sizes
                .iter()
                .map(|size| SizeOutcome {
                    stock: vec![size.stock[run].clone()],
                    casc: size.casc.get(run).cloned().into_iter().collect(),
                    ..*size
                })
                .collect(),
            alone: self.alone.clone(),
        }
    }

    fn gains(&self, findings: &mut Findings) {
        let sizes = self.with_casc();
        let reductions: Vec<f64> = sizes.iter().map(SizeOutcome::reduction).collect();
        let gains: Vec<f64> = sizes.iter().map(SizeOutcome::gain).collect();
        let base = sizes.len() - 1;
        findings.add(claims::LEAST_REDUCTION, least(&reductions));
        findings.add(claims::MOST_REDUCTION, most(&reductions));
        findings.add(claims::REDUCTION_AT_768_KB, reductions[base]);
        findings.add(claims::LEAST_GAIN, least(&gains));
        findings.add(claims::MOST_GAIN, most(&gains));
        findings.add(claims::GAIN_AT_768_KB, gains[base]);
        let twice = self
            .sizes
            .windows(2)
            .filter(|pair| pair[0].miss_rates().1 <= pair[1].miss_rates().0)
            .count();
        findings.add(claims::AS_TWICE_THE_CACHE, 100.0 * twice as f64 / sizes.len() as f64);
    }

    /// Adds miss rates and gains by size, and the scores of the threads.
    pub(super) fn beside(&self, item: &str, findings: &mut Findings) {
        for size in self.with_casc() {
            let (rates, kb) = (size.miss_rates(), size.kb);
            let case = format!("{kb} KB, default");
            findings.add_beside(item, &case, "misses/100 refs", Some(rates.0));
            let case = format!("{kb} KB, CASC");
            findings.add_beside(item, &case, "misses/100 refs", Some(rates.1));
            let case = format!("{kb} KB, miss-rate reduction");
            findings.add_beside(item, &case, "percent", Some(size.reduction()));
            let case = format!("{kb} KB, throughput gain");
            findings.add_beside(item, &case, "percent", Some(size.gain()));
            for (program, name) in size.programs.iter().enumerate() {
                let (stock, casc) = size.shares(program);
                let case = format!("{kb} KB, CPU time of {name} ({}), default", program + 1);
                findings.add_beside(item, &case, "percent of all", Some(stock));
                let case = format!("{kb} KB, CPU time of {name} ({}), CASC", program + 1);
                findings.add_beside(item, &case, "percent of all", Some(casc));
            }
            size.scores(item, findings);
        }
        let double = self.sizes[SIZES.len()].miss_rates().0;
        findings.add_beside(item, "1536 KB, default", "misses/100 refs", Some(double));
    }

    fn accuracy(&self, findings: &mut Findings) {
        fn right(fared: &CascOutcome) -> f64 {
            fared.threads.iter().filter(|judged| judged.is_right()).count() as f64
        }
        let per_size: Vec<f64> = self
            .with_casc()
            .iter()
            .map(|size| mean(&size.casc.iter().map(right).collect::<Vec<f64>>()))
            .collect();
        let item = "§5.3.2";
        findings.add(claims::LEAST_RIGHT, least(&per_size));
        findings.add(claims::MOST_RIGHT, most(&per_size));
        for (size, right) in self.with_casc().iter().zip(&per_size) {
            let case = format!("threads classified right, {} KB", size.kb);
            findings.add_beside(item, &case, "threads", Some(*right));
        }
        let base = &self.with_casc()[SIZES.len() - 1];
        let greedy = base.casc.iter().map(|fared| {
            let art = fared.threads.iter().filter(|judged| judged.program == 0);
            art.filter(|judged| judged.is_greedy).count() as f64
        });
        let found = mean(&greedy.collect::<Vec<f64>>());
        findings.add(claims::ART_GREEDY, found);
        let fared = || self.with_casc().iter().flat_map(|size| &size.casc);
        let wrong = || fared().flat_map(|fared| &fared.threads).filter(|judged| !judged.is_right());
        let secondary = wrong().filter(|judged| judged.by == Measurement::Secondary).count();
        let share = 100.0 * secondary as f64 / wrong().count() as f64;
        let share = Some(share).filter(|share| share.is_finite());
        findings.add_if(claims::SECONDARY_ERRORS, share);
        let errors: Vec<f64> = fared().filter_map(|fared| fared.worst_error).collect();
        let errors: Vec<f64> = errors.into_iter().map(|error| 100.0 * error).collect();
        if !errors.is_empty() {
            findings.add(claims::WORST_ESTIMATE, most(&errors));
            let case = "estimate of group miss rate, worst error, median run";
            findings.add_beside("§4.2", case, "percent", Some(median(&errors)));
        }
        let unknown: usize = fared().map(|fared| fared.unknown).sum();
        let case = "threads that were never measured, all runs";
        findings.add_beside(item, case, "threads", Some(unknown as f64));
        let initial: Vec<f64> = fared().map(|fared| fared.initial).collect();
        findings.add(claims::INITIAL_MEAN, mean(&initial));
        findings.add(claims::INITIAL_MEDIAN, median(&initial));
        let secondary: Vec<f64> = fared().map(|fared| fared.secondary).collect();
        findings.add(claims::SECONDARY_MEASUREMENT, mean(&secondary));
    }

    fn fairness(&self, findings: &mut Findings) {
        let (stock, casc) = self.worst().unevenness();
        findings.add(claims::UNEVENNESS_CASC, casc);
        findings.add(claims::UNEVENNESS_DEFAULT, stock);
        let less_even = f64::from(u8::from(casc > stock));
        findings.add(claims::LESS_EVEN, less_even);
    }

    /// §5.3.3: threads that had no time at all.
    fn starved(&self, findings: &mut Findings) {
        let fared = || self.with_casc().iter().flat_map(|size| &size.casc);
        let starved = fared().flat_map(|fared| &fared.stretch.each).filter(|each| each.ticks == 0);
        findings.add(claims::STARVED, starved.count() as f64);
    }
}

//! Figures 6 to 8 and §5.4, §5.5: Table 2's schedules under the conventional scheduler, under cache-fair, and with
//! the cache divided.

use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_chip::ChipError;
use fairways_policy::cache_fair::Parameters;
use rayon::prelude::*;

use super::Setting;
use super::setup::{Fared, Run, TABLE_2, THREADS, Under};
use crate::paper::Findings;
use crate::paper::turns::{least, mean, most};

/// Percent more that a best-effort thread must do to have gained.
const GAIN: f64 = 2.0;

/// A way in which all schedules are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Conventional,
    /// Cache-fair as it was published.
    CacheFair,
    Partitioned,
    /// With the cache divided, and an unlimited bus.
    Unlimited,
    /// Cache-fair with this one of the other co-runners as the best-effort thread.
    Other(usize),
    /// Cache-fair with a bound on what best-effort threads lose, which is ours.
    Bounded,
}

impl How {
    /// What the paper has no figure of is run once.
    fn runs(self, setting: Setting) -> u64 {
        match self {
            Self::Bounded | Self::Other(_) => 1,
            _ => setting.runs,
        }
    }

    fn run(self, schedule: [&'static str; THREADS], number: u64) -> Run {
        let bounded = Parameters::default();
        let published = Parameters { penalty_limit: 0, ..bounded };
        let (under, unlimited) = match self {
            Self::Conventional => (Under::Conventional, false),
            Self::CacheFair | Self::Other(_) => (Under::CacheFair(published), false),
            Self::Bounded => (Under::CacheFair(bounded), false),
            Self::Partitioned => (Under::Partitioned, false),
            Self::Unlimited => (Under::Partitioned, true),
        };
        let best_effort = if let Self::Other(thread) = self { thread } else { THREADS - 1 };
        Run { schedule, under, best_effort, unlimited, number }
    }
}

/// Of a benchmark: its runs in the fast and in the slow schedule.
type Pair = [Vec<Fared>; 2];

/// Everything that was run: by way, by benchmark.
#[derive(Clone, Debug)]
pub(super) struct Schedules(Vec<(How, Vec<Pair>)>);

pub(super) fn run(
    setting: Setting,
    told: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Schedules, ChipError> {
    let mut ways = vec![How::Conventional, How::CacheFair, How::Partitioned, How::Unlimited];
    if setting.others {
        ways.extend([How::Other(1), How::Other(2), How::Bounded]);
    }
    let schedules = TABLE_2.iter().flat_map(|&(principal, fast, slow)| {
        [fast, slow].map(|with| [principal, with[0], with[1], with[2]])
    });
    let schedules: Vec<[&str; THREADS]> = schedules.collect();
    let runs: Vec<(How, [&str; THREADS], u64)> = ways
        .iter()
        .flat_map(|&how| schedules.iter().map(move |&schedule| (how, schedule)))
        .flat_map(|(how, schedule)| (0..how.runs(setting)).map(move |run| (how, schedule, run)))
        .collect();
    let done = AtomicUsize::new(0);
    let one = |&(how, schedule, number): &(How, [&'static str; THREADS], u64)| {
        let fared = how.run(schedule, number).run(setting);
        told("Figures 6 to 8", 1 + done.fetch_add(1, Ordering::Relaxed), runs.len());
        fared
    };
    let fared: Vec<Fared> = runs.par_iter().map(one).collect::<Result<_, ChipError>>()?;
    let mut fared = fared.into_iter();
    let mut next = |how: How| -> Vec<Fared> {
        fared.by_ref().take(usize::try_from(how.runs(setting)).unwrap_or(1)).collect()
    };
    let all = ways.iter().map(|&how| {
        let pairs = TABLE_2.iter().map(|_| [next(how), next(how)]);
        (how, pairs.collect::<Vec<Pair>>())
    });
    Ok(Schedules(all.collect()))
}

/// Seconds of the principal's segment, the mean of the runs.
fn seconds(runs: &[Fared]) -> f64 {
    mean(&runs.iter().map(|fared| fared.seconds).collect::<Vec<f64>>())
}

/// How much longer it takes in the slow schedule, percent.
fn variability([fast, slow]: &Pair) -> f64 {
    100.0 * (seconds(slow) / seconds(fast) - 1.0)
}

/// Instructions per second of a thread, the mean of the runs.
fn speed(runs: &[Fared], thread: usize) -> f64 {
    mean(&runs.iter().map(|fared| fared.speed(thread)).collect::<Vec<f64>>())
}

fn index(name: &str) -> usize {
    TABLE_2.iter().position(|(principal, ..)| *principal == name).unwrap_or(0)
}

impl Schedules {
    pub(super) fn pairs(&self, how: How) -> Option<&[Pair]> {
        let found = self.0.iter().find(|(other, _)| *other == how)?;
        Some(&found.1)
    }

    /// Of every benchmark, how much longer it takes in the slow schedule, percent.
    pub(super) fn variabilities(&self, how: How) -> Vec<f64> {
        self.pairs(how).unwrap_or_default().iter().map(variability).collect()
    }

    /// Seconds of every benchmark's segment in the fast or in the slow schedule.
    pub(super) fn seconds(&self, how: How, slow: bool) -> Vec<f64> {
        let pairs = self.pairs(how).unwrap_or_default();
        pairs.iter().map(|pair| seconds(&pair[usize::from(slow)])).collect()
    }

    pub(super) fn findings(&self, findings: &mut Findings) {
        self.stability(findings);
        self.performance(findings);
        self.best_effort(findings);
        self.partitioning(findings);
        for (how, name) in [
            (How::Bounded, "cache-fair, best-effort loss bounded"),
            (How::Other(1), "cache-fair, first co-runner best-effort"),
            (How::Other(2), "cache-fair, second co-runner best-effort"),
        ] {
            for ((program, ..), value) in TABLE_2.iter().zip(self.variabilities(how)) {
                let case = format!("{program}, {name}");
                findings.add_beside("Figure 7", &case, "percent", Some(value));
            }
        }
    }

    fn stability(&self, findings: &mut Findings) {
        let conventional = self.variabilities(How::Conventional);
        let fair = self.variabilities(How::CacheFair);
        let of = |values: &[f64], name: &str| values[index(name)];
        for (case, name) in [
            ("vortex, slow over fast, conventional", "vortex"),
            ("gzip, conventional", "gzip"),
            ("crafty, conventional", "crafty"),
        ] {
            findings.add("Figure 6", case, of(&conventional, name));
        }
        let others: Vec<f64> = TABLE_2
            .iter()
            .zip(&conventional)
            .filter(|((name, ..), _)| !["vortex", "gzip", "crafty"].contains(name))
            .map(|(_, value)| *value)
            .collect();
        findings.add("Figure 6", "the other programs, least", least(&others));
        let mpki = |runs: &[Fared]| mean(&runs.iter().map(Fared::mpki).collect::<Vec<f64>>());
        if let Some(pairs) = self.pairs(How::Conventional) {
            let [fast, slow] = &pairs[index("vortex")];
            let case = "vortex L2 miss rate, slow over fast, increase";
            findings.add("§5.2", case, 100.0 * (mpki(slow) / mpki(fast) - 1.0));
            let mpkc = |runs: &[Fared]| mean(&runs.iter().map(Fared::mpkc).collect::<Vec<f64>>());
            let case = "vortex L2 misses per cycle, slow over fast, increase";
            let more = 100.0 * (mpkc(slow) / mpkc(fast) - 1.0);
            findings.add_beside("§5.2", case, "percent", Some(more));
        }
        for name in ["vortex", "gzip", "crafty"] {
            // Whichever schedule is the slower one.
            let value = of(&fair, name).abs();
            findings.add("Figure 7", &format!("{name}, cache-fair"), value);
        }
        // More is agreement, without end: the band's is 99.
        let factor = |program: usize| (conventional[program] / fair[program].abs()).min(99.0);
        for name in ["vortex", "gzip"] {
            let case = format!("{name}, reduction factor");
            findings.add("Figure 7", &case, factor(index(name)));
        }
        let large = (0..TABLE_2.len()).filter(|&program| conventional[program] >= 8.0);
        let factors: Vec<f64> = large.map(factor).collect();
        let case = "least reduction factor of programs at 8 % or more";
        findings.add_if("Figure 7", case, (!factors.is_empty()).then(|| least(&factors)));
        for (program, (name, ..)) in TABLE_2.iter().enumerate() {
            let mut beside = |item, what: &str, value| {
                findings.add_beside(item, &format!("{name}, {what}"), "percent", Some(value));
            };
            beside("Figures 6 and 7", "conventional, slow over fast", conventional[program]);
            beside("Figures 6 and 7", "cache-fair, slow over fast", fair[program]);
        }
        let pairs = self.pairs(How::CacheFair).unwrap_or_default();
        for ((name, ..), pair) in TABLE_2.iter().zip(pairs) {
            for (runs, schedule) in pair.iter().zip(["fast", "slow"]) {
                let case = format!("{name}, estimated in the {schedule} schedule");
                let rates: Vec<f64> = runs.iter().filter_map(|fared| fared.fair_rate).collect();
                let rate = (!rates.is_empty()).then(|| 1e3 * mean(&rates));
                findings.add_beside("Figure 4", &case, "misses/1000 cycles", rate);
            }
        }
    }

    /// Figure 8: mean completion times, cache-fair over conventional.
    fn performance(&self, findings: &mut Findings) {
        let both = |how| -> Vec<f64> {
            let (fast, slow) = (self.seconds(how, false), self.seconds(how, true));
            fast.iter().zip(slow).map(|(fast, slow)| f64::midpoint(*fast, slow)).collect()
        };
        let (conventional, fair) = (both(How::Conventional), both(How::CacheFair));
        let ratio = |name: &str| fair[index(name)] / conventional[index(name)];
        let item = "Figure 8";
        // Both must: the one that is further from it.
        let case = "mcf and art: mean completion time, cache-fair over conventional";
        findings.add(item, case, ratio("mcf").min(ratio("art")));
        findings.add(item, "gzip and vpr: the same", ratio("gzip").max(ratio("vpr")));
        for (name, ..) in TABLE_2 {
            let case = format!("{name}: mean completion time, cache-fair over conventional");
            findings.add_beside(item, &case, "ratio", Some(ratio(name)));
        }
    }

    /// §5.4: what best-effort threads lose, and gain.
    fn best_effort(&self, findings: &mut Findings) {
        let speeds = |how| {
            let pairs = self.pairs(how).unwrap_or_default().iter().flatten();
            pairs.map(|runs| speed(runs, THREADS - 1)).collect::<Vec<f64>>()
        };
        let conventional = speeds(How::Conventional);
        let losses = |how| -> Vec<f64> {
            let fair = speeds(how);
            fair.iter()
                .zip(&conventional)
                .map(|(fair, before)| 100.0 * (1.0 - fair / before))
                .collect()
        };
        let published = losses(How::CacheFair);
        let item = "§5.4";
        findings.add(item, "largest loss of a best-effort thread", most(&published));
        // A turn more or less in a segment is some percent: a gain is one that several turns make.
        let gains = published.iter().filter(|loss| **loss < -GAIN).count();
        findings.add(item, "best-effort threads that gain", gains as f64);
        let bounded = losses(How::Bounded);
        let largest = (!bounded.is_empty()).then(|| most(&bounded));
        let case = "largest loss of a best-effort thread, bounded";
        findings.add_beside(item, case, "percent", largest);
    }

    /// §5.5: half of the ways for each core.
    fn partitioning(&self, findings: &mut Findings) {
        let conventional = self.variabilities(How::Conventional);
        let divided = self.variabilities(How::Partitioned);
        // A difference: a fifth of it, and more than a point. The paper has no number.
        let change = |program: usize| divided[program].abs() - conventional[program].abs();
        let matters = |program: usize| {
            change(program).abs() > 1.0 && change(program).abs() > conventional[program].abs() / 5.0
        };
        let reduced =
            (0..TABLE_2.len()).filter(|&program| matters(program) && change(program) < 0.0);
        let same = (0..TABLE_2.len()).filter(|&program| !matters(program));
        let item = "§5.5";
        let case = "programs whose variability equal partitioning reduces, of 9";
        findings.add(item, case, reduced.count() as f64);
        findings.add(item, "programs for which it makes no difference", same.count() as f64);
        let worse = (0..TABLE_2.len()).filter(|&program| matters(program) && change(program) > 0.0);
        let case = "programs whose variability it raises";
        findings.add_beside(item, case, "programs", Some(worse.count() as f64));
        let unlimited: Vec<f64> =
            self.variabilities(How::Unlimited).iter().map(|value| value.abs()).collect();
        let case = "variability with equal partitioning and unlimited bandwidth, largest";
        findings.add(item, case, most(&unlimited));
        for (program, (name, ..)) in TABLE_2.iter().enumerate() {
            let mut beside = |what: &str, value| {
                findings.add_beside(item, &format!("{name}, {what}"), "percent", Some(value));
            };
            beside("equal partitioning", divided[program]);
            beside("equal partitioning, unlimited bandwidth", unlimited[program]);
        }
    }
}

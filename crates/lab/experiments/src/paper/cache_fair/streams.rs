//! The programs alone: the use of banks (§3.1), and how steady they are (§4.3).

use std::time::Duration;

use fairways_chip::{Account, Chip, ChipError};
use fairways_core::{NoPolicy, Time};
use rayon::prelude::*;

use super::setup::{TABLE_2, chip};
use super::{Setting, claims};
use crate::paper::Findings;
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{least, most, run_until, solaris_settings};

/// The windows of a run.
const WINDOWS: u32 = 6;

/// The programs for which the paper found more (§3.1).
const EXCEPTIONS: [&str; 3] = ["gzip", "twolf", "vpr"];

/// A program is steady if the misses of its windows are within this percentage of each other: the
/// paper has no number.
const STEADY: f64 = 10.0;

/// A program's counts in each window after the first.
fn windows(name: &'static str, setting: Setting) -> Result<Vec<Account>, ChipError> {
    let settings = solaris_settings(chip(false), setting.seed);
    let job = BenchProgram::Model(name).job(&settings.chip, Time::ZERO);
    let mut chip = Chip::new(settings, [job])?;
    // 100 million instructions, at some four cycles each.
    let window = Duration::from_millis(400) / setting.time_scale;
    let mut counted = Vec::new();
    for number in 1..=WINDOWS {
        run_until(&mut chip, &mut NoPolicy, Time::ZERO.after(window * number));
        counted.push(chip.account(0));
    }
    Ok(counted.windows(2).map(|pair| pair[1].minus(&pair[0])).collect())
}

/// How much more often the most used bank is used than the least used one, percent.
fn imbalance(windows: &[Account], banks: usize) -> f64 {
    let of = |bank: usize| windows.iter().map(|account| account.banks[bank]).sum::<u64>() as f64;
    let uses: Vec<f64> = (0..banks).map(of).collect();
    100.0 * (most(&uses) / least(&uses) - 1.0)
}

fn is_steady(windows: &[Account]) -> bool {
    fn rate(account: &Account) -> f64 {
        account.llc_misses as f64 / account.instructions as f64
    }
    let rates: Vec<f64> = windows.iter().map(rate).collect();
    most(&rates) <= least(&rates) * (1.0 + STEADY / 100.0)
}

pub(super) fn findings(setting: Setting, findings: &mut Findings) -> Result<(), ChipError> {
    let all: Vec<Vec<Account>> = TABLE_2
        .par_iter()
        .map(|(name, ..)| windows(name, setting))
        .collect::<Result<_, ChipError>>()?;
    let banks = chip(false).banks as usize;
    let each: Vec<f64> = all.iter().map(|windows| imbalance(windows, banks)).collect();
    for ((name, ..), imbalance) in TABLE_2.iter().zip(&each) {
        let case = format!("L2 bank imbalance of {name}");
        findings.add_beside("§3.1", &case, "percent", Some(*imbalance));
    }
    // All programs but the paper's three exceptions.
    let most_programs = TABLE_2.iter().zip(&each);
    let most_programs = most_programs.filter(|((name, ..), _)| !EXCEPTIONS.contains(name));
    let most_programs: Vec<f64> = most_programs.map(|(_, imbalance)| *imbalance).collect();
    findings.add(claims::BANK_IMBALANCE, most(&most_programs));
    let steady = all.iter().filter(|windows| is_steady(windows)).count();
    findings.add(claims::STABLE_PATTERNS, steady as f64);
    Ok(())
}

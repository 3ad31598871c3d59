//! §3: the shape of the fairest clusterings.

use fairways_optimum::Impossible;
use fairways_policy::lfoc::Class;

use super::{Lfoc, Setting, WAYS};
use crate::best::{CLASSES, Composition, composition, partitioning_over_clustering};
use crate::draw::random_mixes;
use crate::paper::Findings;

impl Lfoc<'_> {
    /// Figures 2 and 3.
    pub(super) fn analysis(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Composition, Vec<(f64, f64)>), Impossible> {
        Ok((self.composition(findings, progress)?, self.ratios(findings, progress)?))
    }

    /// Figure 2, and §3's statements beside it.
    fn composition(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<Composition, Impossible> {
        const ITEM: &str = "Figure 2";
        const PROGRAMS: usize = 10;
        progress("Figure 2: fairest clusterings", 0, 1);
        let Setting { llc, machine, mixes, seed, .. } = self.setting;
        let table = self.programs.table();
        let mixes = random_mixes(table, &[PROGRAMS], mixes, seed);
        let found = composition(table, &mixes, llc, machine.bandwidth)?;
        for (case, class, ways) in [
            ("streaming instances in 1-way clusters, 20 mixes of 10", Class::Streaming, 1..=1),
            ("streaming instances in clusters of 1 or 2 ways", Class::Streaming, 1..=2),
            ("sensitive instances in clusters of 4 ways or more", Class::Sensitive, 4..=usize::MAX),
            ("light instances in 1-way clusters", Class::Light, 1..=1),
        ] {
            let share = found.share(class, |size| ways.contains(&size));
            findings.add_if(ITEM, case, share.map(|share| 100.0 * share));
        }
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
        Ok(found)
    }

    /// Figure 3: the mean ratio by number of programs.
    fn ratios(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<Vec<(f64, f64)>, Impossible> {
        const ITEM: &str = "Figure 3";
        let Setting { llc, machine, mixes, seed, .. } = self.setting;
        let (table, most) = (self.programs.table(), llc.ways.get());
        let mut below_one = 0;
        let sizes = 4..=most;
        let line = sizes
            .map(|programs| {
                progress(
                    "Figure 3: fairest partitionings",
                    programs as usize - 3,
                    most as usize - 3,
                );
                let mixes = random_mixes(table, &[programs as usize], mixes, seed);
                let ratios = partitioning_over_clustering(table, &mixes, llc, machine.bandwidth)?;
                below_one += ratios.iter().filter(|ratio| **ratio < 1.0 - 1e-12).count();
                Ok((f64::from(programs), ratios.iter().sum::<f64>() / ratios.len() as f64))
            })
            .collect::<Result<Vec<(f64, f64)>, Impossible>>()?;
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
        Ok(line)
    }
}

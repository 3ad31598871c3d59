//! §3: the shape of the fairest clusterings.

use fairways_optimum::Impossible;
use fairways_policy::lfoc::Class;

use super::{Lfoc, Setting, WAYS, claims};
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
        const PROGRAMS: usize = 10;
        progress("Figure 2: fairest clusterings", 0, 1);
        let Setting { llc, machine, mixes, seed, .. } = self.setting;
        let table = self.programs.table();
        let mixes = random_mixes(table, &[PROGRAMS], mixes, seed);
        let found = composition(table, &mixes, llc, machine.bandwidth)?;
        for (claim, class, ways) in [
            (claims::STREAMING_IN_1_WAY, Class::Streaming, 1..=1),
            (claims::STREAMING_IN_2_WAYS, Class::Streaming, 1..=2),
            (claims::SENSITIVE_IN_4_WAYS, Class::Sensitive, 4..=usize::MAX),
            (claims::LIGHT_IN_1_WAY, Class::Light, 1..=1),
        ] {
            let share = found.share(class, |size| ways.contains(&size));
            findings.add_if(claim, share.map(|share| 100.0 * share));
        }
        findings.add_text(claims::MIXES, format!("{} x {PROGRAMS}", mixes.len()));
        let mut ways = found.streaming_ways.clone();
        ways.sort_unstable();
        let most = ways.last().copied().unwrap_or(0);
        findings.add(claims::MOST_STREAMING_WAYS, f64::from(most));
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
            findings.add(claims::PARTITIONING_OVER_CLUSTERING_4, first.1);
            if most == WAYS {
                findings.add(claims::GROWTH_TO_11, last.1 / first.1);
            }
            findings.add(
                claims::RATIO_BELOW_1,
                f64::from(u32::try_from(below_one).unwrap_or(u32::MAX)),
            );
        }
        Ok(line)
    }
}

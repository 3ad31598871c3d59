//! How a mix fares under a partition: the published PBBCache model (LFOC §3).

use fairways_core::{AppId, Partition, WayMask, Ways};

use crate::bandwidth::{Demand, DemandError, MemoryBandwidth};
use crate::program::{ProfiledProgram, sweep};
use crate::table::ProfileTable;

/// Scores partitions of one mix. It is made once for the mix; a score allocates nothing.
#[derive(Clone, Debug)]
pub struct Scorer {
    ways: Ways,
    bandwidth: Option<MemoryBandwidth>,
    programs: Vec<ProfiledProgram>,
    /// Scratch: the programs that may fill the current way, and the pressure of each.
    fillers: Vec<(usize, f64)>,
    occupancy: Vec<f64>,
    slowdowns: Vec<f64>,
    demands: Vec<Demand>,
}

impl Scorer {
    /// A scorer of the mix of these programs (indices into `table`) on a cache of `ways` ways,
    /// which is at most as many as the table has. With `bandwidth`, programs also slow each other
    /// down at memory; without it, memory has no limit.
    #[must_use]
    pub fn new(
        table: &ProfileTable,
        programs: &[usize],
        ways: Ways,
        bandwidth: Option<MemoryBandwidth>,
    ) -> Self {
        Self {
            ways,
            bandwidth,
            programs: programs
                .iter()
                .map(|&index| ProfiledProgram::new(table, index, ways))
                .collect(),
            fillers: Vec::with_capacity(programs.len()),
            occupancy: vec![0.0; programs.len()],
            slowdowns: vec![0.0; programs.len()],
            demands: Vec::with_capacity(programs.len()),
        }
    }

    /// The slowdown of each program when program `i` may fill the ways of `masks[i]`. There is a
    /// mask for each program, and none is empty; masks may overlap.
    ///
    /// # Errors
    /// If memory can't serve the mix at all: [`DemandError`].
    ///
    /// # Panics
    /// If the number of masks is not that of programs.
    pub fn score(&mut self, masks: &[WayMask]) -> Result<&[f64], DemandError> {
        assert_eq!(masks.len(), self.programs.len(), "a mask for each program");
        self.fill(masks.iter().copied());
        self.contend()
    }

    /// The slowdown of each program under a plan, whose app `i` is program `i`. A cluster's level
    /// limits its programs as [`MemoryBandwidth::limit`] says; where memory has no limit, levels
    /// mean nothing.
    ///
    /// # Errors
    /// If memory can't serve the mix at all: [`DemandError`].
    ///
    /// # Panics
    /// If a program has no place in the plan.
    pub fn score_plan(&mut self, plan: &Partition) -> Result<&[f64], DemandError> {
        let apps = (0..).map(AppId).take(self.programs.len());
        self.fill(apps.clone().map(|app| plan.mask_of(app).expect("a place for each program")));
        if let Some(bandwidth) = self.bandwidth {
            bandwidth.limit(plan, apps, &mut self.demands);
        }
        self.contend()
    }

    /// Computes what each program occupies, and from that its slowdown and its demand.
    fn fill(&mut self, masks: impl Iterator<Item = WayMask> + Clone) {
        self.occupancy.fill(0.0);
        let fill = self.programs.iter().zip(masks);
        sweep(fill, self.ways, &mut self.fillers, &mut self.occupancy, |_, _, _| {});
        for ((slowdown, program), &x) in
            self.slowdowns.iter_mut().zip(&self.programs).zip(&self.occupancy)
        {
            *slowdown = program.slowdown(x);
        }
        if self.bandwidth.is_some() {
            self.demands.clear();
            let at = self.programs.iter().zip(&self.occupancy);
            self.demands.extend(at.map(|(program, &x)| program.demand(x)));
        }
    }

    fn contend(&mut self) -> Result<&[f64], DemandError> {
        if let Some(bandwidth) = self.bandwidth {
            bandwidth.slow_down(&self.demands, &mut self.slowdowns)?;
        }
        Ok(&self.slowdowns)
    }

    /// The programs' demand on memory in the last score, MB/s; 0 where memory has no limit.
    #[must_use]
    pub fn demand_mbps(&self) -> f64 {
        self.demands.iter().map(|demand| demand.mbps).sum()
    }

    /// The ways that each program occupied in the last score.
    #[must_use]
    pub fn occupancy(&self) -> &[f64] {
        &self.occupancy
    }
}

#[cfg(test)]
mod tests {
    use crate::bandwidth::BandwidthModel;
    use crate::read::read_table;

    use super::*;

    /// Both bandwidth models, from the columns of a file to the slowdowns, by hand.
    #[test]
    fn each_model_reads_its_own_columns() {
        let header = "BENCH,NR_WAYS,ipc,llcrpki,llcmpki,llcrpkc,llcmpkc,llc_usage_kb,\
                      bandwidth_mbps,llcm_bandwidth,stalls_l2_miss,stalls_l3_miss,stalls_total,\
                      stalls_store_buf";
        // Two equal programs: memory waits are 0.2 + 0.1 of 0.5. And a program whose waits would
        // exceed its stalls.
        let alike = "1,1,1,1,1,1,1,600,7,0.9,0.2,0.5,0.1";
        let text =
            format!("{header}\na,{alike}\nb,{alike}\nc,1,1,1,1,1,1,1,600,7,0.9,0.3,0.4,0.3\n");
        let table = read_table(text.as_bytes(), "p.csv").unwrap();
        let one = Ways::new(1).unwrap();
        let score = |mix: &[usize], model| {
            let bandwidth = MemoryBandwidth::new(1000.0, model);
            let masks = vec![WayMask::full(one); mix.len()];
            Scorer::new(&table, mix, one, bandwidth).score(&masks).unwrap().to_vec()
        };
        // 1200 wanted of 1000: each gets 500.
        let simple = score(&[0, 1], BandwidthModel::Simple);
        assert!(simple.iter().all(|slowdown| (slowdown - 1.2).abs() < 1e-12), "{simple:?}");
        // U = 2u, (u² + u (1 - 2u)) (1 - 1/0.6) + 1 - 2u = 0: u² - 4u + 1.5 = 0.
        let u = 2.0 - 2.5_f64.sqrt();
        let growth = 0.6 / u;
        let expected = (0.5 + 0.3 * (growth - 1.0)) / 0.5;
        let stalls = score(&[0, 1], BandwidthModel::Stalls);
        assert!(stalls.iter().all(|slowdown| (slowdown - expected).abs() < 1e-9), "{stalls:?}");
        // All of c's stalls are memory's, and no more than all: it slows down as its bandwidth
        // does.
        let held = score(&[2, 2], BandwidthModel::Stalls);
        assert!(held.iter().all(|slowdown| (slowdown - growth).abs() < 1e-9), "{held:?}");
    }
}

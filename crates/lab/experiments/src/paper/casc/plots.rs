//! CASC's figures, drawn.

use super::latency::Point;
use super::noise;
use super::performance::{Performance, SizeOutcome};
use super::setup::PROGRAMS;
use crate::paper::figures::{Bars, FigureError, Line, bars, lines};
use crate::paper::published::{FigureFile, FigureFolder};

/// The data of the figures.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(super) l1: Vec<Point>,
    pub(super) l2: Vec<Point>,
    pub(super) noise: Vec<noise::Point>,
    pub(super) performance: Performance,
}

impl Figures {
    /// Draws all figures into a folder: `figure2.svg` and so on.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        for (name, title, points) in [
            ("figure2", "Figure 2: L1 data caches of other sizes", &self.l1),
            ("figure3", "Figure 3: L2 caches of other sizes", &self.l2),
        ] {
            let by_size = points.iter().map(|&(kb, ipc, misses)| {
                let size = f64::from(kb).log2();
                ((size, ipc), (size, misses / 100.0))
            });
            let (ipc, misses) = by_size.unzip();
            let plot = [
                Line { name: "IPC".to_owned(), points: ipc },
                Line { name: "misses per reference".to_owned(), points: misses },
            ];
            lines(folder.svg(name), title, ["log2 of KB", "IPC; misses per reference"], &plot)?;
        }
        let title = "Threads classified right, of 18";
        let noise = Line { name: "CASC".to_owned(), points: self.noise.clone() };
        lines(
            folder.svg("noise"),
            title,
            ["noise of measured rates, percent", "threads"],
            &[noise],
        )?;
        let with_casc = &self.performance.sizes[..self.performance.sizes.len() - 1];
        let labels = with_casc.iter().map(|size| format!("{} KB", size.kb)).collect::<Vec<_>>();
        let rates = pairs(with_casc.iter().map(SizeOutcome::miss_rates));
        let plot = Bars { labels: labels.clone(), series: rates, stacked: false };
        bars(
            folder.svg("figure5"),
            "Figure 5: L2 miss rates",
            ["L2", "misses per 100 references"],
            &plot,
        )?;
        let throughputs = with_casc.iter().map(SizeOutcome::throughputs);
        let throughputs = pairs(throughputs.map(|(stock, casc)| (stock / 1e9, casc / 1e9)));
        let plot = Bars { labels, series: throughputs, stacked: false };
        let title = "Figure 6: throughput";
        bars(folder.svg("figure6"), title, ["L2", "10^9 instructions per second"], &plot)?;
        self.shares(folder.svg("figure7"))
    }

    /// Figure 7: the share of all time that each program's threads had; six threads are a part of a
    /// bar.
    fn shares(&self, file: FigureFile) -> Result<(), FigureError> {
        let worst = self.performance.worst();
        fn share(accounts: &[fairways_chip::Account], program: usize) -> f64 {
            let all: f64 = accounts.iter().map(fairways_chip::Account::cycles).sum();
            let its = accounts.iter().skip(program).step_by(PROGRAMS.len());
            its.map(fairways_chip::Account::cycles).sum::<f64>() / all
        }
        let (stock, casc) = (&worst.stock[0].each, &worst.casc[0].stretch.each);
        let series = PROGRAMS
            .iter()
            .enumerate()
            .map(|(program, name)| {
                ((*name).to_owned(), vec![share(stock, program), share(casc, program)])
            })
            .collect();
        let labels = vec!["default".to_owned(), "CASC".to_owned()];
        let plot = Bars { labels, series, stacked: true };
        let title = format!("Figure 7: time on a CPU with {} KB", worst.kb);
        bars(file, &title, ["", "share of all time"], &plot)
    }
}

/// The bars of the default scheduler and of CASC.
fn pairs(values: impl Iterator<Item = (f64, f64)>) -> Vec<(String, Vec<f64>)> {
    let (stock, casc) = values.unzip();
    vec![("default".to_owned(), stock), ("CASC".to_owned(), casc)]
}

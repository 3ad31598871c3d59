//! LFOC's analysis of the optimum (§3): Figures 1, 2 and 3, as tables and as SVG.
//!
//! `cargo run --release -p fairways-lab --example optimum_figures -- FOLDER [PROFILES.csv A B]`
//!
//! writes the figures to FOLDER: of the embedded programs, or of a file's on as many ways as it has,
//! with A and B as the streaming and the sensitive program of Figure 1.

#![allow(clippy::print_stdout)]

use std::path::Path;

use fairways_core::{Llc, Ways};
use fairways_lab::{CLASSES, Composition, composition, partitioning_over_clustering, random_mixes};
use fairways_policy::lfoc::Class;
use fairways_profiles::{Program, Table, embedded, read_table};
use plotters::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Seed of every mix.
const SEED: u64 = 1;
const SIZE: (u32, u32) = (720, 420);
const COLOURS: [RGBColor; 3] =
    [RGBColor(200, 80, 60), RGBColor(60, 110, 190), RGBColor(150, 170, 120)];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (folder, table, [streaming, sensitive]) = match args.as_slice() {
        [folder] => (folder, embedded().clone(), ["lattice-flow", "graph-walk"].map(str::to_owned)),
        [folder, file, a, b] => {
            (folder, read_table(&std::fs::read(file)?, file)?, [a.clone(), b.clone()])
        }
        _ => return Err("expected FOLDER [PROFILES.csv STREAMING SENSITIVE]".into()),
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let ways = table.ways();
    curves(&table, [&streaming, &sensitive], &folder.join("figure1.svg"))?;
    // Like the paper's, on 11 ways where there are more: the mixes are of ten programs.
    let eleven = Ways::new(ways.get().min(11)).expect("at least one way");
    let llc = Llc { clos: 32, ..Llc::with_ways(eleven) };
    let mixes = random_mixes(&table, &[10], 20, SEED);
    clusters(&composition(&table, &mixes, llc)?, &folder.join("figure2.svg"))?;
    ratios(&table, llc, &folder.join("figure3.svg"))
}

/// Figure 1: slowdown and LLCMPKC of a streaming and a sensitive program.
fn curves(table: &Table, names: [&String; 2], path: &Path) -> Result<()> {
    let find = |name: &String| table.find(name).ok_or(format!("no program {name:?}"));
    let ways = table.ways();
    let mut lines = Vec::new();
    println!("Figure 1: slowdown (LLC misses per 1000 cycles) by ways");
    for name in names {
        let program = Program::new(table, find(name)?, ways);
        let line: Vec<(f64, f64, f64)> = (1..=ways.get())
            .map(|ways| {
                let rates = program.rates(f64::from(ways));
                (f64::from(ways), rates.slowdown, rates.llcmpkc)
            })
            .collect();
        let cells = line.iter().map(|(_, slowdown, misses)| format!("{slowdown:.2} ({misses:.0})"));
        println!("  {name:16} {}", cells.collect::<Vec<_>>().join("  "));
        lines.push((name, line));
    }
    let most = lines.iter().flat_map(|(_, line)| line).map(|point| point.1).fold(1.0, f64::max);
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Figure 1: slowdown by ways", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(1.0..f64::from(ways.get()), 0.95..most * 1.05)?;
    chart.configure_mesh().x_desc("ways").y_desc("slowdown").draw()?;
    for ((name, line), colour) in lines.iter().zip(COLOURS) {
        let points = line.iter().map(|&(ways, slowdown, _)| (ways, slowdown));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    Ok(root.present()?)
}

/// Figure 2: in clusters of how many ways the programs of each class are.
fn clusters(found: &Composition, path: &Path) -> Result<()> {
    println!(
        "\nFigure 2: the fairest clusterings of 20 mixes of 10 programs: programs by the ways of their clusters"
    );
    println!("  ways  clusters  {:>10} {:>10} {:>10}", "streaming", "sensitive", "light");
    for (ways, (programs, clusters)) in (1..).zip(found.programs.iter().zip(&found.clusters)) {
        let [streaming, sensitive, light] = programs;
        println!("  {ways:4}  {clusters:8}  {streaming:10} {sensitive:10} {light:10}");
    }
    let percent = |class, ways: &dyn Fn(usize) -> bool| {
        found.share(class, ways).map_or("-".into(), |share| format!("{:.0} %", 100.0 * share))
    };
    println!(
        "  streaming in 1 way {} (published: more than 87 %), in 1 or 2 {} (all)",
        percent(Class::Streaming, &|ways| ways == 1),
        percent(Class::Streaming, &|ways| ways <= 2),
    );
    println!(
        "  sensitive in 4 ways or more {} (published: more than 77 %); light in 1 way {} (most)",
        percent(Class::Sensitive, &|ways| ways >= 4),
        percent(Class::Light, &|ways| ways == 1),
    );
    let most = found.streaming_ways.iter().max().copied().unwrap_or(0);
    println!("  ways of clusters that stream, at most: {most} (published: 2 in most cases)");
    let top = found.programs.iter().map(|programs| programs.iter().sum::<u32>()).max().unwrap_or(1);
    let sizes = u32::try_from(found.programs.len()).unwrap_or(1);
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Figure 2: programs by the ways of their clusters", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(0.5..f64::from(sizes) + 0.5, 0.0..f64::from(top) * 1.05)?;
    let mesh = &mut chart.configure_mesh();
    mesh.disable_x_mesh().x_desc("ways of the cluster").y_desc("programs").draw()?;
    for (index, (class, colour)) in CLASSES.into_iter().zip(COLOURS).enumerate() {
        let bars = (1u32..).zip(&found.programs).map(|(ways, programs)| {
            let below: u32 = programs[..index].iter().sum();
            let (x, base) = (f64::from(ways), f64::from(below));
            let corners = [(x - 0.35, base), (x + 0.35, base + f64::from(programs[index]))];
            Rectangle::new(corners, colour.filled())
        });
        chart
            .draw_series(bars)?
            .label(class.name())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    Ok(root.present()?)
}

/// Figure 3: how much fairer clustering is than partitioning, by programs.
fn ratios(table: &Table, llc: Llc, path: &Path) -> Result<()> {
    println!(
        "\nFigure 3: unfairness of the fairest partitioning over that of the fairest clustering, {} ways",
        llc.ways
    );
    println!("  programs     mean      min      max");
    let mut line = Vec::new();
    for programs in 4..=llc.ways.get() {
        let mixes = random_mixes(table, &[programs as usize], 20, SEED);
        let ratios = partitioning_over_clustering(table, &mixes, llc)?;
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let [least, most] = [f64::min, f64::max].map(|f| ratios.iter().copied().fold(ratios[0], f));
        println!("  {programs:8} {mean:8.3} {least:8.3} {most:8.3}");
        line.push((f64::from(programs), mean));
    }
    let most = line.iter().map(|point| point.1).fold(1.0, f64::max);
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Figure 3: best partitioning over best clustering, unfairness", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(4.0..f64::from(llc.ways.get()), 1.0..most * 1.02)?;
    chart.configure_mesh().x_desc("programs").y_desc("ratio").draw()?;
    chart.draw_series(LineSeries::new(line, COLOURS[1].stroke_width(2)))?;
    Ok(root.present()?)
}

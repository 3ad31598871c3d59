//! The growth of the exact optimum's cost: plots the output of its benchmark.
//!
//! `cargo run --release -p fairways-experiments --example optimum_growth -- optimum.csv growth.svg`

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;

use plotters::prelude::*;

const COLOURS: [RGBColor; 2] = [RGBColor(60, 110, 190), RGBColor(200, 80, 60)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [csv, svg] = args.as_slice() else { return Err("expected CSV SVG".into()) };
    // By ways, then by programs: the seconds of each mix.
    let mut seconds: BTreeMap<u32, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for line in std::fs::read_to_string(csv)?.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, programs, ways, _, _, _, taken] = fields[..] else {
            return Err(format!("expected seven fields, found {line:?}").into());
        };
        let row = seconds.entry(ways.parse()?).or_default();
        row.entry(programs.parse()?).or_default().push(taken.parse()?);
    }
    let root = SVGBackend::new(svg, (720, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Seconds for the exact optimum, one thread", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(4u32..20, (1e-5..1e3).log_scale())?;
    chart.configure_mesh().x_desc("programs").y_desc("seconds").draw()?;
    for ((ways, row), colour) in seconds.iter().zip(COLOURS) {
        println!("{ways} ways:");
        let mut line = Vec::new();
        for (&programs, taken) in row {
            let mean = taken.iter().sum::<f64>() / taken.len() as f64;
            let most = taken.iter().copied().fold(0.0, f64::max);
            println!("  {programs:3} programs {mean:12.6} s, at most {most:.6} s");
            line.push((programs, mean));
        }
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
            .label(format!("{ways} ways"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    root.present()?;
    Ok(())
}

//! Plans, drawn: the ways of each cluster, and how each program fares.

use fairways_core::{AppId, Partition, Ways};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use fairways_page::letter;

/// A mix under several policies.
#[derive(Clone, Debug)]
pub struct DrawnMix {
    /// Its name.
    pub name: String,
    /// The names of its programs, in order.
    pub programs: Vec<String>,
    /// The plans, in the order to show them.
    pub plans: Vec<DrawnPlan>,
}

/// A policy's plan, and what comes of it.
#[derive(Clone, Debug)]
pub struct DrawnPlan {
    /// The policy.
    pub policy: String,
    /// The plan of each cache; `None` where it changed over time.
    pub plans: Option<Vec<Partition>>,
    /// The largest slowdown over the smallest.
    pub unfairness: f64,
    /// The slowdown of each program; no number where it is not comparable.
    pub slowdowns: Vec<f64>,
}

/// Colours that colour-blind people can distinguish (Okabe and Ito), under black letters.
const COLOURS: [RGBColor; 8] = [
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(240, 228, 66),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(140, 170, 220),
    RGBColor(187, 187, 187),
];
/// A way that no cluster may fill.
const UNUSED: RGBColor = RGBColor(245, 245, 245);

const WIDTH: i32 = 900;
const MARGIN: i32 = 16;
/// Where ways begin and end, where the names of programs end, and where their bars begin and end.
const WAYS: [i32; 2] = [120, 480];
const NAMES: i32 = 640;
const BARS: [i32; 2] = [646, 820];
/// Heights: of a mix's title, of its head, of a program's bar, and the room between plans.
const TITLE: i32 = 26;
const HEAD: i32 = 20;
const BAR: i32 = 13;
const GAP: i32 = 10;

type Drawn = Result<(), Box<dyn std::error::Error>>;
type Sheet<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws mixes as SVG, one below the other: for each plan its ways, each with its cluster's letter,
/// the highest first, and for each program a bar from 1 to its slowdown, in its cluster's colour.
///
/// # Errors
/// Why they can't be drawn.
pub fn draw_plans(ways: &[Ways], mixes: &[DrawnMix]) -> Result<String, String> {
    let height: i32 = 2 * MARGIN + mixes.iter().map(height_of).sum::<i32>();
    let mut svg = String::new();
    draw_sheet(&mut svg, ways, mixes, height).map_err(|why| why.to_string())?;
    Ok(svg)
}

fn draw_sheet(svg: &mut String, ways: &[Ways], mixes: &[DrawnMix], height: i32) -> Drawn {
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let sheet = SVGBackend::with_string(svg, size).into_drawing_area();
    sheet.fill(&WHITE)?;
    let mut top = MARGIN;
    for mix in mixes {
        draw_mix(&sheet, ways, mix, top)?;
        top += height_of(mix);
    }
    Ok(sheet.present()?)
}

fn row_height(mix: &DrawnMix) -> i32 {
    BAR * i32::try_from(mix.programs.len()).unwrap_or(0).max(2)
}

fn height_of(mix: &DrawnMix) -> i32 {
    TITLE + HEAD + i32::try_from(mix.plans.len()).unwrap_or(0) * (row_height(mix) + GAP)
}

fn draw_mix(sheet: &Sheet<'_>, ways: &[Ways], mix: &DrawnMix, top: i32) -> Drawn {
    let slowdowns = mix.plans.iter().flat_map(|plan| &plan.slowdowns);
    let most = slowdowns.copied().filter(|one| one.is_finite()).fold(1.1, f64::max);
    write(sheet, &mix.name, [MARGIN, top + TITLE / 2], 16, HPos::Left)?;
    let middle = top + TITLE + HEAD / 2;
    for (what, x, side) in [
        ("policy", MARGIN, HPos::Left),
        ("ways, the highest first", WAYS[0], HPos::Left),
        ("program", NAMES, HPos::Right),
        ("slowdown", BARS[0], HPos::Left),
    ] {
        write(sheet, what, [x, middle], 11, side)?;
    }
    let mut y = top + TITLE + HEAD;
    for plan in &mix.plans {
        let row = row_height(mix);
        write(sheet, &shortened(&plan.policy, 15), [MARGIN, y + 8], 13, HPos::Left)?;
        let unfairness = format!("unfairness {:.3}", plan.unfairness);
        write(sheet, &unfairness, [MARGIN, y + 21], 10, HPos::Left)?;
        draw_caches(sheet, ways, plan.plans.as_deref(), [y, row])?;
        for (app, (name, slowdown)) in mix.programs.iter().zip(&plan.slowdowns).enumerate() {
            let y = y + BAR * i32::try_from(app)?;
            draw_slowdown(sheet, plan, app, name, (*slowdown, most), y)?;
        }
        y += row + GAP;
    }
    Ok(())
}

/// Where the bar of a slowdown ends.
fn end_of(slowdown: f64, most: f64) -> i32 {
    let [from, to] = BARS.map(f64::from);
    let share = if slowdown.is_finite() { (slowdown - 1.0) / (most - 1.0) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "between the ends of the bars")]
    let end = (from + share.clamp(0.0, 1.0) * (to - from)).round() as i32;
    end.max(BARS[0] + 1)
}

/// A program's name, its bar, and its slowdown, of which `most` is the largest drawn.
fn draw_slowdown(
    sheet: &Sheet<'_>,
    plan: &DrawnPlan,
    app: usize,
    name: &str,
    (slowdown, most): (f64, f64),
    y: i32,
) -> Drawn {
    let app = AppId(u32::try_from(app)?);
    let plans = plan.plans.as_deref().unwrap_or_default();
    let mut places = plans.iter().enumerate().flat_map(|(cache, plan)| {
        plan.placements().iter().map(move |one| (cache, one.app, one.cluster as usize))
    });
    let (fill, sign) = match places.find(|(_, other, _)| *other == app) {
        Some((cache, _, cluster)) if plans.len() > 1 => {
            (colour(cluster), format!(" {} on {cache}", letter(cluster)))
        }
        Some((_, _, cluster)) => (colour(cluster), format!(" {}", letter(cluster))),
        None => (COLOURS[1], String::new()),
    };
    let middle = y + BAR / 2;
    write(sheet, &format!("{}{sign}", shortened(name, 24)), [NAMES, middle], 10, HPos::Right)?;
    let end = end_of(slowdown, most);
    sheet.draw(&Rectangle::new([(BARS[0], y + 2), (end, y + BAR - 2)], fill.filled()))?;
    let shown = match slowdown.is_finite() {
        true => format!("{slowdown:.3}"),
        false => "not comparable".to_owned(),
    };
    write(sheet, &shown, [end + 4, middle], 10, HPos::Left)
}

/// The ways of each cache, one cache beside the other.
fn draw_caches(
    sheet: &Sheet<'_>,
    ways: &[Ways],
    plans: Option<&[Partition]>,
    [top, height]: [i32; 2],
) -> Drawn {
    let Some(plans) = plans else {
        return write(sheet, "its plans changed over time", [WAYS[0], top + 8], 11, HPos::Left);
    };
    let all: u32 = ways.iter().map(|ways| ways.get()).sum();
    let gaps = GAP * i32::try_from(ways.len())?.saturating_sub(1);
    let width = WAYS[1] - WAYS[0] - gaps;
    let mut left = WAYS[0];
    for (plan, &ways) in plans.iter().zip(ways) {
        let right = left + width * i32::try_from(ways.get())? / i32::try_from(all)?;
        draw_ways(sheet, ways, plan, ([left, right], [top, height]))?;
        left = right + GAP;
    }
    Ok(())
}

/// A cell for each way, striped where several clusters share it.
fn draw_ways(
    sheet: &Sheet<'_>,
    ways: Ways,
    partition: &Partition,
    ([first, last], [top, height]): ([i32; 2], [i32; 2]),
) -> Drawn {
    let count = i32::try_from(ways.get())?;
    for (place, way) in (0..).zip((0..ways.get()).rev()) {
        let [left, right] = [place, place + 1].map(|at: i32| first + (last - first) * at / count);
        let masks = partition.masks().enumerate();
        let fillers = masks.filter(|(_, mask)| mask.contains(way)).map(|(cluster, _)| cluster);
        let fillers: Vec<usize> = fillers.collect();
        let stripes = i32::try_from(fillers.len().max(1))?;
        for stripe in 0..stripes {
            let filler = fillers.get(usize::try_from(stripe)?);
            let edges = [stripe, stripe + 1].map(|at| top + height * at / stripes);
            let corners = [(left, edges[0]), (right - 1, edges[1])];
            let fill = filler.map_or(UNUSED, |&cluster| colour(cluster));
            sheet.draw(&Rectangle::new(corners, fill.filled()))?;
            if let Some(&cluster) = filler {
                let middle = [left.midpoint(right), edges[0].midpoint(edges[1])];
                write(sheet, &letter(cluster).to_string(), middle, 11, HPos::Center)?;
            }
        }
    }
    Ok(())
}

fn colour(cluster: usize) -> RGBColor {
    COLOURS[cluster % COLOURS.len()]
}

/// Writes a text whose height is centred.
fn write(sheet: &Sheet<'_>, text: &str, [x, y]: [i32; 2], size: i32, side: HPos) -> Drawn {
    let style = ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(side, VPos::Center));
    Ok(sheet.draw(&Text::new(text.to_owned(), (x, y), style))?)
}

/// Cuts a text to at most `most` letters; an ellipsis replaces the rest.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use fairways_core::WayMask;

    use super::*;

    fn plan(policy: &str, partition: Option<Partition>, slowdowns: [f64; 2]) -> DrawnPlan {
        let (policy, slowdowns) = (policy.to_owned(), slowdowns.to_vec());
        let plans = partition.map(|partition| vec![partition]);
        DrawnPlan { policy, plans, unfairness: 1.5, slowdowns }
    }

    /// Every way of every plan has a cell, and every program a bar whose length is its slowdown.
    #[test]
    fn every_way_and_program_is_drawn() {
        let mut partition = Partition::default();
        for (bits, app) in [(0b1110, 0), (0b0011, 1)] {
            let cluster = partition.add_cluster(WayMask::from_bits(bits));
            partition.place(AppId(app), cluster);
        }
        let mix = DrawnMix {
            name: "M".to_owned(),
            programs: vec!["lbm<".to_owned(), "gzip".to_owned()],
            plans: vec![
                plan("lfoc", Some(partition), [1.0, 2.0]),
                plan("dcat", None, [1.5, f64::NAN]),
            ],
        };
        let ways = Ways::new(4).unwrap();
        let drawn = draw_plans(&[ways], std::slice::from_ref(&mix)).unwrap();
        // The background; five parts of four ways, one of which two clusters share; four bars.
        assert_eq!(drawn.matches("<rect").count(), 1 + 5 + 4, "{drawn}");
        // The letters stand on their own lines.
        let written = |text: &str| drawn.lines().filter(|line| line.trim() == text).count();
        assert_eq!((written("A"), written("B")), (3, 2), "{drawn}");
        assert!(drawn.contains("lbm&lt; A") && written("not comparable") == 1, "{drawn}");
        assert!(written("its plans changed over time") == 1 && written("2.000") == 1, "{drawn}");
        assert_eq!([1.0, 1.5, 2.0, 9.0].map(|one| end_of(one, 2.0)), [647, 733, 820, 820]);
        assert_eq!(draw_plans(&[ways], &[mix]).unwrap(), drawn);
    }
}

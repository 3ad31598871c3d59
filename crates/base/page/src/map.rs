//! The programs that might fill each way, over time.

use std::collections::HashMap;

use fairways_core::WayMask;

use super::figure::{Figure, Key, colour, letter, step, ticks};
use super::svg::Svg;

/// A time in which one partition was in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The start, in seconds.
    pub from: f64,
    /// The end, in seconds.
    pub to: f64,
    /// The clusters: the ways of each, and the index of its group of programs.
    pub clusters: Vec<(WayMask, usize)>,
}

/// More spans than this are thinned: each of as many equal times shows the longest one.
const MOST_SPANS: usize = 600;
/// The number of groups with a colour of their own: those with most ways for longest.
const MOST_COLOURS: usize = 12;

/// Draws the map; `groups` are the names of the groups of programs.
#[must_use]
pub fn way_map(title: &str, ways: u32, spans: &[Span], groups: &[String]) -> Figure {
    let drawn = merged(&thinned(spans));
    let ranks = ranks(&drawn, groups.len());
    let sized = |size| draw(ways, &drawn, groups, &ranks, size);
    let narrow = sized([340.0, 9.0]).finish("drawing narrow", title);
    let wide = sized([940.0, 12.0]).finish("drawing wide", title);
    let mut caption = "Time from left to right; a way a row, way 0 below. A colour and a letter are the \
                       programs that might fill the way; stripes are several clusters that share it."
        .to_owned();
    if spans.len() > MOST_SPANS {
        caption += " Plans changed too often to show each: each six-hundredth of the time shows the longest one.";
    }
    let mut key = vec![None; MOST_COLOURS];
    for (group, rank) in ranks.iter().enumerate() {
        if let Some(rank) = *rank {
            let (sign, words) = (letter(rank).to_string(), groups[group].clone());
            key[rank] = Some(Key { class: colour(rank), sign, words });
        }
    }
    let shown = drawn.iter().flat_map(|span| &span.clusters);
    let others = shown.filter(|(_, group)| ranks[*group].is_none()).map(|(_, group)| group);
    let mut others: Vec<_> = others.collect();
    others.sort_unstable();
    others.dedup();
    let mut key: Vec<Key> = key.into_iter().flatten().collect();
    if !others.is_empty() {
        let words = format!("{} other groups of programs, in the table of plans", others.len());
        key.push(Key { class: "c".into(), sign: "·".into(), words });
    }
    Figure { title: title.to_owned(), caption, key, drawing: narrow + &wide, room: "large" }
}

/// Keeps at most [`MOST_SPANS`]: the longest one in each of as many equal times.
fn thinned(spans: &[Span]) -> Vec<Span> {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Vec::new() };
    if spans.len() <= MOST_SPANS {
        return spans.to_vec();
    }
    let width = (last.to - first.from) / MOST_SPANS as f64;
    let mut next = 0;
    (0..MOST_SPANS)
        .filter_map(|n| {
            let from = first.from + width * n as f64;
            let to = from + width;
            while spans[next].to <= from && next + 1 < spans.len() {
                next += 1;
            }
            let within = spans[next..].iter().take_while(|span| span.from < to);
            let overlap = |span: &Span| span.to.min(to) - span.from.max(from);
            let longest = within.max_by(|a, b| overlap(a).total_cmp(&overlap(b)))?;
            Some(Span { from, to, clusters: longest.clusters.clone() })
        })
        .collect()
}

/// Merges consecutive spans with the same clusters.
fn merged(spans: &[Span]) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(before) if before.clusters == span.clusters && before.to == span.from => {
                before.to = span.to;
            }
            _ => merged.push(span.clone()),
        }
    }
    merged
}

/// The colour's number for each group, in the order in which coloured groups first come; `None` for
/// the others.
fn ranks(spans: &[Span], groups: usize) -> Vec<Option<usize>> {
    let mut area = vec![0.0; groups];
    let mut first = HashMap::new();
    for (n, span) in spans.iter().enumerate() {
        for (mask, group) in &span.clusters {
            area[*group] += (span.to - span.from) * f64::from(mask.count());
            let come = first.len();
            first.entry(*group).or_insert((n, come));
        }
    }
    let mut largest: Vec<usize> = first.keys().copied().collect();
    largest.sort_by(|a, b| area[*b].total_cmp(&area[*a]).then(a.cmp(b)));
    largest.truncate(MOST_COLOURS);
    largest.sort_by_key(|group| first[group]);
    let mut ranks = vec![None; groups];
    for (rank, group) in largest.into_iter().enumerate() {
        ranks[group] = Some(rank);
    }
    ranks
}

const LEFT: f64 = 24.0;

fn draw(
    ways: u32,
    spans: &[Span],
    groups: &[String],
    ranks: &[Option<usize>],
    [width, row]: [f64; 2],
) -> Svg {
    let height = row * f64::from(ways);
    let mut svg = Svg::new(width, height + 22.0);
    let (from, to) = match (spans.first(), spans.last()) {
        (Some(first), Some(last)) => (first.from, last.to.max(first.from + 1e-9)),
        _ => (0.0, 1.0),
    };
    let x = |at: f64| LEFT + (at - from) / (to - from) * (width - LEFT - 2.0);
    svg.rect([LEFT, 0.0, width - LEFT - 2.0, height], "none", "");
    for span in spans {
        let (left, wide) = (x(span.from), x(span.to) - x(span.from));
        for (lowest, count, fill) in runs(span, ways) {
            let highest = lowest + count - 1;
            // Ways that several clusters share are striped.
            let (bands, band) = match fill.len() {
                1 => (1, row * f64::from(count)),
                several => (count, row / several as f64),
            };
            for n in 0..bands {
                for (place, &group) in fill.iter().enumerate() {
                    // The upper edge of the way, and the bands above.
                    let top = row * f64::from(ways - 1 - (highest - n)) + band * place as f64;
                    let class = ranks[group].map_or_else(|| "c".into(), colour);
                    let ways = if count == 1 {
                        format!("way {lowest}")
                    } else {
                        format!("ways {lowest} to {highest}")
                    };
                    let (from, to) = (span.from, span.to);
                    let tooltip = format!("{from:.3} to {to:.3} s, {ways}: {}", groups[group]);
                    svg.rect([left, top, wide, band], &class, &tooltip);
                    if let Some(rank) = ranks[group]
                        && bands == 1
                        && wide >= 11.0
                        && band >= 9.0
                    {
                        let middle = (left + wide / 2.0, top + band / 2.0 + 3.5);
                        svg.text(middle.0, middle.1, "on mid", &letter(rank).to_string());
                    }
                }
            }
        }
    }
    for (way, label) in ticks(0.0, f64::from(ways - 1), step(f64::from(ways), 5.0).max(1.0)) {
        let middle = height - row * (way + 0.5);
        svg.text(LEFT - 4.0, middle + 3.5, "m end", &label);
    }
    let many = if width > 500.0 { 10.0 } else { 4.0 };
    for (at, label) in ticks(from, to, step(to - from, many)) {
        svg.line([x(at), height, x(at), height + 4.0], "axis");
        let place = if x(at) > width - 24.0 { "m end" } else { "m mid" };
        svg.text(x(at), height + 15.0, place, &format!("{label} s"));
    }
    svg
}

/// Runs of ways that the same groups may fill: the lowest way, the number of ways, and the groups.
fn runs(span: &Span, ways: u32) -> Vec<(u32, u32, Vec<usize>)> {
    let mut runs: Vec<(u32, u32, Vec<usize>)> = Vec::new();
    for way in 0..ways {
        let fill = span.clusters.iter().filter(|(mask, _)| mask.contains(way));
        let fill: Vec<usize> = fill.map(|(_, group)| *group).collect();
        match runs.last_mut() {
            Some((lowest, count, same)) if *same == fill && *lowest + *count == way => *count += 1,
            _ if fill.is_empty() => {}
            _ => runs.push((way, 1, fill)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: f64, to: f64, clusters: &[(u32, usize)]) -> Span {
        let clusters = clusters.iter().map(|&(bits, group)| (WayMask::from_bits(bits), group));
        Span { from, to, clusters: clusters.collect() }
    }

    #[test]
    fn ways_that_are_filled_alike_are_a_run() {
        fn drawn_runs(clusters: &[(u32, usize)]) -> Vec<(u32, u32, Vec<usize>)> {
            runs(&span(0.0, 1.0, clusters), 4)
        }
        assert_eq!(drawn_runs(&[(0b1100, 0), (0b0001, 1)]), [(0, 1, vec![1]), (2, 2, vec![0])]);
        let shared = [(0, 1, vec![0]), (1, 1, vec![0, 1]), (2, 1, vec![1])];
        assert_eq!(drawn_runs(&[(0b0011, 0), (0b0110, 1)]), shared);
    }

    #[test]
    fn what_is_too_short_to_show_gives_way_to_what_held_longer() {
        let spans: Vec<Span> = (0..3000_u32)
            .map(|n| {
                let from = f64::from(n / 2) * 2.0 + if n % 2 == 0 { 0.0 } else { 1.5 };
                let to = if n % 2 == 0 { from + 1.5 } else { from + 0.5 };
                span(from, to, &[(0b11, (n % 2) as usize)])
            })
            .collect();
        let thin = thinned(&spans);
        assert_eq!(thin.len(), MOST_SPANS);
        assert_eq!(merged(&thin), [span(0.0, 3000.0, &[(0b11, 0)])]);
        assert_eq!(thinned(&spans[..10]), spans[..10]);
    }

    #[test]
    fn the_groups_that_had_most_have_the_colours() {
        let spans: Vec<Span> = (0..20_u32)
            .map(|n| span(f64::from(n), f64::from(n) + 1.0, &[(u32::MAX >> (31 - n), n as usize)]))
            .collect();
        let ranks = ranks(&spans, 20);
        assert!(ranks[..8].iter().all(Option::is_none));
        assert!(ranks[8..].iter().copied().eq((0..12).map(Some)));
        let names: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
        let figure = way_map("map", 20, &spans, &names);
        assert_eq!(figure.key.len(), 13);
        assert_eq!((figure.key[0].sign.as_str(), figure.key[0].words.as_str()), ("A", "p8"));
        assert_eq!(figure.key[12].words, "8 other groups of programs, in the table of plans");
    }
}

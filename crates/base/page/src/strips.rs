//! The clusters that may fill each way: a strip for each policy, the highest way first.

use fairways_core::WayMask;

use super::figure::{Figure, Key, colour, letter};
use super::svg::{Svg, shortened};

/// A partition with its name.
#[derive(Clone, Debug)]
pub struct Strip {
    /// The name of its policy.
    pub name: String,
    /// The clusters: the ways of each, and its programs.
    pub clusters: Vec<(WayMask, Vec<String>)>,
}

const WIDTH: f64 = 340.0;
const LEFT: f64 = 88.0;
const ROW: f64 = 24.0;

/// Draws partitions below each other.
#[must_use]
pub fn strips(title: &str, caption: &str, ways: u32, all: &[Strip]) -> Figure {
    let way_width = (WIDTH - LEFT - 2.0) / f64::from(ways.max(1));
    let bottom = ROW * all.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 16.0);
    let mut key = Vec::new();
    for (row, strip) in all.iter().enumerate() {
        let y = ROW * row as f64;
        svg.text(0.0, y + 15.0, "t", &shortened(&strip.name, 14));
        for way in 0..ways {
            let x = LEFT + way_width * f64::from(ways - 1 - way);
            let masks = strip.clusters.iter().enumerate();
            let fill: Vec<usize> =
                masks.filter(|(_, (mask, _))| mask.contains(way)).map(|(n, _)| n).collect();
            if fill.is_empty() {
                svg.rect(
                    [x, y + 2.0, way_width, ROW - 4.0],
                    "none",
                    &format!("way {way}: no program"),
                );
            }
            // A way that several clusters share is divided between their colours.
            let part = (ROW - 4.0) / fill.len().max(1) as f64;
            for (place, &cluster) in fill.iter().enumerate() {
                let y = y + 2.0 + part * place as f64;
                let programs = strip.clusters[cluster].1.join(", ");
                let tooltip = format!("{}: way {way}: {} {programs}", strip.name, letter(cluster));
                svg.rect([x, y, way_width, part], &format!("{} cell", colour(cluster)), &tooltip);
                if part >= 10.0 && way_width >= 8.0 {
                    let letter = letter(cluster).to_string();
                    svg.text(x + way_width / 2.0, y + part / 2.0 + 3.8, "on mid", &letter);
                }
            }
        }
        let words = strip.clusters.iter().enumerate();
        let words = words.map(|(n, (_, apps))| format!("{} {}", letter(n), apps.join(", ")));
        let words = words.collect::<Vec<_>>().join(" · ");
        key.push(Key { class: String::new(), sign: strip.name.clone(), words });
    }
    svg.text(LEFT, bottom + 12.0, "m", &format!("way {}", ways.saturating_sub(1)));
    svg.text(WIDTH - 2.0, bottom + 12.0, "m end", "way 0");
    let drawing = svg.finish("drawing", title);
    let (title, caption) = (title.to_owned(), caption.to_owned());
    Figure { title, caption, key, drawing, room: "medium" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_drawn_once_for_each_cluster_that_may_fill_it() {
        let mask = WayMask::from_bits;
        let clusters = vec![(mask(0b0111), vec!["a".into()]), (mask(0b0001), vec!["b".into()])];
        let figure = strips("", "", 4, &[Strip { name: "dunn".into(), clusters }]);
        assert_eq!(figure.drawing.matches("<rect").count(), 3 + 1 + 1);
        assert!(figure.drawing.contains("way 3: no program"));
        assert_eq!(figure.key[0].words, "A a · B b");
    }
}

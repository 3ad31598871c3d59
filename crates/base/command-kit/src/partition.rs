//! A partition, drawn.

use fairways_core::{BandwidthUnit, LevelInUnit, Partition, Ways};

/// The character for a way that no cluster may fill.
pub const NOBODY: char = '.';
/// The character for a way that several clusters may fill.
pub const SEVERAL: char = '#';

/// The letter of a cluster: A for the first.
pub fn letter(cluster: usize) -> char {
    ('A'..='Z').chain('a'..='z').nth(cluster).unwrap_or('?')
}

/// The ways as a bar, the highest first: each way the letter of its cluster.
pub fn bar(partition: &Partition, ways: Ways) -> String {
    let way = |way| {
        let masks = partition.masks().enumerate();
        let mut fillers = masks.filter(|(_, mask)| mask.contains(way));
        match (fillers.next(), fillers.next()) {
            (None, _) => NOBODY,
            (Some((cluster, _)), None) => letter(cluster),
            (Some(_), Some(_)) => SEVERAL,
        }
    };
    (0..ways.get()).rev().map(way).collect()
}

/// Which programs are in which cluster: `A 0 3  B 1`.
pub fn members(partition: &Partition) -> String {
    let cluster = |cluster: usize| {
        let index = u32::try_from(cluster).unwrap_or(u32::MAX);
        let mut apps: Vec<u32> = partition.members(index).map(|app| app.0).collect();
        apps.sort_unstable();
        let apps: Vec<String> = apps.iter().map(u32::to_string).collect();
        format!("{} {}", letter(cluster), apps.join(" "))
    };
    (0..partition.clusters().len()).map(cluster).collect::<Vec<_>>().join("  ")
}

/// The levels of memory bandwidth of a partition's clusters, if it has any: `  at most A 20 %`.
pub fn levels(partition: &Partition, unit: BandwidthUnit) -> String {
    let clusters = partition.clusters().iter().enumerate();
    let levels: Vec<String> = clusters
        .filter_map(|(cluster, of)| {
            Some(format!("{} {}", letter(cluster), LevelInUnit(of.bandwidth?, unit)))
        })
        .collect();
    if levels.is_empty() { String::new() } else { format!("  at most {}", levels.join(", ")) }
}

#[cfg(test)]
mod tests {
    use fairways_core::{AppId, WayMask};

    use super::*;

    #[test]
    fn ways_are_drawn_from_the_top() {
        let mut partition = Partition::default();
        for mask in [0x600, 0x1f8, 0x00c] {
            partition.add_cluster(WayMask::from_bits(mask));
        }
        for (app, cluster) in [(0, 1), (1, 0), (2, 2), (3, 0)] {
            partition.place(AppId(app), cluster);
        }
        assert_eq!(bar(&partition, Ways::new(11).unwrap()), "AABBBBB#C..");
        assert_eq!(members(&partition), "A 1 3  B 0  C 2");
    }
}

//! The JSON of `simulate --json` and `optimum --json`.

use fairways_core::{WayMask, Ways};
use fairways_page::{
    Bar, BarGroup, Block, Cell, Column, Fact, Figure, Part, Section, Strip, Table, bars, letter,
    strips,
};
use serde::Deserialize;

use super::policies::{PolicyResult, STOCK, best, fairest, side_by_side, slowdowns};

/// The whole object.
#[derive(Debug, Deserialize)]
pub(super) struct SimulateResults {
    ways: Ways,
    /// Of each cache, if there are several.
    #[serde(default)]
    caches: Vec<Ways>,
    #[serde(default)]
    dynamic: bool,
    mixes: Vec<Mix>,
}

#[derive(Debug, Deserialize)]
struct Mix {
    mix: String,
    apps: Vec<String>,
    policies: Vec<MixPolicy>,
}

#[derive(Debug, Deserialize)]
struct MixPolicy {
    #[serde(flatten)]
    policy: PolicyResult,
    reason: Option<String>,
    partition: Option<Vec<MixCluster>>,
}

#[derive(Debug, Deserialize)]
struct MixCluster {
    /// On a machine with one cache, 0.
    #[serde(default)]
    cache: usize,
    apps: Vec<usize>,
    mask: WayMask,
    ways: u32,
}

/// With more mixes than this, all but the first are folded.
const SHOWN: usize = 3;

/// Makes the section.
pub(super) fn section(results: &SimulateResults) -> Result<Section, String> {
    let SimulateResults { ways, caches, dynamic, mixes } = results;
    let caches = if caches.is_empty() { std::slice::from_ref(ways) } else { caches };
    for mix in mixes {
        check(mix)?;
    }
    let kind = match (
        !mixes.is_empty()
            && mixes.iter().all(|mix: &Mix| {
                mix.policies.iter().all(|decided| decided.policy.policy == "optimum")
            }),
        dynamic,
    ) {
        (true, _) => "fairways-lab optimum",
        (_, true) => "fairways-lab simulate --dynamic",
        _ => "fairways-lab simulate",
    };
    let over_time = if *dynamic { ", over time" } else { "" };
    let heading = match &mixes[..] {
        [mix] => format!("{}{over_time}", mix.mix),
        several => format!("{} mixes{over_time}", several.len()),
    };
    let facts = vec![
        Fact::number("mixes", mixes.len(), ""),
        Fact::number("policies", mixes.first().map_or(0, |mix| mix.policies.len()), ""),
        Fact::words(
            "ways of the cache",
            caches.iter().map(Ways::to_string).collect::<Vec<_>>().join(" and "),
        ),
    ];
    let mut parts = Vec::new();
    let headline = match &mixes[..] {
        [] => "There is no mix.".to_owned(),
        [mix] => best(&mix.policies()),
        several => {
            let means = means(several);
            let count = several.len();
            let headline = format!("Geometric means of {count} mixes. {}", best(&means));
            let headline = headline + &fairer_in(several, &means);
            parts.push(all_mixes(several, &means));
            headline
        }
    };
    for (place, mix) in mixes.iter().enumerate() {
        let folded = mixes.len() > SHOWN && place > 0;
        parts.push(mix_part(mix, caches, folded, mixes.len() == 1));
    }
    let kind = kind.into();
    Ok(Section { heading, kind, headline, facts, parts, ..Section::default() })
}

impl Mix {
    fn policies(&self) -> Vec<PolicyResult> {
        self.policies.iter().map(|decided| decided.policy.clone()).collect()
    }
}

fn check(mix: &Mix) -> Result<(), String> {
    let (name, programs) = (&mix.mix, mix.apps.len());
    for MixPolicy { policy, partition, .. } in &mix.policies {
        let (policy_name, found) = (&policy.policy, policy.slowdowns.len());
        if found != programs {
            return Err(format!(
                "mix {name:?}, policy {policy_name:?}: expected {programs} slowdowns, found {found}"
            ));
        }
        let apps = partition.iter().flatten().flat_map(|cluster| &cluster.apps);
        if let Some(app) = apps.into_iter().find(|app| **app >= programs) {
            return Err(format!(
                "mix {name:?}, policy {policy_name:?}: expected clusters of programs below {programs}, found {app}"
            ));
        }
    }
    Ok(())
}

/// The geometric means over the mixes, by policy, of what every mix has.
fn means(mixes: &[Mix]) -> Vec<PolicyResult> {
    let Some(first) = mixes.first() else { return Vec::new() };
    fn mean(name: &str, get: fn(&PolicyResult) -> Option<f64>, mixes: &[Mix]) -> Option<f64> {
        let of = |mix: &Mix| {
            let policy = mix.policies.iter().find(|decided| decided.policy.policy == name)?;
            get(&policy.policy).filter(|value| *value > 0.0).map(f64::ln)
        };
        let logs: Option<Vec<f64>> = mixes.iter().map(of).collect();
        logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
    first
        .policies
        .iter()
        .map(|decided: &MixPolicy| {
            let name = decided.policy.policy.as_str();
            PolicyResult {
                policy: name.to_owned(),
                unfairness: mean(name, |p| p.unfairness, mixes),
                stp: mean(name, |p| p.stp, mixes),
                antt: mean(name, |p| p.antt, mixes),
                ..PolicyResult::default()
            }
        })
        .collect()
}

/// In how many mixes the fairest policy is fairer than `stock`, where both are known.
fn fairer_in(mixes: &[Mix], means: &[PolicyResult]) -> String {
    let Some(PolicyResult { policy, .. }) = fairest(means).filter(|policy| policy.policy != STOCK)
    else {
        return String::new();
    };
    fn unfairness(mix: &Mix, name: &str) -> Option<f64> {
        let found = mix.policies.iter().find(|decided| decided.policy.policy == name);
        found.and_then(|decided| decided.policy.unfairness)
    }
    let both =
        mixes.iter().filter_map(|mix| Some((unfairness(mix, policy)?, unfairness(mix, STOCK)?)));
    let both: Vec<(f64, f64)> = both.collect();
    let fairer = both.iter().filter(|(ours, stock)| ours < stock).count();
    match both.len() {
        0 => String::new(),
        all => format!(" {policy} is fairer than stock in {fairer} of {all} mixes."),
    }
}

/// All mixes together.
fn all_mixes(mixes: &[Mix], means: &[PolicyResult]) -> Part {
    let mut table = side_by_side(means);
    table.caption = format!("Geometric means of {} mixes", mixes.len());
    let names: Vec<&str> = means.iter().map(|policy| policy.policy.as_str()).collect();
    fn group(name: &str, policies: &[PolicyResult]) -> BarGroup {
        BarGroup {
            name: name.to_owned(),
            bars: policies
                .iter()
                .map(|policy: &PolicyResult| Bar {
                    name: policy.policy.clone(),
                    value: policy.unfairness,
                })
                .collect(),
        }
    }
    let mean = bars(
        "Unfairness, geometric mean",
        "The largest slowdown over the smallest: 1 at best.",
        &[group("", means)],
    );
    let mut columns = vec![Column::words("mix")];
    columns.extend(names.iter().map(|name| Column::numbers(name, "")));
    let by_mix = Table {
        caption: "Unfairness of every mix".into(),
        columns,
        rows: mixes
            .iter()
            .map(|mix: &Mix| {
                let mut row = vec![Cell::words(&mix.mix)];
                row.extend(names.iter().map(|name: &&str| {
                    let policy =
                        mix.policies.iter().find(|decided| decided.policy.policy == **name);
                    Cell::number(policy.and_then(|decided| decided.policy.unfairness), 3)
                }));
                row
            })
            .collect(),
        folded: true,
    };
    let blocks = vec![Block::Table(table), Block::Figures(vec![mean]), Block::Table(by_mix)];
    Part { heading: "All mixes".into(), folded: false, blocks }
}

/// One mix.
fn mix_part(mix: &Mix, caches: &[Ways], folded: bool, alone: bool) -> Part {
    let policies = mix.policies();
    let programs: Vec<String> =
        (0..mix.apps.len()).map(|app: usize| format!("{app} {}", mix.apps[app])).collect();
    let mut figures = partitions(mix, caches);
    figures.push(slowdown_bars(&programs, &policies));
    let heading = if alone { String::new() } else { mix.mix.clone() };
    let mut blocks = vec![
        Block::Words(format!("Programs: {}.", programs.join(", "))),
        Block::Table(side_by_side(&policies)),
        Block::Figures(figures),
        Block::Table(slowdowns(&mix.apps, &policies)),
    ];
    blocks.extend(clusters(mix).map(Block::Table));
    Part { heading, folded, blocks }
}

/// Slowdowns as bars, a group for each program.
pub(super) fn slowdown_bars(programs: &[String], policies: &[PolicyResult]) -> Figure {
    let groups: Vec<BarGroup> = programs
        .iter()
        .enumerate()
        .map(|(app, name): (usize, &String)| BarGroup {
            name: name.clone(),
            bars: policies
                .iter()
                .map(|policy: &PolicyResult| Bar {
                    name: policy.policy.clone(),
                    value: policy.slowdowns.get(app).copied().flatten(),
                })
                .collect(),
        })
        .collect();
    let caption = "The time of the same work, over its time at its best.";
    bars("Slowdowns", caption, &groups)
}

/// The ways of each cluster under each policy that has a partition, a figure for each cache.
fn partitions(mix: &Mix, caches: &[Ways]) -> Vec<Figure> {
    let caption =
        "A cell a way, the highest first, with the letter of the cluster that may fill it.";
    let figures = caches.iter().enumerate().map(|(cache, ways)| {
        let strips_of = mix.policies.iter().filter_map(|decided: &MixPolicy| {
            let clusters = decided.partition.as_ref()?.iter();
            let there = clusters.filter(|cluster: &&MixCluster| cluster.cache == cache);
            let clusters = there.map(|cluster| {
                let apps = cluster.apps.iter().map(|&app| mix.apps[app].clone());
                (cluster.mask, apps.collect())
            });
            let (name, clusters) = (decided.policy.policy.clone(), clusters.collect());
            Some(Strip { name, clusters })
        });
        let all: Vec<Strip> = strips_of.collect();
        let title = match caches.len() {
            1 => "Ways of each cluster".to_owned(),
            _ => format!("Ways of each cluster on cache {cache}"),
        };
        (!all.is_empty()).then(|| strips(&title, caption, ways.get(), &all))
    });
    figures.flatten().collect()
}

/// The clusters of every policy, as a table.
fn clusters(mix: &Mix) -> Option<Table> {
    let columns = vec![
        Column::words("policy"),
        Column::words("cluster"),
        Column::numbers("ways", ""),
        Column::words("mask"),
        Column::prose("programs"),
        Column::prose("reason"),
    ];
    let rows = mix.policies.iter().flat_map(|decided| {
        let clusters: Vec<&MixCluster> = decided.partition.iter().flatten().collect();
        let has_several = clusters.iter().any(|cluster| cluster.cache > 0);
        // They begin again on each cache.
        let letters = clusters.iter().enumerate().map(|(at, cluster)| {
            let before = clusters[..at].iter().filter(|other| other.cache == cluster.cache);
            letter(before.count())
        });
        let letters: Vec<char> = letters.collect();
        clusters.into_iter().zip(letters).map(move |(cluster, letter)| {
            let cache = cluster.cache;
            let name =
                if has_several { format!("{letter} on {cache}") } else { letter.to_string() };
            let apps = cluster.apps.iter().map(|&app| format!("{app} {}", mix.apps[app]));
            vec![
                Cell::words(&decided.policy.policy),
                Cell::words(name),
                Cell::count(Some(cluster.ways.into())),
                Cell::words(cluster.mask.to_string()),
                Cell::words(apps.collect::<Vec<_>>().join(", ")),
                Cell::words(decided.reason.clone().unwrap_or_default()),
            ]
        })
    });
    let rows: Vec<_> = rows.collect();
    let caption = "Clusters and masks".to_owned();
    (!rows.is_empty()).then_some(Table { caption, columns, rows, folded: true })
}

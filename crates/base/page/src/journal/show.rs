//! The section of a journal.

use std::collections::HashMap;

use fairways_command_kit::partition::{bar, members};
use fairways_core::{Partition, Profile, Time, WayMask, Ways};
use fairways_record::status::fields::columns;

use super::losses::{TIMES, TimedLoss};
use super::programs::ProgramIndex;
use super::story::{PlanSpan, Story};
use crate::{
    Block, Cell, Column, Fact, Figure, HeatCell, HeatRow, Part, Section, Span, Table, curve,
    heat_map, way_map,
};

/// Longer tables show the first and the last half of this many rows.
const MOST_ROWS: usize = 1000;

pub(super) fn section(story: &Story, losses: &[TimedLoss]) -> Section {
    let [begin, end] = [story.begin, story.end].map(seconds);
    let time = end - begin;
    let programs = story.programs.names().len();
    let changes = count_text(story.changes() as u64, "change");
    let mut headline = format!(
        "{time:.3} s of {} under {}: {}",
        count_text(programs as u64, "program"),
        story.policy,
        count_text(story.made, "plan")
    );
    if story.refused > 0 {
        headline += &format!(", {} of them refused", story.refused);
    }
    headline += ".";
    let mut warnings = Vec::new();
    if story.is_cut_short {
        warnings
            .push("The journal's end is cut short, and was skipped: its writer was killed.".into());
    }
    if story.is_observed {
        warnings.push(
            "Only observed: no plan was carried out. The plans show what each program would have \
             been given."
                .into(),
        );
    }
    if story.part > 0 {
        warnings.push(format!(
            "Only a part of the story: the journal's first {} gone, and what came before {begin:.3} s is not known.{}",
            match story.part {
                1 => "part is".to_owned(),
                several => format!("{several} parts are"),
            },
            match story.ways {
                None => " The cache has as many ways as the plans name, or more.",
                Some(_) => "",
            }
        ));
    }
    let machine = story.machine["kind"].as_str().unwrap_or_default();
    let mut facts = vec![
        Fact::words("policy", &story.policy),
        Fact::words("machine", machine),
        Fact::words("time", format!("{time:.3} s")),
        Fact::number("programs", programs, ""),
        Fact::number("plans", story.made, "")
            .note(format!("{changes} of the ways that programs may fill")),
    ];
    fn at(time: Time, began: Option<fairways_command_kit::moment::Moment>) -> Option<String> {
        Some(began?.after(time)?.to_string())
    }
    if let (Some(from), Some(to)) = (at(story.begin, story.began), at(story.end, story.began)) {
        facts.push(Fact::words("from", from));
        facts.push(Fact::words("to", to));
    }
    facts.extend(story.ways.map(|ways| Fact::number("ways of the cache", ways, "")));
    let mut blocks = Vec::new();
    let ways = story.ways.or_else(|| ways_in_plans(story));
    let has_lasting_plan = story.plans.iter().any(|plan| plan.from < plan.to);
    match ways.filter(|_| has_lasting_plan) {
        Some(ways) => blocks.push(Block::Figures(vec![map(story, ways)])),
        None => blocks.push(Block::Words(match (story.made, &story.plans[..]) {
            (0, _) => "The policy divided no ways.".into(),
            (made, []) if made > story.refused => {
                "The journal ends before the machine has answered its first plan.".into()
            }
            (_, []) => "No plan came into force: each was refused.".into(),
            _ => "The journal ends with its first plan: none was in force for any time.".into(),
        })),
    }
    if losses.is_empty() {
        blocks.push(Block::Words(
            "Losses to neighbours are not known: no window has cycles, LLC references and misses, \
             and stalls."
                .into(),
        ));
    } else {
        blocks.push(Block::Figures(vec![loss_map(story, losses)]));
    }
    blocks.push(Block::Table(programs_table(story)));
    let names = story.programs.names().iter().zip(&story.programs.profiles);
    let curves = names.filter_map(|(name, profile)| Some(known_curve(name, profile.as_ref()?)));
    let curves: Vec<Figure> = curves.collect();
    if !curves.is_empty() {
        blocks.push(Block::Words("Profiles that the policy had before the programs began:".into()));
        blocks.push(Block::Figures(curves));
    }
    if let Some(ways) = ways {
        blocks.push(Block::Table(plans(story, ways)));
    }
    if !losses.is_empty() {
        blocks.push(Block::Table(losses_table(story, losses)));
    }
    if !story.classes.is_empty() {
        blocks.push(Block::Table(classes(story)));
    }
    blocks.push(Block::Table(counts(story)));
    Section {
        heading: format!("Journal of a run under {}", story.policy),
        kind: "run --journal".into(),
        headline,
        warnings,
        facts,
        parts: vec![Part { blocks, ..Part::default() }],
        ..Section::default()
    }
}

/// The number of ways up to the highest one in a plan.
fn ways_in_plans(story: &Story) -> Option<Ways> {
    let clusters = story.plans.iter().flat_map(|plan| &plan.content.clusters);
    clusters.filter_map(|(mask, _)| Ways::new(32 - mask.bits().leading_zeros())).max()
}

/// A count with its word, in the plural if needed.
fn count_text(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn seconds(time: Time) -> f64 {
    time.nanos() as f64 / 1e9
}

/// The groups of programs that might fill each way, over time.
fn map(story: &Story, ways: Ways) -> Figure {
    let mut groups: Vec<String> = Vec::new();
    let mut known: HashMap<Vec<ProgramIndex>, usize> = HashMap::new();
    let mut group = |apps: &Vec<ProgramIndex>| {
        *known.entry(apps.clone()).or_insert_with(|| {
            let names = apps.iter().map(|&app| story.programs.name(app));
            groups.push(names.collect::<Vec<_>>().join(", "));
            groups.len() - 1
        })
    };
    let lasting = story.plans.iter().filter(|plan| plan.from < plan.to);
    let spans: Vec<Span> = lasting
        .map(|plan: &PlanSpan| Span {
            from: seconds(plan.from),
            to: seconds(plan.to),
            clusters: plan
                .content
                .clusters
                .iter()
                .map(|(mask, apps)| (*mask, group(apps)))
                .collect(),
        })
        .collect();
    let what = match story.is_observed {
        true => "The ways that programs would have had, over time",
        false => "The ways that programs might fill, over time",
    };
    way_map(what, ways.get(), &spans, &groups)
}

/// What each program loses over time, and to which neighbour.
fn loss_map(story: &Story, losses: &[TimedLoss]) -> Figure {
    let names = story.programs.names().iter();
    let mut rows: Vec<HeatRow> =
        names.map(|name| HeatRow { name: name.clone(), cells: vec![None; TIMES] }).collect();
    for one in losses {
        let culprit = one.worst.map_or_else(String::new, |(culprit, part)| {
            format!(", {:.1} % to {}", part * 100.0, story.programs.name(culprit))
        });
        let [from, to] = [one.time, one.time + 1].map(|time| seconds(story.time(time)));
        let (name, percent) = (story.programs.name(one.program), one.loss * 100.0);
        let tooltip = format!("{from:.3} to {to:.3} s, {name}: loses {percent:.1} %{culprit}");
        let cell = HeatCell { value: one.loss, tooltip };
        rows[one.program.0].cells[one.time] = Some(cell);
    }
    rows.retain(|row| row.cells.iter().any(Option::is_some));
    let what = "The darker, the longer a program takes than it would alone with the whole cache, \
                as `blame` estimates it from the windows.";
    let span = [story.begin, story.end].map(seconds);
    heat_map("What programs lose to their neighbours, over time", what, span, &rows)
}

/// The losses, and which neighbour causes most of each.
fn losses_table(story: &Story, losses: &[TimedLoss]) -> Table {
    let columns = vec![
        Column::words("program"),
        Column::numbers("from", "s"),
        Column::numbers("to", "s"),
        Column::numbers("loss", "% of the time alone"),
        Column::words("culprit"),
        Column::numbers("by the culprit", "% of the time alone"),
    ];
    let (caption, rows) = limited_rows("Losses over time, estimated", losses, |one| {
        let culprit = one.worst.map(|(culprit, _)| story.programs.name(culprit));
        vec![
            Cell::words(story.programs.name(one.program)),
            Cell::number(Some(seconds(story.time(one.time))), 3),
            Cell::number(Some(seconds(story.time(one.time + 1))), 3),
            Cell::number(Some(one.loss * 100.0), 1),
            Cell::words(culprit.unwrap_or_default()),
            Cell::number(one.worst.map(|(_, part)| part * 100.0), 1),
        ]
    });
    Table { caption, columns, rows, folded: true }
}

/// The counts of the programs.
fn programs_table(story: &Story) -> Table {
    let columns = vec![
        Column::words(columns::PROGRAM.name),
        Column::words(columns::CLASS.name),
        Column::numbers(columns::IPC.name, ""),
        Column::numbers(columns::MPKI.name, "misses per 1000 instructions"),
        Column::numbers(columns::OCCUPANCY.name, "ways, on average"),
        Column::numbers("instructions", "in windows"),
        Column::numbers("windows", ""),
        Column::numbers("incomplete", "windows"),
        Column::numbers("ended", "times"),
        Column::prose("why this class"),
    ];
    let rows = story
        .programs
        .names()
        .iter()
        .zip(&story.programs.summaries)
        .map(|(name, did): (&String, &super::programs::ProgramSummary)| {
            let (class, why) = did.class.clone().unwrap_or_default();
            vec![
                Cell::words(name),
                Cell::words(class),
                Cell::number(did.totals.ipc(), 3),
                Cell::number(did.totals.mpki(), 3),
                Cell::number(did.totals.occupancy(), 2),
                Cell::count(did.totals.counters.instructions),
                Cell::count(Some(did.totals.windows)),
                Cell::count(Some(did.incomplete)),
                Cell::count(Some(did.runs)),
                Cell::words(why),
            ]
        })
        .collect();
    Table {
        caption: "What the windows showed of the programs".into(),
        columns,
        rows,
        folded: false,
    }
}

/// The plans that were in force for some time, or would have been.
fn plans(story: &Story, ways: Ways) -> Table {
    let columns = vec![
        Column::words("plan"),
        Column::numbers("from", "s"),
        Column::numbers("to", "s"),
        Column::words("ways, the highest first"),
        Column::words("clusters"),
        Column::prose("reason"),
    ];
    let (caption, rows) = limited_rows(
        "Plans, by the programs' numbers in the table above",
        &story.plans,
        |plan: &PlanSpan| {
            let partition = partition(&plan.content.clusters, story);
            let mut reason = plan.content.reason.clone();
            if let Some(planned) = &plan.content.planned {
                let planned = self::partition(planned, story);
                let (bar, members) = (bar(&planned, ways), members(&planned));
                reason = format!("{reason}; planned was {bar}, {members}");
            }
            let numbers = match plan.first == plan.last {
                true => plan.first.to_string(),
                false => format!("{} to {}", plan.first, plan.last),
            };
            vec![
                Cell::words(numbers),
                Cell::number(Some(seconds(plan.from)), 3),
                Cell::number(Some(seconds(plan.to)), 3),
                Cell::words(bar(&partition, ways)),
                Cell::words(members(&partition)),
                Cell::words(reason),
            ]
        },
    );
    Table { caption, columns, rows, folded: true }
}

/// The partition with programs' numbers in place of apps.
fn partition(clusters: &[(WayMask, Vec<ProgramIndex>)], story: &Story) -> Partition {
    let mut partition = Partition::default();
    for (mask, apps) in clusters {
        let cluster = partition.add_cluster(*mask);
        for &app in apps {
            partition.place(story.programs.number(app), cluster);
        }
    }
    partition
}

/// The classes of the programs.
fn classes(story: &Story) -> Table {
    let columns = vec![
        Column::words("program"),
        Column::numbers("from", "s"),
        Column::words("class"),
        Column::prose("reason"),
    ];
    let (caption, rows) = limited_rows("Classes", &story.classes, |class| {
        vec![
            Cell::words(story.programs.name(class.program)),
            Cell::number(Some(seconds(class.at)), 3),
            Cell::words(&class.class),
            Cell::words(&class.reason),
        ]
    });
    Table { caption, columns, rows, folded: true }
}

/// The numbers of events and actions.
fn counts(story: &Story) -> Table {
    let columns = vec![Column::words("what"), Column::words(""), Column::numbers("count", "")];
    let rows = story
        .counts
        .iter()
        .map(|((kind, name), count): (&(&'static str, &'static str), &u64)| {
            vec![Cell::words(*name), Cell::words(*kind), Cell::count(Some(*count))]
        })
        .collect();
    Table { caption: "Events and actions".into(), columns, rows, folded: true }
}

/// The rows of all entries, or of the first and the last ones; the caption says which.
fn limited_rows<T>(
    caption: &str,
    all: &[T],
    row: impl Fn(&T) -> Vec<Cell>,
) -> (String, Vec<Vec<Cell>>) {
    if all.len() <= MOST_ROWS {
        return (caption.to_owned(), all.iter().map(row).collect());
    }
    let half = MOST_ROWS / 2;
    let (first, last) = (&all[..half], &all[all.len() - half..]);
    let caption = format!("{caption}; of {}, the first {half} and the last {half}", all.len());
    (caption, first.iter().chain(last).map(row).collect())
}

/// The curve of misses in a profile that the policy had of a program.
fn known_curve(name: &str, profile: &Profile) -> Figure {
    let values = profile.llcmpki.values().iter();
    let values = values.map(|value| Some(value.raw() as f64 / (1_u64 << 32) as f64));
    curve(name, "MPKI", 0.0, &values.collect::<Vec<_>>())
}

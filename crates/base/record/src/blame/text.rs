//! Losses as tables for people.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit, fold};

use super::{BlameReport, NotSeen, OwnWays, Victim};

/// The most columns of the matrix; the culprits that cost least are left out.
const MOST_CULPRITS: usize = 8;

/// A smaller loss is left blank.
const SHOWN: f64 = 0.005;

/// How to find out what was never seen.
const ADVICE: &str = "To find out: `fairways-lab profile -- CMD`, or let it run for a while under a \
                      policy that gives it more ways, beside less traffic.";

/// What the numbers mean.
const LEGEND: &str = "
slowdown     cycles that it took, divided by those that it would take alone with the whole cache;
             unknown, or what it is at least, where the interval is wider than 30 % of it
least, most  the interval of the slowdown
cache        lost to neighbours' lines in shared ways, and to ways that it may not fill
bus          lost to waiting behind other programs' misses at the memory bus
unexplained  lost to something else; blank without a profile
culprit      the neighbour that costs it most; blank if it loses less than 2.5 %
losses       in units of the time alone; blank if less than 0.005
";

/// How well occupancies are known without a machine's help.
const ESTIMATED: &str = "\nOccupancies can't be read here, and are estimated from misses. Every \
                         program that uses the cache must be listed: otherwise the listed ones seem \
                         to occupy more than they do.";

/// What the column of waits for a CPU means.
const WAITS_LEGEND: &str = "waits for CPU: seconds that its threads waited for a CPU, for each \
                            second that they ran; not part of the slowdown";

/// A smaller part of CPU time taken by a hypervisor is not shown.
const SHOWN_STEAL: f64 = 0.01;

pub(super) fn print(blame: &BlameReport, out: &mut dyn Write) -> anyhow::Result<()> {
    let BlameReport { policy, from_seconds, to_seconds, .. } = blame;
    let domain = blame.domain.map_or(String::new(), |id| format!("In domain {id}, "));
    let from = if domain.is_empty() { "From" } else { "from" };
    writeln!(out, "{domain}{from} {from_seconds:.3} s to {to_seconds:.3} s, under {policy}:")?;
    writeln!(out, "{}", fit(losses(blame), &["most", "least"]))?;
    let culprits: Vec<&str> = blame
        .culprits
        .iter()
        .filter(|culprit| culprit.costs >= SHOWN)
        .take(MOST_CULPRITS)
        .map(|culprit| &*culprit.program)
        .collect();
    if culprits.is_empty() {
        let wide: Vec<String> = blame
            .programs
            .iter()
            .filter(|one| one.is_open())
            .map(|one| format!("{} ({:.2} to {:.2})", one.program, one.least, one.most))
            .collect();
        match &*wide {
            [] => writeln!(out, "\nNo program is blamed.")?,
            wide => {
                let is_named = blame.programs.iter().any(|one| one.worst.is_some());
                let text = match is_named {
                    true => "What the culprits cost is not known, nor is the slowdown of",
                    false => "No culprit found. Not known is the slowdown of",
                };
                let text = format!("{text} {}.", wide.join(", "));
                writeln!(out, "\n{}", fold(&text, 0))?;
            }
        }
    } else {
        writeln!(
            out,
            "\nWhat each victim loses to each culprit, cache and bus together:\n{}",
            fit(matrix(blame, &culprits), &[])
        )?;
    }
    let helps: Vec<String> = blame.programs.iter().filter_map(helps).collect();
    if !helps.is_empty() {
        writeln!(
            out,
            "\nWhat would help, by estimates, each line by itself:\n{}",
            fold(&helps.join("\n"), 2)
        )?;
    }
    write!(out, "{}", fold(LEGEND, 13))?;
    if blame.estimates_occupancies {
        writeln!(out, "{}", fold(ESTIMATED, 0))?;
    }
    print_waits(blame, out)?;
    let unknown = blame.programs.iter().filter_map(unknown).collect::<Vec<String>>();
    if !unknown.is_empty() {
        writeln!(out, "\n{}\n{}", fold(&unknown.join("\n"), 2), fold(ADVICE, 0))?;
    }
    Ok(())
}

/// What is known of waits for a CPU: the column's meaning, steal, and which programs need CPUs.
fn print_waits(blame: &BlameReport, out: &mut dyn Write) -> anyhow::Result<()> {
    if has_waits(blame) {
        writeln!(out, "{}", fold(WAITS_LEGEND, 2))?;
    }
    if let Some(stolen) = blame.stolen.filter(|&stolen| stolen > SHOWN_STEAL) {
        writeln!(out, "\nthe hypervisor took {:.0} % of CPU time", 100.0 * stolen)?;
    }
    let starved = blame.programs.iter().filter(|one| one.is_starved());
    let starved: Vec<String> = starved
        .map(|Victim { program, .. }| {
            format!(
                "{program}: it waits for a CPU more than for cache and memory: more CPUs or fewer \
                 programs would help it more than ways"
            )
        })
        .collect();
    if !starved.is_empty() {
        writeln!(out, "\n{}", fold(&starved.join("\n"), 2))?;
    }
    Ok(())
}

/// Whether it is known how long any program waits for a CPU.
fn has_waits(blame: &BlameReport) -> bool {
    blame.programs.iter().any(|one| one.cpu_wait.is_some())
}

fn losses(blame: &BlameReport) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    let has_waits = has_waits(blame);
    let mut header = vec!["program", "slowdown", "least", "most", "cache", "bus", "unexplained"];
    header.extend(has_waits.then_some("waits for CPU"));
    let numbers = header.len() - 1;
    header.push("culprit");
    table.set_header(header);
    for column in table.column_iter_mut().skip(1).take(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for one in &blame.programs {
        let mut row = vec![
            one.program.clone(),
            one.shown_slowdown().to_string(),
            format!("{:.2}", one.least),
            format!("{:.2}", one.most),
            lost(one.lines + one.ways),
            lost(one.bus),
            lost(one.unexplained),
        ];
        let wait = one.cpu_wait.map_or_else(String::new, |wait| format!("{wait:.2}"));
        row.extend(has_waits.then_some(wait));
        row.push(one.worst.clone().unwrap_or_default());
        table.add_row(row);
    }
    table
}

/// The victims that blame a neighbour, and what each culprit costs them.
fn matrix(blame: &BlameReport, culprits: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(std::iter::once("victim").chain(culprits.iter().copied()));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for victim in blame.programs.iter().filter(|victim| victim.worst.is_some()) {
        let costs = culprits.iter().map(|culprit| lost(victim.to(culprit)));
        table.add_row(std::iter::once(victim.program.clone()).chain(costs));
    }
    let mut sums = vec!["sum".to_owned()];
    sums.extend(culprits.iter().filter_map(|name| {
        let culprit = blame.culprits.iter().find(|culprit| culprit.program == *name)?;
        Some(lost(culprit.costs))
    }));
    table.add_row(sums);
    table
}

/// A loss; blank if it is close to 0.
fn lost(part: f64) -> String {
    if part < SHOWN { String::new() } else { format!("+{part:.2}") }
}

/// What a program loses, and to which neighbours.
pub(super) fn sentence(one: &Victim) -> String {
    let Victim { program, least, most, .. } = one;
    let slowdown = one.shown_slowdown();
    let mut text = format!("{program}: slowdown {slowdown}, from {least:.2} to {most:.2}");
    if one.worst.is_none() {
        return text + "; none is blamed";
    }
    for by in one.by.iter().filter(|by| by.cache + by.bus >= SHOWN) {
        let parts = [("cache", by.cache), ("bus", by.bus)];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, loss)| *loss >= SHOWN)
            .map(|(part, loss)| format!("{part} {}", lost(*loss)))
            .collect();
        text += &format!("; {} costs it {}", by.program, parts.join(", "));
    }
    text
}

/// What would help a victim, and what that would cost its worst culprit and all others.
fn helps(one: &Victim) -> Option<String> {
    let OwnWays { ways, saves, saves_least, saves_most, .. } = one.remedy?;
    let OwnWays { costs, costs_least, costs_most, costs_others, is_guess, .. } = one.remedy?;
    let (victim, culprit) = (&one.program, one.worst.as_deref()?);
    let plural = if ways == 1 { "" } else { "s" };
    let mut text = format!(
        "give {victim} {ways} way{plural} of its own: its slowdown falls by {saves:.2} \
         ({saves_least:.2} to {saves_most:.2}), {culprit}'s rises by "
    );
    if costs_most < SHOWN {
        text += &format!("less than {SHOWN}");
    } else {
        text += &format!("{costs:.2} ({costs_least:.2} to {costs_most:.2})");
    }
    if costs_others >= SHOWN {
        text += &format!(", those of all others by {costs_others:.2} together");
    }
    if is_guess {
        text += &format!("; a guess: {victim} was never seen with as many");
    }
    Some(text)
}

/// What to measure for a narrower interval, if the interval is wide.
fn unknown(one: &Victim) -> Option<String> {
    let why = match one.unknown.filter(|_| one.is_open())? {
        NotSeen::MoreWaysThan(0.0) => {
            "its occupancy was never measured, so its misses with more of the cache are a guess"
                .to_owned()
        }
        NotSeen::MoreWaysThan(ways) => {
            format!("it never had more than {ways:.1} ways, so its misses with more are a guess")
        }
        NotSeen::IdleBus => {
            "it never ran while the bus was idle, so what its misses cost then is a guess"
                .to_owned()
        }
    };
    Some(format!("{}: {why}", one.program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(programs: Vec<Victim>, stolen: Option<f64>) -> String {
        let mut out = Vec::new();
        print(&BlameReport { programs, stolen, ..BlameReport::default() }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn waiting(program: &str, slowdown: f64, bus: f64, cpu_wait: Option<f64>) -> Victim {
        let slowdown = Some(slowdown);
        Victim { program: program.to_owned(), slowdown, bus, cpu_wait, ..Victim::default() }
    }

    #[test]
    fn a_program_that_waits_longer_for_a_cpu_than_for_memory_is_named() {
        fairways_command_kit::table::keep_whole();
        let text = printed(
            vec![
                waiting("starved", 1.5, 0.5, Some(0.4)),
                waiting("slowed", 1.5, 0.5, Some(0.3)),
                waiting("quick", 1.0, 0.0, Some(0.04)),
                waiting("unknown", 1.0, 0.0, None),
            ],
            Some(0.054),
        );
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["starved", "1.50", "0.00", "0.00", "+0.50", "0.40"]), "{text}");
        assert!(rows.contains(&vec!["unknown", "1.00", "0.00", "0.00"]), "{text}");
        let named = text.lines().filter(|line| line.contains(": it waits for a CPU more"));
        assert!(named.map(|line| &line[..7]).eq(["starved"]), "{text}");
        assert!(text.contains("\nthe hypervisor took 5 % of CPU time\n"), "{text}");
    }

    #[test]
    fn waits_that_are_not_known_have_no_column() {
        let text = printed(vec![waiting("unknown", 1.0, 0.0, None)], Some(0.01));
        assert!(!text.contains("CPU"), "{text}");
        let json = serde_json::to_value(waiting("unknown", 1.0, 0.0, None)).unwrap();
        assert!(json.get("cpu_wait").is_none(), "{json}");
    }
}

//! The numbers in the tables are those of the results.

use std::fs;

use serde_json::{Value, json as object};

use super::html::{Cell, Table, table};
use super::{CLAIMS, DATA, fairways, page};

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Checks that a cell is that number, shown with this number of decimals; a dash means no number.
fn is(cell: &Cell, value: &Value, decimals: usize) {
    match value.as_f64() {
        Some(number) => {
            assert_eq!(cell.value, Some(number), "{cell:?}");
            assert_eq!(cell.text, format!("{number:.decimals$}"));
        }
        None => assert_eq!(*cell, Cell { text: "–".into(), value: None }),
    }
}

fn column(table: &Table, name: &str, values: &[&Value], decimals: usize) {
    let cells = table.column(name);
    assert_eq!(cells.len(), values.len(), "{name}");
    for (cell, value) in cells.iter().zip(values) {
        is(cell, value, decimals);
    }
}

fn of<'a>(rows: &'a Value, field: &str) -> Vec<&'a Value> {
    rows.as_array().unwrap().iter().map(|row| &row[field]).collect()
}

fn metrics(table: &Table, policies: &Value) {
    for (name, field) in [("unfairness", "unfairness"), ("STP", "stp"), ("ANTT", "antt")] {
        column(table, name, &of(policies, field), 3);
    }
    column(table, "Jain", &of(policies, "jain"), 4);
}

#[test]
fn of_a_comparison() {
    let path = format!("{DATA}/report/simulate.json");
    let (results, page) = (json(&path), page(&[path.into()]));
    let tables = Table::all(&page);
    let named =
        |caption: &str| tables.iter().filter(|of| of.caption == caption).collect::<Vec<_>>();
    let [sides, slowdowns, clusters] =
        ["Policies side by side", "Slowdowns as numbers", "Clusters and masks"].map(named);
    let mixes = results["mixes"].as_array().unwrap();
    assert_eq!([sides.len(), slowdowns.len(), clusters.len()], [mixes.len(); 3]);
    for (n, mix) in mixes.iter().enumerate() {
        let policies = &mix["policies"];
        metrics(sides[n], policies);
        let changes: Vec<Cell> = sides[n].rows.iter().map(|row| row[2].clone()).collect();
        let stock = policies[0]["unfairness"].as_f64().unwrap();
        for (cell, policy) in changes.iter().zip(policies.as_array().unwrap()) {
            if policy["policy"] == "stock" {
                assert_eq!(cell.text, "");
                continue;
            }
            let change = 100.0 * (policy["unfairness"].as_f64().unwrap() / stock - 1.0);
            assert!((cell.value.unwrap() - change).abs() < 1e-9);
            assert_eq!(cell.text, format!("{change:+.1} %").replace('-', "\u{2212}"));
        }
        let mut masks = Vec::new();
        for policy in policies.as_array().unwrap() {
            let all: Vec<&Value> = policy["slowdowns"].as_array().unwrap().iter().collect();
            column(slowdowns[n], policy["policy"].as_str().unwrap(), &all, 3);
            masks.extend(
                of(&policy["partition"], "mask").into_iter().map(|mask| mask.as_str().unwrap()),
            );
        }
        let shown = clusters[n].column("mask");
        assert!(shown.iter().map(|cell| cell.text.as_str()).eq(masks));
    }
    // The geometric mean of two is the root of their product.
    let [first, second] = [0, 1].map(|n| mixes[n]["policies"][4]["stp"].as_f64().unwrap());
    let mean = table(&tables, "Geometric means of 2 mixes").column("STP")[4].value.unwrap();
    assert!((mean - (first * second).sqrt()).abs() < 1e-12);
}

#[test]
fn of_a_comparison_over_time_and_on_a_chip() {
    let path = format!("{DATA}/report/dynamic.json");
    let (results, shown) = (json(&path), page(&[path.into()]));
    let tables = Table::all(&shown);
    let (policies, sides) =
        (&results["mixes"][0]["policies"], table(&tables, "Policies side by side"));
    metrics(sides, policies);
    column(sides, "plans", &of(policies, "plans"), 0);
    column(sides, "sampling, share of time", &of(policies, "sampling_share"), 4);
    column(sides, "of STP lost", &of(policies, "sampling_loss"), 4);

    let path = format!("{DATA}/report/chip.json");
    let (results, shown) = (json(&path), page(&[path.into()]));
    let tables = Table::all(&shown);
    metrics(table(&tables, "Policies side by side"), &results["policies"]);
    let did = table(&tables, "What each program did");
    // Alone, stock, equal: three rows a program; a run alone has no number of occupied ways.
    let mut holds = Vec::new();
    for program in 0..2 {
        holds.push(&Value::Null);
        holds
            .extend((0..2).map(|n| &results["policies"][n]["programs"][program]["occupancy_ways"]));
    }
    column(did, "occupancy", &holds, 2);
    let services = table(&tables, "Services");
    let answers = [
        &results["programs"][0]["service"],
        &results["policies"][0]["programs"][0]["service"],
        &results["policies"][1]["programs"][0]["service"],
    ];
    column(services, "p99", &answers.map(|of| &of["p99_ms"]), 3);
    column(services, "of alone", &answers.map(|of| &of["per_second_of_alone"]), 3);
}

#[test]
fn of_a_run_and_of_one_that_was_interrupted() {
    let path = format!("{DATA}/report/run.json");
    let results = json(&path);
    let check = |results: &Value, page: &str| {
        let tables = Table::all(page);
        let fared = table(&tables, "How the programs fared");
        column(fared, "slowdown, lfoc", &of(&results["programs"], "slowdown"), 3);
        column(fared, "slowdown, stock", &of(&results["programs"], "stock_slowdown"), 3);
        let beside = table(&tables, "lfoc beside no partitioning");
        let fields = ["unfairness", "stp", "antt"];
        column(beside, "lfoc", &fields.map(|field| &results[field]), 3);
        column(beside, "stock", &fields.map(|field| &results["stock"][field]), 3);
    };
    check(&results, &page(&[path.into()]));

    let mut results = results;
    for field in ["unfairness", "stp", "antt", "stock"] {
        results[field] = Value::Null;
    }
    results["interrupted"] = true.into();
    for program in results["programs"].as_array_mut().unwrap() {
        program["slowdown"] = Value::Null;
        program["stock_slowdown"] = Value::Null;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("interrupted.json");
    fs::write(&path, results.to_string()).unwrap();
    let page = page(&[path]);
    check(&results, &page);
    assert!(page.contains("The run was interrupted") && page.contains("unfairness is not known"));
}

#[test]
fn of_a_paper() {
    let mut outside = 0;
    for file in ["lfoc-embedded", "dcat-measured", "locpart", "casc", "cache-fair"] {
        let path = format!("{CLAIMS}/{file}.json");
        let (results, page) = (json(&path), page(&[path.into()]));
        let tables = Table::all(&page);
        let rows = results["rows"].as_array().unwrap();
        let every = table(&tables, "Every row");
        for (name, field) in [("ours", "measured"), ("band from", "low"), ("to", "high")] {
            for (cell, row) in every.column(name).iter().zip(rows) {
                assert_eq!(cell.value, row[field].as_f64(), "{file}: {row}");
                if let Some(words) = row[field].as_str() {
                    assert_eq!(cell.text, words);
                } else if row[field].is_null() {
                    assert_eq!(cell.text, "–");
                }
            }
        }
        let within = |of: bool| rows.iter().filter(move |row| row["in_band"] == of);
        let no = within(false).count();
        let outcomes = |of: bool| within(of).filter(|row| row["counts_as"] == "outcome").count();
        let yes = outcomes(true);
        let said = format!("{yes} of {} outcomes lie within their bands.", yes + outcomes(false));
        assert!(page.contains(&said), "{said}");
        let misses = tables.iter().find(|of| of.caption == "What misses its band");
        assert_eq!(misses.map_or(0, |of| of.rows.len()), no);
        assert_eq!(every.rows.len(), rows.len());
        // Rows with numbers, in each of the two tables.
        let numbers =
            |row: &&Value| ["measured", "low", "high"].iter().all(|of| row[*of].is_number());
        let drawn = rows.iter().filter(numbers).filter(|row| row["in_band"] == false).count();
        assert_eq!(page.matches("aria-label=\"outside of the band\"").count(), 2 * drawn);
        outside += drawn;
    }
    assert!(outside > 0);
}

/// A claim's row, with what came out on models.
fn claim(case: &str, corpus: Value) -> Value {
    object!({
        "item": "F", "case": case, "unit": "percent", "published": "5", "measured": 5.0,
        "low": 4.0, "high": 6.0, "kind": "yes", "counts_as": "outcome", "in_band": true,
        "by_seed": [5.0, 5.0], "seeds_in_band": 2, "corpus": corpus,
    })
}

/// What came out with real programs.
fn real(is_partial: bool) -> Value {
    object!({
        "measured": 9.0, "in_band": false, "by_seed": [9.0, 5.5], "seeds_in_band": 1,
        "partial": is_partial,
    })
}

fn texts(table: &Table, name: &str) -> Vec<String> {
    table.column(name).iter().map(|cell| cell.text.trim().to_owned()).collect()
}

fn values(table: &Table, name: &str) -> Vec<Option<f64>> {
    table.column(name).iter().map(|cell| cell.value).collect()
}

/// A row counts with real programs, unless models take part beside them.
#[test]
fn of_a_paper_on_two_grounds() {
    let rows = [claim("none", Value::Null), claim("some", real(true)), claim("all", real(false))];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paper.json");
    fs::write(&path, object!({"paper": "lfoc", "seconds": 1.0, "rows": rows}).to_string()).unwrap();
    let page = page(&[path]);
    assert!(page.contains("2 of 3 outcomes lie within their bands."));
    let tables = Table::all(&page);
    let every = table(&tables, "Every row");
    assert_eq!(values(every, "ours"), [5.0, 5.0, 9.0].map(Some));
    assert_eq!(values(every, "models"), [5.0; 3].map(Some));
    assert_eq!(values(every, "real programs"), [None, Some(9.0), Some(9.0)]);
    assert_eq!(texts(every, "counts with"), ["", "models", "real programs"]);
    let seeds = table(&tables, "With one seed each");
    assert_eq!(texts(seeds, "within the band"), ["2 of 2", "2 of 2", "1 of 2"]);
    assert_eq!(table(&tables, "What misses its band").rows.len(), 1);
}

#[test]
fn of_profiles() {
    let path = format!("{DATA}/report/profile.json");
    let (results, shown) = (json(&path), page(&[path.into()]));
    let tables = Table::all(&shown);
    let table_of = table(&tables, "What it does with every number of ways");
    for (name, field) in
        [("IPC", "ipc"), ("MPKI", "llcmpki"), ("MPKC", "llcmpkc"), ("stalls", "stalls_l2_miss")]
    {
        column(table_of, name, &of(&results["by_ways"], field), 3);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/profiles/data/embedded.csv");
    let tables = Table::all(&page(&[path.into()]));
    let mpki = table(&tables, "Misses per 1000 instructions (MPKI), by ways");
    let mut read = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path).unwrap();
    let head = read.headers().unwrap().clone();
    let place = |name: &str| head.iter().position(|column| column == name).unwrap();
    let [bench, ways, value] = ["BENCH", "NR_WAYS", "llcmpki"].map(place);
    let names = mpki.column("program");
    let mut rows = 0;
    for record in read.records() {
        let record = record.unwrap();
        let row = names.iter().position(|cell| cell.text == record[bench]).unwrap();
        assert_eq!(mpki.column(&record[ways])[row].value, Some(record[value].parse().unwrap()));
        rows += 1;
    }
    assert_eq!(rows, 600);
}

/// The journal's programs, plans and times are those that the run printed.
#[test]
fn of_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let args = ["run", "--machine", "model", "--mix", "triad,hash-join,btree-lookup,field-solver"];
    let more = [
        "--profiles",
        "synthetic",
        "--duration",
        "6s",
        "--instructions",
        "3000000000",
        "--journal",
    ];
    let stdout = fairways(&args).args(more).arg(&journal).assert().success();
    let stdout = String::from_utf8(stdout.get_output().stdout.clone()).unwrap();
    let page = page(&[journal]);
    let tables = Table::all(&page);
    // A program that starts again is the same program.
    let names = table(&tables, "What the windows showed").column("program");
    let names: Vec<&str> = names.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(names, ["0 triad", "1 hash-join", "2 btree-lookup", "3 field-solver"]);
    let ended = table(&tables, "What the windows showed").column("ended");
    for (cell, name) in ended.iter().zip(["triad", "hash-join", "btree-lookup", "field-solver"]) {
        let times = stdout.lines().filter(|line| line.ends_with(&format!("{name} has finished")));
        assert_eq!(cell.value, Some(times.count() as f64), "{name}");
    }
    // The plans follow one another, to the end.
    let plans = table(&tables, "Plans");
    let (from, to) = (plans.column("from"), plans.column("to"));
    assert_eq!(from[0].value, Some(0.0));
    assert_eq!(to.last().unwrap().text, "6.000");
    assert!(from[1..].iter().zip(&to).all(|(from, to)| from.value == to.value));
    // Every plan that the run printed and that was in force for any time is there with its ways.
    let reported: Vec<(&str, &str)> = stdout
        .lines()
        .filter_map(|line| line.split_once(" s  plan ").map(|(_, plan)| plan))
        .filter_map(|plan| plan.split_once(' '))
        .collect();
    let (numbers, bars) = (plans.column("plan"), plans.column("ways, the highest first"));
    let mut met = 0;
    for (number, rest) in reported {
        if let Some(row) =
            numbers.iter().position(|cell| cell.text.split(' ').next() == Some(number))
        {
            assert!(rest.starts_with(&bars[row].text), "plan {number}: {rest}");
            met += 1;
        }
    }
    assert!(met > 5, "{met}");
    let classes = table(&tables, "Classes").column("class");
    assert!(classes.iter().any(|cell| cell.text == "streaming"));
}

/// On a host: a program whose start does not name it, a plan that is refused, and missing readings.
#[test]
fn of_a_journal_in_which_things_are_missing() {
    let header = r#"{"schema":2,"fairways":"0.1.0","part":0,"policy":"lfoc","parameters":{},"machine":{"kind":"host","programs":["web"]}}"#;
    let counters = r#""llc_references":null,"stalls_l2_miss":null,"memory_bytes":null"#;
    let sampled = |at: u64, counted: &str, occupancy: &str| {
        format!(
            r#"{{"at":{at},"event":{{"sampled":{{"app":7,"counters":{{{counted},{counters}}},"occupancy":{occupancy},"window":1000000000,"plan":0,"straddled":false}}}}}}"#
        )
    };
    let plan = |at: u64, plan: u32, mask: &str| {
        format!(
            r#"{{"at":{at},"action":{{"partition":{{"plan":{plan},"partition":[{{"mask":"{mask}","apps":[7]}}],"reason":"r{plan}"}}}}}}"#
        )
    };
    let lines = [
        header.to_owned(),
        r#"{"at":0,"event":{"machine":{"llc":{"ways":4,"min_bits":1,"contiguous":true,"clos":16},"bandwidth":null}}}"#
            .into(),
        r#"{"at":0,"event":{"started":{"app":7,"wish":{"baseline_ways":null},"profile":null}}}"#
            .into(),
        plan(0, 0, "0xf"),
        r#"{"at":0,"event":{"applied":{"plan":0,"actual":[{"mask":"0xf","apps":[7]}]}}}"#.into(),
        sampled(1_000_000_000, r#""instructions":null,"cycles":500,"llc_misses":5"#, "null"),
        plan(1_000_000_000, 1, "0x3"),
        r#"{"at":1000000000,"event":{"refused":{"plan":1,"why":"failed"}}}"#.into(),
        sampled(2_000_000_000, r#""instructions":2000,"cycles":1000,"llc_misses":null"#, "\"2.5\""),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let page = page(std::slice::from_ref(&path));
    assert!(page.contains("2.000 s of 1 program under lfoc: 2 plans, 1 of them refused."));
    let tables = Table::all(&page);
    let did = table(&tables, "What the windows showed");
    let shown = |name: &str| did.column(name)[0].text.clone();
    assert_eq!([shown("program"), shown("class")], ["app 7", "–"]);
    // The IPC of the window that has both counters, no misses because no window has both counters,
    // and the ways of the window that has them.
    assert_eq!([shown("IPC"), shown("MPKI"), shown("occupancy")], ["2.000", "–", "2.50"]);
    assert_eq!([shown("windows"), shown("incomplete"), shown("instructions")], ["2", "2", "2000"]);
    // A refused plan was never in force.
    let plans = table(&tables, "Plans");
    let row: Vec<&str> = plans.rows[0].iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(row, ["0", "0.000", "2.000", "AAAA", "A 7", "r0"]);
    assert_eq!(plans.rows.len(), 1);
    // A program's name is shown if its start has one.
    let named = lines.join("\n").replace(r#""profile":null}}"#, r#""profile":null}},"name":"web""#);
    fs::write(&path, named + "\n").unwrap();
    let tables = Table::all(&super::page(&[path]));
    assert_eq!(table(&tables, "What the windows showed").column("program")[0].text, "7 web");
}

#[test]
fn of_losses_over_time() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let run = "run -q --machine chip:xeon-d --programs mlr:8M,mload:60M,gzip --policy lfoc \
               --time-scale 0.01 --duration 10s --journal";
    fairways(&run.split_whitespace().collect::<Vec<&str>>()).arg(&journal).assert().success();
    let page = page(std::slice::from_ref(&journal));
    assert_eq!(page.matches(r#"aria-label="What programs lose to their neighbours"#).count(), 2);
    let tables = Table::all(&page);
    let losses = table(&tables, "Losses over time, estimated");
    // Every row of three times is what `blame` finds in that span.
    let mut spans: Vec<[f64; 2]> =
        losses.rows.iter().map(|row| [1, 2].map(|cell| row[cell].value.unwrap())).collect();
    spans.dedup();
    assert!(spans.len() > 10 && losses.rows.iter().any(|row| row[4].text == "1 mload:60M"));
    for [from, to] in [spans[1], spans[spans.len() / 2], spans[spans.len() - 1]] {
        let [since, until] = [from, to].map(|seconds| format!("{}ns", (seconds * 1e9).round()));
        let mut blame = fairways(&["blame", "--json", "--since", &since, "--until", &until]);
        let found = blame.arg("--journal").arg(&journal).assert().success();
        let found: Value = serde_json::from_slice(&found.get_output().stdout).unwrap();
        let programs = found["programs"].as_array().unwrap();
        let rows: Vec<&Vec<Cell>> =
            losses.rows.iter().filter(|row| row[1].value == Some(from)).collect();
        assert_eq!(rows.len(), programs.len(), "{from} {found}");
        for row in rows {
            let program = programs.iter().find(|one| one["program"] == name_in(&row[0])).unwrap();
            // Where it is not known, what it is at least.
            let known = program["slowdown"].as_f64().or(program["slowdown_at_least"].as_f64());
            let expected = (known.unwrap_or(1.0) - 1.0) * 100.0;
            assert!((row[3].value.unwrap() - expected).abs() < 0.01, "{row:?} {program}");
            assert_eq!(name_in(&row[4]), program["worst"].as_str().unwrap_or_default(), "{found}");
        }
    }
}

/// A program's name, after its number.
fn name_in(cell: &Cell) -> &str {
    cell.text.get(2..).unwrap_or_default()
}

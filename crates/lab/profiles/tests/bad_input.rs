//! Errors in files are one line: where, what was expected, what was found.

#![allow(clippy::unwrap_used)]

use fairways_profiles::{
    ProfileMetric, ProfileTable, embedded, embedded_programs, read_mixes, read_table,
    read_table_to_score, write_table,
};

fn row(program: &str, ways: u32) -> String {
    let values = ProfileMetric::ALL.map(|metric| match metric {
        ProfileMetric::Ipc => format!("1.{ways}"),
        _ => format!("0.{ways}"),
    });
    format!("{program},{ways},{}", values.join(","))
}

/// Two programs on three ways, a line for each element.
fn good() -> Vec<String> {
    let header =
        format!("BENCH,NR_WAYS,{}", ProfileMetric::ALL.map(ProfileMetric::column).join(","));
    let rows = ["a", "b"].iter().flat_map(|p| [3, 1, 2].map(|ways| row(p, ways)));
    std::iter::once(header).chain(rows).collect()
}

fn read(lines: &[String]) -> Result<ProfileTable, String> {
    read_bytes(lines.join("\n").as_bytes())
}

fn read_bytes(bytes: &[u8]) -> Result<ProfileTable, String> {
    read_table(bytes, "p.csv").map_err(|error| error.to_string())
}

/// The error for the good file with line `line` (counted from 1) changed.
fn changed(line: usize, change: impl Fn(&str) -> String) -> String {
    let mut lines = good();
    lines[line - 1] = change(&lines[line - 1]);
    read(&lines).unwrap_err()
}

/// The error for the good file with this metric of line 3 (a, 1 way) set to `value`.
fn with_value(metric: ProfileMetric, value: &str) -> String {
    changed(3, |line| {
        let mut fields: Vec<&str> = line.split(',').collect();
        fields[2 + metric as usize] = value;
        fields.join(",")
    })
}

fn reversed(line: &str) -> String {
    line.split(',').rev().collect::<Vec<_>>().join(",")
}

#[test]
fn rows_and_columns_may_stand_in_any_order() {
    let table = read(&good()).unwrap();
    assert_eq!((table.ways().get(), table.names()), (3, &["a".to_owned(), "b".to_owned()][..]));
    assert_eq!(table.values(1, ProfileMetric::Ipc).collect::<Vec<_>>(), [1.1, 1.2, 1.3]);

    let mut lines: Vec<_> = good().iter().map(|line| reversed(line)).collect();
    assert_eq!(read(&lines).unwrap(), table);

    // Blank lines, Windows line ends, a byte-order mark, a further column, spaces and quotes.
    lines = good().iter().map(|line| format!("{line} , more\r\n\r")).collect();
    lines[1] = lines[1].replacen("a,", "\"a\" ,", 1);
    assert_eq!(read_bytes(format!("\u{feff}{}", lines.join("\n")).as_bytes()).unwrap(), table);
}

/// The good file without these columns.
fn without(metrics: &[ProfileMetric]) -> Result<ProfileTable, String> {
    read(&lines_without(metrics))
}

fn lines_without(metrics: &[ProfileMetric]) -> Vec<String> {
    good()
        .iter()
        .map(|line| {
            let fields = line.split(',').enumerate();
            let kept =
                fields.filter(|&(place, _)| metrics.iter().all(|&m| place != 2 + m as usize));
            kept.map(|(_, field)| field).collect::<Vec<_>>().join(",")
        })
        .collect()
}

/// To score plans, IPC and misses are enough; what nobody measured is named, and is no number.
#[test]
fn ipc_and_misses_are_enough_to_score() {
    use ProfileMetric::{Ipc, Llcmpkc, Llcmpki, StallsTotal};
    let whole = read(&good()).unwrap();
    for kept in [Llcmpki, Llcmpkc] {
        let others = ProfileMetric::ALL.into_iter().filter(|metric| ![Ipc, kept].contains(metric));
        let lines = lines_without(&others.collect::<Vec<_>>());
        let table = read_table_to_score(lines.join("\n").as_bytes(), "p.csv").unwrap();
        let missing: Vec<_> = table.missing().collect();
        assert_eq!(missing.len(), 9, "{missing:?}");
        for metric in ProfileMetric::ALL {
            let is_known = [Ipc, Llcmpkc, Llcmpki].contains(&metric);
            assert_eq!(table.values(0, metric).all(f64::is_nan), !is_known, "{metric:?}");
            assert_eq!(missing.contains(&metric), !is_known, "{metric:?}");
        }
        assert_eq!(table.profile(0).ipc, whole.profile(0).ipc);
    }
    assert_eq!(whole.missing().count(), 0);
    let without_stalls = lines_without(&[StallsTotal]).join("\n");
    let table = read_table_to_score(without_stalls.as_bytes(), "p.csv").unwrap();
    assert_eq!(table.missing().collect::<Vec<_>>(), [StallsTotal]);

    let no_misses = lines_without(&[Llcmpkc, Llcmpki]).join("\n");
    let why = read_table_to_score(no_misses.as_bytes(), "p.csv").unwrap_err().to_string();
    assert!(why.starts_with("p.csv:1: column llcmpki: expected this column, found"), "{why}");
}

/// Misses by cycles follow from those by instructions and the IPC, and the other way round.
#[test]
fn columns_that_follow_from_others_may_be_missing() {
    use ProfileMetric::{Ipc, Llcmpkc, Llcmpki, Llcrpkc, Llcrpki};
    let whole = read(&good()).unwrap();
    for (missing, from, factor) in [
        (Llcrpkc, Llcrpki, &(|ipc| ipc) as &dyn Fn(f64) -> f64),
        (Llcmpkc, Llcmpki, &|ipc| ipc),
        (Llcmpki, Llcmpkc, &|ipc| 1.0 / ipc),
    ] {
        let table = without(&[missing]).unwrap();
        let known = whole.values(0, from).zip(whole.values(0, Ipc));
        let expected: Vec<f64> = known.map(|(value, ipc)| value * factor(ipc)).collect();
        assert_eq!(table.values(0, missing).collect::<Vec<_>>(), expected);
        assert_eq!(table.profile(0).ipc, whole.profile(0).ipc);
    }
    assert!(without(&[Llcrpkc, Llcmpkc]).is_ok());
    assert!(without(&[Llcmpkc, Llcmpki]).is_err() && without(&[Llcrpki]).is_err());
}

/// With IPC and misses only, one line names all that is missing, and what to do.
#[test]
fn columns_that_nothing_gives_are_all_named() {
    let metrics = ProfileMetric::ALL;
    let why = without(&metrics[3..].iter().copied().chain([metrics[1]]).collect::<Vec<_>>());
    assert_eq!(
        why.unwrap_err(),
        "p.csv:1: column llcrpki: expected this column, and llcrpkc, llc_usage_kb, bandwidth_mbps, \
         llcm_bandwidth, stalls_l2_miss, stalls_l3_miss, stalls_total, stalls_store_buf; fairways-lab \
         profile measures them, and simulate and optimum score plans without them, found a header \
         without it: \"BENCH,NR_WAYS,ipc,llcmpki\""
    );
}

#[test]
fn a_table_that_is_written_reads_the_same() {
    for table in [&read(&good()).unwrap(), embedded()] {
        assert_eq!(&read_bytes(write_table(table).as_bytes()).unwrap(), table);
    }
}

#[test]
fn an_empty_or_a_truncated_file() {
    let header =
        "p.csv:1: expected a header with BENCH, NR_WAYS and the metrics, found an empty file";
    assert_eq!(read_bytes(b"").unwrap_err(), header);
    assert_eq!(read_bytes(b"\n\n").unwrap_err(), header);
    let no_row = "p.csv:2: expected a row for a program, found the end of the file";
    assert_eq!(read(&good()[..1]).unwrap_err(), no_row);
    let missing = "p.csv:5: column NR_WAYS: expected a row for \"b\" with each of 1 to 3 ways, found none with 2";
    assert_eq!(read(&good()[..6]).unwrap_err(), missing);
    let cut = "p.csv:7: column 5: expected 14 fields, as in the header, found 4 fields";
    assert_eq!(changed(7, |line| line.split(',').take(4).collect::<Vec<_>>().join(",")), cut);
    // Wherever it is cut, it is an error, but for within the last number of a program's last row.
    let text = good().join("\n");
    let line_5 = text.match_indices('\n').nth(3).unwrap().0;
    for end in 0..text.len() - 3 {
        let whole_programs = (line_5 - 2..=line_5 + 1).contains(&end);
        assert_eq!(read_bytes(&text.as_bytes()[..end]).is_ok(), whole_programs, "cut at {end}");
    }
}

#[test]
fn the_header() {
    let error = changed(1, |line| line.replace(",stalls_total", ",stalls"));
    let missing = "p.csv:1: column stalls_total: expected this column, found a header without it: \
                   \"BENCH,NR_WAYS,ipc,llcrpki,llcmpki,llcrpk...\"";
    assert_eq!(error, missing);
    let error = changed(1, |line| line.replace(",llcmpki", ",ipc"));
    assert_eq!(error, "p.csv:1: column ipc: expected this column once, found it twice");
}

#[test]
fn numbers() {
    for bad in ["NaN", "-0.5", "inf", "x", "", "1e300", "0.5 0"] {
        let found = if bad.is_empty() { "nothing".into() } else { format!("{bad:?}") };
        let expected =
            format!("p.csv:3: column llcmpkc: expected a number from 0 to 16777216, found {found}");
        assert_eq!(with_value(ProfileMetric::Llcmpkc, bad), expected);
    }
    let ipc = "p.csv:3: column ipc: expected a number from 0.001 to 1000, found \"0\"";
    assert_eq!(with_value(ProfileMetric::Ipc, "0"), ipc);
    let share = "p.csv:3: column stalls_total: expected a number from 0 to 1, found \"1.5\"";
    assert_eq!(with_value(ProfileMetric::StallsTotal, "1.5"), share);
}

#[test]
fn way_counts() {
    for bad in ["0", "33", "-1", "1.5", "x"] {
        let error = changed(3, |line| line.replacen(",1,", &format!(",{bad},"), 1));
        let expected = format!(
            "p.csv:3: column NR_WAYS: expected a whole number of ways from 1 to 32, found {bad:?}"
        );
        assert_eq!(error, expected);
    }
    let twice = "p.csv:4: column NR_WAYS: expected one row for \"a\" with 1 ways, found a second one; the first is line 3";
    assert_eq!(changed(4, |line| line.replacen(",2,", ",1,", 1)), twice);
    let gap = "p.csv:2: column NR_WAYS: expected a row for \"a\" with each of 1 to 4 ways, found none with 2";
    assert_eq!(changed(4, |line| line.replacen(",2,", ",4,", 1)), gap);
}

#[test]
fn names_and_text() {
    let empty = "p.csv:3: column BENCH: expected a name without commas, quotes or control characters, found nothing";
    assert_eq!(changed(3, |line| line[1..].to_owned()), empty);
    let mut bytes = good().join("\n").into_bytes();
    let line_4 = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0;
    bytes[line_4 + 1] = 0xff;
    assert_eq!(read_bytes(&bytes).unwrap_err(), "p.csv:4: expected UTF-8 text, found byte 0xff");
}

#[test]
fn the_line_is_right_after_blank_lines() {
    let mut lines = good();
    lines[4] = format!("\n\r\n{}", lines[4].replacen(",3,", ",x,", 1));
    assert!(read(&lines).unwrap_err().starts_with("p.csv:7: column NR_WAYS"));
}

fn mixes(text: &str) -> Result<Vec<(String, Vec<usize>)>, String> {
    let table = read(&good()).unwrap();
    let mixes = read_mixes(text.as_bytes(), "m.csv", |name| table.find(name));
    let mixes = mixes.map_err(|error| error.to_string())?;
    Ok(mixes.into_iter().map(|mix| (mix.name, mix.programs)).collect())
}

#[test]
fn a_mixes_file() {
    let expected = [("M1".to_owned(), vec![0, 1, 0]), ("M 2".to_owned(), vec![1])];
    assert_eq!(mixes("mix,apps...\n# two\n\nM1, a,b ,a\r\nM 2,b").unwrap(), expected);
    assert_eq!(mixes("\u{feff}mix\nM1,a,b,a\nM 2,b\n").unwrap(), expected);

    let programs = embedded_programs();
    let mixed = read_mixes(b"M,triad,field-solver", "m.csv", |name| programs.find(name)).unwrap();
    assert_eq!(mixed[0].programs, [0, 30]);
}

fn mixes_error(text: &str) -> String {
    mixes(text).unwrap_err()
}

/// The simulator of the LFOC paper has mixes without names (PBBCache, `workloads.csv`).
#[test]
fn a_mixes_file_without_names() {
    let expected = vec![("W1".to_owned(), vec![0, 1, 0]), ("W2".to_owned(), vec![1])];
    assert_eq!(mixes("a,b,a\n\nb\n").unwrap(), expected);
    assert_eq!(mixes("# of PBBCache\na, b,a\r\nb").unwrap(), expected);
    // A misspelt program is no name, and a program is none either.
    assert_eq!(
        mixes_error("a,b\nbb,a"),
        "m.csv:2: column 1: expected a program of the profiles, found \"bb\""
    );
    assert_eq!(
        mixes_error("M1,a,b\nb,a"),
        "m.csv:2: column 1: expected a name that no program has, as on the lines before, found \"b\""
    );
    assert_eq!(
        mixes_error("a,\n"),
        "m.csv:1: column 2: expected a program of the profiles, found nothing"
    );
}

#[test]
fn a_bad_mixes_file() {
    let end = "m.csv:1: column 1: expected a mix: a name, then programs, found the end of the file";
    assert_eq!(mixes_error(""), end);
    assert_eq!(
        mixes_error("M1,a\nM2,a,c"),
        "m.csv:2: column 3: expected a program of the profiles, found \"c\""
    );
    assert_eq!(
        mixes_error("M1,a,"),
        "m.csv:1: column 3: expected a program of the profiles, found nothing"
    );
    assert_eq!(mixes_error("M1"), "m.csv:1: column 2: expected at least one program, found none");
    let name = "m.csv:2: column 1: expected a name without commas, quotes or control characters, found nothing";
    assert_eq!(mixes_error("M1,a\n,a"), name);
    let twice =
        "m.csv:3: column 1: expected a mix of another name, found \"M1\", which line 1 has too";
    assert_eq!(mixes_error("M1,a\nM2,a\nM1,b"), twice);
}

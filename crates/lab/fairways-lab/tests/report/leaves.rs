//! Every number of the results is on their page.

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;

use super::{CLAIMS, DATA, page};

/// Fields whose numbers are not shown: the schema is no result.
const EXCEPT: [&str; 1] = ["schema"];

/// The numbers of a JSON text as they are written, each with its field. This does not depend on how
/// Fairways parses JSON.
fn literals(json: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let (mut field, mut rest) = (String::new(), json);
    while let Some(letter) = rest.chars().next() {
        if letter == '"' {
            let end = rest[1..].match_indices('"').map(|(at, _)| at + 1).find(|&at| {
                let slashes = rest[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
                slashes % 2 == 0
            });
            let end = end.unwrap();
            let after = &rest[end + 1..];
            if after.trim_start().starts_with(':') {
                field = rest[1..end].to_owned();
            }
            rest = after;
        } else if letter.is_ascii_digit() || letter == '-' {
            let end = rest.find(|of: char| !(of.is_ascii_digit() || "+-.eE".contains(of)));
            let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
            found.push((field.clone(), number));
            rest = after;
        } else {
            rest = &rest[letter.len_utf8()..];
        }
    }
    found
}

/// How often the cells and the facts of a page show each number: by its exact value where the page
/// has one.
fn shown(page: &str) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    let mut count = |number: f64| *counts.entry(number.to_bits()).or_insert(0) += 1;
    let ends = ["</td>", "</th>", "</dd>"];
    for piece in page.split("<td").flat_map(|of| of.split("<th")).flat_map(|of| of.split("<dd")) {
        let Some(end) = ends.iter().filter_map(|end| piece.find(end)).min() else { continue };
        let cell = piece[..end].split_once('>').unwrap().1;
        if let Some(data) = cell.split("<data value=\"").nth(1) {
            count(data.split('"').next().unwrap().parse().unwrap());
            continue;
        }
        let numbers = cell.split(|of: char| !(of.is_ascii_digit() || "+-.eE".contains(of)));
        numbers.filter_map(|number| number.parse().ok()).for_each(&mut count);
    }
    counts
}

/// The count of numbers in the results, if the page has each at least as often as they do;
/// otherwise a number that it lacks.
fn all_there(json: &str, page: &str) -> Result<usize, String> {
    let shown = shown(page);
    let mut wanted: BTreeMap<u64, (usize, String)> = BTreeMap::new();
    let mut count = 0;
    for (field, literal) in literals(json) {
        if EXCEPT.contains(&field.as_str()) {
            continue;
        }
        let number: f64 = literal.parse().unwrap();
        // A cell does not distinguish 0 from -0.
        let of = wanted.entry((number + 0.0).to_bits()).or_default();
        of.0 += 1;
        of.1 = format!("{field}: {literal}");
        count += 1;
    }
    for (bits, (times, what)) in wanted {
        let found = shown.get(&bits).copied().unwrap_or_default();
        if found < times {
            return Err(format!("{what}: {found} times, and {times} in the results"));
        }
    }
    Ok(count)
}

#[test]
fn every_number_of_every_kind_of_results_is_on_its_page() {
    let mut files: Vec<String> = ["simulate", "dynamic", "chip", "optimum", "run", "profile"]
        .map(|name| format!("{DATA}/report/{name}.json"))
        .into();
    let papers = ["lfoc-embedded", "dcat-measured", "locpart", "casc", "cache-fair"];
    files.extend(papers.map(|name| format!("{CLAIMS}/{name}.json")));
    for file in files {
        let json = fs::read_to_string(&file).unwrap();
        let page = page(&[file.clone().into()]);
        let count = all_there(&json, &page).unwrap_or_else(|what| panic!("{file}: {what}"));
        assert!(count > 10, "{file}: {count}");
        // A missing number would be noticed.
        let more = json.trim_end().strip_suffix('}').unwrap().to_owned() + ",\"more\":1.25e-7}";
        assert_eq!(
            all_there(&more, &page).unwrap_err(),
            "more: 1.25e-7: 0 times, and 1 in the results"
        );
    }
}

#[test]
fn every_number_of_profiles_is_on_their_page() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/profiles/data/embedded.csv");
    let page = page(&[file.into()]);
    let shown = shown(&page);
    let mut read = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(file).unwrap();
    let head = read.headers().unwrap().clone();
    let mut count = 0;
    for record in read.records() {
        for (name, value) in head.iter().zip(&record.unwrap()) {
            let Ok(number) = value.parse::<f64>() else { continue };
            let there = shown.contains_key(&number.to_bits());
            assert!(there, "{name}: {value}");
            count += 1;
        }
    }
    assert!(count > 600 * 10, "{count}");
}

/// 17 digits, some of which a fast parser gets wrong.
#[test]
fn numbers_are_read_to_their_last_digit() {
    let text = fs::read_to_string(format!("{DATA}/report/run.json")).unwrap();
    let old = literals(&text).into_iter().find(|(field, _)| field == "slowdown").unwrap().1;
    let folder = TempDir::new().unwrap();
    let mut random = 1_u64;
    let mut files = Vec::new();
    let mut expected = Vec::new();
    for n in 0..50 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let literal = format!("1.{:016}", random % 10_000_000_000_000_000);
        let path = folder.path().join(format!("{n}.json"));
        fs::write(&path, text.replacen(old, &literal, 1)).unwrap();
        files.push(path);
        expected.push(literal);
    }
    let page = page(&files);
    let shown = shown(&page);
    for literal in expected {
        let number: f64 = literal.parse().unwrap();
        assert!(shown.contains_key(&number.to_bits()), "{literal}");
    }
}

//! The sentence that sums up the results.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::html::{Table, table};
use super::{DATA, page, refused};

fn results(name: &str) -> Value {
    serde_json::from_slice(&fs::read(format!("{DATA}/report/{name}.json")).unwrap()).unwrap()
}

fn shown(results: &Value) -> String {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.json");
    fs::write(&path, results.to_string()).unwrap();
    page(&[path])
}

#[test]
fn of_several_mixes_the_means_and_in_how_many_it_holds() {
    let mut several = results("simulate");
    let page = shown(&several);
    assert!(page.contains("Geometric means of 2 mixes. Fairest is lfoc, unfairness "), "{page}");
    assert!(page.contains(" lfoc is fairer than stock in 2 of 2 mixes."));
    for policy in several["mixes"][1]["policies"].as_array_mut().unwrap() {
        if policy["policy"] == "stock" {
            policy["unfairness"] = json!(1.0);
        }
    }
    assert!(shown(&several).contains(" lfoc is fairer than stock in 1 of 2 mixes."));
    several["mixes"] = json!([]);
    let page = shown(&several);
    assert!(page.contains("There is no mix.") && !page.contains("fairways-lab optimum"));
}

#[test]
fn a_change_against_nothing_is_none() {
    let mut run = results("run");
    run["stock"]["unfairness"] = json!(0.0);
    let page = shown(&run);
    assert!(page.contains("Under lfoc, unfairness is 1.211.</p>"));
    let mut mix = results("simulate");
    mix["mixes"].as_array_mut().unwrap().truncate(1);
    mix["mixes"][0]["policies"][0]["unfairness"] = json!(0.0);
    mix["mixes"][0]["policies"][0]["stp"] = json!(0.0);
    for page in [page, shown(&mix)] {
        assert!(!page.contains("inf") && !page.contains("NaN"));
    }
}

#[test]
fn ways_that_were_not_measured_are_a_gap() {
    let mut profile = results("profile");
    let rows = profile["by_ways"].as_array_mut().unwrap();
    rows.remove(4);
    rows.swap(0, 1);
    let all = rows.len();
    let page = shown(&profile);
    let tables = Table::all(&page);
    let ways = table(&tables, "What it does").column("ways");
    let ways: Vec<&str> = ways.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!((ways.len(), &ways[..5]), (all, &["1", "2", "3", "4", "6"][..]));
    assert!(page.contains("MPKI is 0.92 with 1 way, and ") && page.contains(" with 11.</p>"));
    assert_eq!(page.matches("class=\"curve\"").count(), 4);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("profile.json");
    for ways in [0, 2, 12] {
        profile["by_ways"][0]["ways"] = ways.into();
        profile["by_ways"][1]["ways"] = 2.into();
        fs::write(&path, profile.to_string()).unwrap();
        let said = format!("by_ways: expected each of 1 to 11 ways once, found {ways}");
        assert!(refused(&path).contains(&said));
    }
}

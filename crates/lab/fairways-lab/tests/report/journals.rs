//! Journals whose end or beginning is missing, and plans that were refused.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::html::{Table, table};
use super::{DATA, JOURNAL, fairways, page, refused};

const HEADER: &str = r#"{"schema":2,"fairways":"0.1.0","part":0,"policy":"lfoc","parameters":{},"machine":{"kind":"host","programs":[]}}"#;
const MACHINE: &str = r#"{"at":0,"event":{"machine":{"llc":{"ways":4,"min_bits":1,"contiguous":true,"clos":16},"bandwidth":null}}}"#;

fn plan(at: u64, plan: u32, mask: &str) -> String {
    format!(
        r#"{{"at":{at},"action":{{"partition":{{"plan":{plan},"partition":[{{"mask":"{mask}","apps":[7]}}],"reason":"r"}}}}}}"#
    )
}

fn applied(at: u64, plan: u32, mask: &str) -> String {
    format!(
        r#"{{"at":{at},"event":{{"applied":{{"plan":{plan},"actual":[{{"mask":"{mask}","apps":[7]}}]}}}}}}"#
    )
}

fn refusal(at: u64, plan: u32) -> String {
    format!(r#"{{"at":{at},"event":{{"refused":{{"plan":{plan},"why":"failed"}}}}}}"#)
}

fn woke(at: u64) -> String {
    format!(r#"{{"at":{at},"event":"woke"}}"#)
}

/// The page of a journal with these lines after its header.
fn page_of(lines: &[String]) -> String {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let head = [HEADER.to_owned(), MACHINE.to_owned()];
    fs::write(&path, head.iter().chain(lines).map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    page(&[path])
}

/// The plans of a page: their numbers, when they began and ended, and their ways.
fn plans(page: &str) -> Vec<[String; 4]> {
    let tables = Table::all(page);
    let rows = table(&tables, "Plans").rows.iter();
    rows.map(|row| [0, 1, 2, 3].map(|cell| row[cell].text.clone())).collect()
}

/// A journal in several parts.
fn parts(more: &[&str]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let args = ["run", "--machine", "model", "-q", "--duration", "1s", "--journal-size", "20K"];
    fairways(&args).args(more).arg("--journal").arg(&path).assert().success();
    (folder, path)
}

#[test]
fn the_newest_part_may_be_cut_short() {
    let (_folder, path) = parts(&[]);
    let whole = fs::read(&path).unwrap();
    let said = "The journal&#39;s end is cut short";
    assert!(!page(std::slice::from_ref(&path)).contains(said));
    let half = whole.iter().position(|byte| *byte == b'\n').unwrap() / 2;
    for left in [None, Some(0), Some(half)] {
        match left {
            None => fs::remove_file(&path).unwrap(),
            Some(bytes) => fs::write(&path, &whole[..bytes]).unwrap(),
        }
        let page = page(std::slice::from_ref(&path));
        assert!(
            page.contains(said) && page.contains("Journal of a run under fairways"),
            "{left:?}"
        );
        assert!(plans(&page).len() > 1, "{left:?}");
    }
    // A file beside other results is no part of a journal.
    let other = path.with_extension("json");
    fs::write(other.with_extension("json.0"), "{}\n").unwrap();
    fs::write(&other, "").unwrap();
    assert!(refused(&other).contains("expected the JSON of simulate"));
}

#[test]
fn a_journal_begins_at_its_oldest_part_that_is_kept() {
    let (_folder, path) = parts(&["--journal-parts", "2"]);
    assert!(!path.with_extension("0").exists());
    let page = page(std::slice::from_ref(&path));
    assert!(page.contains("Only a part of the story: the journal&#39;s first "));
    assert!(page.contains("as many ways as the plans name"));
    let plans = plans(&page);
    assert!(plans[0][1].parse::<f64>().unwrap() > 0.1, "{plans:?}");
    let tables = Table::all(&page);
    let names = table(&tables, "What the windows showed").column("program");
    let header = fs::read_to_string(&path).unwrap();
    let header: serde_json::Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    let programs = header["machine"]["programs"].as_array().unwrap().iter().enumerate();
    let known: Vec<String> =
        programs.map(|(n, name)| format!("{n} {}", name.as_str().unwrap())).collect();
    assert!(names.len() > 3 && names.iter().all(|name| known.contains(&name.text)), "{names:?}");
    let replay = fairways(&["replay"]).arg(&path).assert().code(2);
    let said = String::from_utf8_lossy(&replay.get_output().stderr).into_owned();
    assert!(said.contains("expected part 0") && said.contains("`fairways report`"), "{said}");
    // A missing part in the middle is an error.
    let parts: Vec<PathBuf> = (0..100).map(|n| path.with_extension(n.to_string())).collect();
    let kept: Vec<&PathBuf> = parts.iter().filter(|part| part.is_file()).collect();
    assert_eq!(kept.len(), 2);
    fs::remove_file(kept[1]).unwrap();
    assert!(refused(&path).contains("of the same run, found part"));
}

#[test]
fn a_part_of_a_journal_is_not_overwritten_by_its_page() {
    let (_folder, path) = parts(&[]);
    let link = path.with_extension("page");
    std::os::unix::fs::symlink(path.with_extension("1"), &link).unwrap();
    for part in [path.with_extension("0"), link] {
        let before = fs::read(&part).unwrap();
        let assert = fairways(&["report", "-o"]).arg(&part).arg(&path).assert().code(2);
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(said.contains("expected another file than the results"), "{said}");
        assert_eq!(fs::read(&part).unwrap(), before);
    }
}

#[test]
fn the_last_plan_is_shown_even_if_nothing_follows() {
    let page = page_of(&[plan(0, 0, "0x3"), applied(0, 0, "0x3")]);
    assert!(page.contains("The journal ends with its first plan") && page.contains("1 plan."));
    assert_eq!(plans(&page), [["0", "0.000", "0.000", "..AA"]]);
    let open = page_of(&[plan(0, 0, "0x3")]);
    assert!(open.contains("ends before the machine has answered its first plan"));
    assert!(open.contains("1 plan."));
    let none = page_of(&[woke(5)]);
    assert!(none.contains("The policy divided no ways."));
    let all = page_of(&[plan(0, 0, "0x3"), refusal(9, 0)]);
    assert!(all.contains("No plan came into force") && !all.contains("divided no ways"));
}

#[test]
fn a_plan_may_be_refused_after_others_were_made() {
    let second = 1_000_000_000;
    let lines = [
        plan(0, 0, "0xf"),
        applied(0, 0, "0xf"),
        woke(second),
        plan(second, 1, "0x3"),
        plan(second, 2, "0xf"),
        refusal(second, 1),
        applied(second, 2, "0xf"),
        woke(3 * second),
        plan(3 * second, 3, "0x1"),
        applied(3 * second, 3, "0x1"),
        plan(3 * second, 4, "0x1"),
        refusal(3 * second, 4),
        woke(5 * second),
    ];
    let page = page_of(&lines);
    assert_eq!(
        plans(&page),
        [["0 to 2", "0.000", "3.000", "AAAA"], ["3", "3.000", "5.000", "...A"]]
    );
    assert!(page.contains("5 plans, 2 of them refused."));
    assert!(page.contains("1 change of the ways that programs may fill"));
}

/// The machine first rounds a mask, and later applies the planned one.
#[test]
fn ways_in_force_are_shown_beside_others_that_were_planned() {
    let second = 1_000_000_000;
    let lines = [
        plan(0, 0, "0x1"),
        applied(0, 0, "0x3"),
        woke(second),
        applied(2 * second, 0, "0x1"),
        woke(3 * second),
    ];
    let page = page_of(&lines);
    assert_eq!(plans(&page), [["0", "0.000", "2.000", "..AA"], ["0", "2.000", "3.000", "...A"]]);
    let tables = Table::all(&page);
    let reasons = table(&tables, "Plans").column("reason");
    let reasons: Vec<&str> = reasons.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(reasons, ["r; planned was ...A, A 7", "r"]);
    assert!(page.contains("1 plan."));
}

#[test]
fn a_class_of_a_program_that_never_started_is_shown() {
    let class = r#"{"at":0,"action":{"classified":{"app":7,"class":"light","reason":"r"}}}"#;
    let page = page_of(&[class.to_owned()]);
    let tables = Table::all(&page);
    let did = table(&tables, "What the windows showed");
    assert_eq!(did.column("class")[0].text, "light");
    assert_eq!(did.column("program")[0].text, "app 7");
}

/// Through a pipe: results that need no other file.
#[test]
fn results_are_read_from_standard_input() {
    let read = |path: &Path| {
        fairways(&["report", "-o", "-", "-"]).write_stdin(fs::read(path).unwrap()).output().unwrap()
    };
    let file = format!("{DATA}/report/run.json");
    let output = read(Path::new(&file));
    assert!(output.status.success());
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.replace("standard input", &file), page(&[file.into()]));
    let output = read(Path::new(JOURNAL));
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        "fairways-lab: standard input: expected a journal as a file, because its parts stand beside it\n"
    );
    // A named pipe can be read only once.
    let script = "cat \"$2\" | \"$1\" report -o - /dev/stdin";
    let piped = |file: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, "sh"]).arg(assert_cmd::cargo::cargo_bin("fairways-lab"));
        command.arg(file).output().unwrap()
    };
    assert!(piped(&format!("{DATA}/report/simulate.json")).status.success());
    let output = piped(JOURNAL);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("a journal as a file"));
}

#[test]
fn profiles_are_read_as_simulate_reads_them() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("profiles.csv");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/profiles/data/embedded.csv");
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let quoted: Vec<String> = lines[0].split(',').map(|name| format!("\"{name}\"")).collect();
    let text = format!("\u{feff}{}\n{}\n", quoted.join(","), lines[1..].join("\n"));
    fs::write(&path, text).unwrap();
    let mix = ["simulate", "--mix", "triad,chess", "--profiles"];
    fairways(&mix).arg(&path).assert().success();
    assert!(page(&[path]).contains("Profiles of 30 programs"));
}

#[test]
fn losses_of_windows_without_counters_are_not_known() {
    let page = page_of(&[woke(1_000_000)]);
    assert!(page.contains("Losses to neighbours are not known"), "{page}");
    assert!(!page.contains("What programs lose to their neighbours"));
}

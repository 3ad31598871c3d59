use std::fs;

use super::*;
use crate::made::MadeCheckout;
use crate::record::FILE;

/// What is said of a result of the suite `upper reads`, and its line afterwards.
fn kept(
    made: &MadeCheckout,
    decision: RunDecision,
    result: &mut JobResult,
    while_it_runs: impl FnOnce(),
) -> (Vec<String>, Option<String>) {
    let subject = made.subject();
    let entry = PlanEntry { inputs: made.inputs(), subject, decision, times: 1, seconds: None };
    let entries = [entry];
    let record = PassRecord::read(&made.root, vec!["upper reads".to_owned()], false).unwrap();
    let checkout = made.checkout();
    let opened = made.root.join(opened_file("upper reads"));
    let watched = opened.exists().then(BTreeMap::new);
    while_it_runs();
    let mut keeper = PassKeeper { root: &made.root, checkout, record, entries: &entries, watched };
    let remarks = keeper.keep(&entries[0], result).unwrap();
    let text = fs::read_to_string(made.root.join(FILE)).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("\"upper reads\" = "));
    (remarks, line.map(str::to_owned))
}

/// A result whose output has these lines.
fn result(made: &MadeCheckout, has_passed: bool, text: &str) -> JobResult {
    let output = made.root.join("target/ci/output.txt");
    fs::create_dir_all(output.parent().unwrap()).unwrap();
    fs::write(&output, text).unwrap();
    JobResult {
        name: "upper reads".to_owned(),
        duration: std::time::Duration::from_millis(1234),
        cpu: None,
        has_passed,
        was_cut_off: false,
        output,
    }
}

fn committed() -> MadeCheckout {
    let made = MadeCheckout::new();
    made.git(&["add", "."]);
    made.git(&["commit", "--quiet", "--message", "all"]);
    made
}

fn changed() -> RunDecision {
    RunDecision::Run("code changed".to_owned())
}

const PASSED: &str = "test result: ok. 7 passed; 0 failed\n";

#[test]
fn a_pass_is_recorded_with_its_inputs() {
    let made = committed();
    let (remarks, line) = kept(&made, changed(), &mut result(&made, true, PASSED), || ());
    assert!(remarks.is_empty(), "{remarks:?}");
    let line = line.unwrap();
    assert!(line.contains("seconds = 1.2") && line.contains("tests = 7"), "{line}");
    assert!(line.contains(&made.inputs().code), "{line}");
}

#[test]
fn what_failed_was_cut_off_or_skipped_something_writes_nothing() {
    let made = committed();
    let mut cut = JobResult { was_cut_off: true, ..result(&made, false, "") };
    let (remarks, line) = kept(&made, changed(), &mut cut, || ());
    assert_eq!((remarks.len(), line), (1, None), "cut off");
    let skipped = format!("SKIPPED this: no PMU\n{PASSED}");
    let (remarks, line) = kept(&made, changed(), &mut result(&made, true, &skipped), || ());
    assert_eq!((remarks.len(), line), (1, None), "skipped");
    let (_, line) = kept(&made, changed(), &mut result(&made, false, PASSED), || ());
    assert_eq!(line, None, "failed");
    assert!(!made.root.join(FILE).exists());
}

#[test]
fn a_pass_with_inputs_that_changed_meanwhile_writes_nothing() {
    let made = committed();
    let mut passed = result(&made, true, PASSED);
    let touch = || made.touch("crates/base/core/src/lib.rs");
    let (remarks, line) = kept(&made, changed(), &mut passed, touch);
    assert_eq!((remarks.len(), line), (1, None));
    // A file of no concern may change.
    let touch = || made.touch("notes/page.md");
    let (remarks, line) = kept(&made, changed(), &mut passed, touch);
    assert!(remarks.is_empty() && line.is_some(), "{remarks:?}");
}

#[test]
fn one_that_is_drawn_and_fails_takes_the_lines_of_its_package_along() {
    let made = committed();
    kept(&made, changed(), &mut result(&made, true, PASSED), || ());
    let drawn = RunDecision::Drawn("2026-01-02, abc".to_owned());
    let (remarks, line) = kept(&made, drawn, &mut result(&made, false, ""), || ());
    assert!(remarks[0].contains("unchanged since 2026-01-02, abc, and it fails"), "{remarks:?}");
    assert_eq!(line, None);
}

#[test]
fn a_suite_that_opens_more_than_its_inputs_fails() {
    let made = committed();
    let opened = made.root.join(opened_file("upper reads"));
    fs::create_dir_all(opened.parent().unwrap()).unwrap();
    let inputs = ["docs/page.md", "crates/base/core/src/lib.rs", "../shared/golden/a.csv"];
    let beyond = ["/etc/hosts", "target/ci/output.txt", "docs"];
    let files = [&inputs[..], &beyond].concat();
    let files = files.iter().map(|file| format!("{}\n", text(&made.root.join(file))));
    fs::write(&opened, files.collect::<String>().replace("checkout/../", "")).unwrap();
    let mut passed = result(&made, true, PASSED);
    let (remarks, line) = kept(&made, changed(), &mut passed, || ());
    assert!(remarks.is_empty() && line.is_some(), "{remarks:?}");
    fs::write(&opened, text(&made.root.join("notes/page.md"))).unwrap();
    let (remarks, _) = kept(&made, changed(), &mut passed, || ());
    assert_eq!(remarks, ["opened notes/page.md, which is not among its inputs"]);
    assert!(!passed.has_passed);
}

#[test]
fn the_readme_is_short_and_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    check_readme(&readme).unwrap();
    assert!(check_readme("# Fairways\n").is_err());
    assert!(check_readme(&format!("{readme}{}", "\n".repeat(10))).is_err());
}

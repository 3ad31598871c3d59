use super::*;
use crate::made::MadeCheckout;

const NAME: &str = "upper reads";

/// 2026-11-28, 12:00.
const NOW: u64 = 1_795_867_200;

fn line(made: &MadeCheckout, time: u64) -> PassedLine {
    let time = UNIX_EPOCH + std::time::Duration::from_secs(time);
    PassedLine {
        inputs: made.inputs(),
        commit: "0123456789ab".to_owned(),
        time: humantime::format_rfc3339_seconds(time).to_string(),
        seconds: 1.5,
        tests: Some(3),
    }
}

fn read(made: &MadeCheckout, is_ci: bool) -> PassRecord {
    let known = [NAME, "upper other", "middle own"].map(str::to_owned);
    PassRecord::read(&made.root, known.into(), is_ci).unwrap()
}

fn holds(record: &PassRecord, inputs: &SuiteInputs, now: u64) -> bool {
    matches!(record.standing(NAME, inputs, now), PassStanding::Holds(_))
}

#[test]
fn a_line_holds_for_its_own_inputs_alone() {
    let made = MadeCheckout::new();
    let inputs = made.inputs();
    assert!(!holds(&read(&made, false), &inputs, NOW), "nothing is recorded");
    read(&made, false).pass(NAME, line(&made, NOW), 1).unwrap();
    let record = read(&made, false);
    assert!(holds(&record, &inputs, NOW + 1));
    for other in [
        SuiteInputs { code: "0".repeat(20), ..inputs.clone() },
        SuiteInputs { data: "0".repeat(20), ..inputs.clone() },
        SuiteInputs { tools: "0".repeat(20), ..inputs.clone() },
    ] {
        assert!(!holds(&record, &other, NOW + 1), "{other:?}");
    }
    let other = record.standing("upper other", &inputs, NOW + 1);
    assert_eq!(other, PassStanding::Runs("no pass is recorded".to_owned()));
    made.touch("crates/base/core/src/lib.rs");
    let PassStanding::Runs(why) = record.standing(NAME, &made.inputs(), NOW + 1) else {
        panic!("it holds")
    };
    assert_eq!(why, "code changed since 2026-11-28, 0123456789ab");
}

#[test]
fn a_line_lasts_fourteen_days() {
    let made = MadeCheckout::new();
    let mut record = read(&made, false);
    record.pass(NAME, line(&made, NOW), 1).unwrap();
    let inputs = made.inputs();
    assert!(holds(&record, &inputs, NOW + 14 * DAY));
    assert!(!holds(&record, &inputs, NOW + 14 * DAY + 1));
    assert!(!holds(&record, &inputs, NOW - 1), "from the future");
    record.pass(NAME, PassedLine { time: "soon".to_owned(), ..line(&made, NOW) }, 1).unwrap();
    assert!(!holds(&record, &inputs, NOW), "no time");
}

#[test]
fn in_ci_a_line_counts_twelve_hours_after_its_commit() {
    let made = MadeCheckout::new();
    read(&made, false).pass(NAME, line(&made, NOW), 1).unwrap();
    let inputs = made.inputs();
    let day = NOW + DAY;
    assert!(holds(&read(&made, false), &inputs, day));
    assert!(!holds(&read(&made, true), &inputs, day), "it is not committed");
    made.git(&["add", "."]);
    made.git_at(&["commit", "--quiet", "--message", "record"], NOW + HOUR);
    assert!(!holds(&read(&made, true), &inputs, day), "it is of the commit under test");
    let empty = ["commit", "--quiet", "--allow-empty", "--message", "change"];
    made.git_at(&empty, NOW + 13 * HOUR - 1);
    assert!(!holds(&read(&made, true), &inputs, day));
    made.git_at(&empty, NOW + 13 * HOUR);
    assert!(holds(&read(&made, true), &inputs, day));
    // A line whose text changes is of the later commit, whatever it says of itself.
    read(&made, false).pass(NAME, PassedLine { seconds: 2.0, ..line(&made, NOW) }, 1).unwrap();
    made.git_at(&["commit", "--quiet", "--all", "--message", "again"], NOW + DAY);
    made.git_at(&empty, NOW + DAY + 12 * HOUR - 1);
    assert!(!holds(&read(&made, true), &inputs, NOW + 2 * DAY));
    made.git_at(&empty, NOW + DAY + 12 * HOUR);
    assert!(holds(&read(&made, true), &inputs, NOW + 2 * DAY));
    fs::remove_dir_all(made.root.join(".git")).unwrap();
    assert!(!holds(&read(&made, true), &inputs, NOW + 2 * DAY), "no git");
}

#[test]
fn inputs_that_failed_once_need_three_passes() {
    let made = MadeCheckout::new();
    let inputs = made.inputs();
    assert_eq!(read(&made, false).passes_needed(NAME, &inputs), 1);
    read(&made, false).fail(NAME, inputs.clone()).unwrap();
    assert!(!made.root.join(FILE).exists(), "a failure writes no line");
    assert_eq!(read(&made, false).passes_needed(NAME, &inputs), 3);
    for needed in [2, 1] {
        read(&made, false).pass(NAME, line(&made, NOW), 1).unwrap();
        assert_eq!(read(&made, false).passes_needed(NAME, &inputs), needed);
        assert!(!holds(&read(&made, false), &inputs, NOW));
    }
    read(&made, false).pass(NAME, line(&made, NOW), 1).unwrap();
    assert!(holds(&read(&made, false), &inputs, NOW));
    assert_eq!(read(&made, false).passes_needed(NAME, &inputs), 1);
    // At once, too.
    read(&made, false).fail(NAME, inputs.clone()).unwrap();
    assert!(!holds(&read(&made, false), &inputs, NOW), "its line is dropped");
    read(&made, false).pass(NAME, line(&made, NOW), 3).unwrap();
    assert!(holds(&read(&made, false), &inputs, NOW));
    // Other inputs are not concerned, and their pass makes up for nothing.
    read(&made, false).fail(NAME, inputs.clone()).unwrap();
    made.touch("docs/page.md");
    assert_eq!(read(&made, false).passes_needed(NAME, &made.inputs()), 1);
    read(&made, false).pass(NAME, line(&made, NOW), 1).unwrap();
    assert!(holds(&read(&made, false), &made.inputs(), NOW));
    assert_eq!(read(&made, false).passes_needed(NAME, &inputs), 3);
}

#[test]
fn lines_are_dropped_alone() {
    let made = MadeCheckout::new();
    for name in [NAME, "upper other", "middle own"] {
        read(&made, false).pass(name, line(&made, NOW), 1).unwrap();
    }
    read(&made, false).void(&[NAME.to_owned()]).unwrap();
    let record = read(&made, false);
    assert!(record.line(NAME).is_none() && record.line("upper other").is_some());
    // A suite that is no longer there.
    let known = vec![NAME.to_owned()];
    let mut record = PassRecord::read(&made.root, known, false).unwrap();
    record.pass(NAME, line(&made, NOW), 1).unwrap();
    assert!(read(&made, false).line("upper other").is_none());
}

#[test]
fn after_a_merge_the_later_of_two_lines_counts() {
    let made = MadeCheckout::new();
    let mut record = read(&made, false);
    record.pass(NAME, line(&made, NOW), 1).unwrap();
    let earlier = fs::read_to_string(made.root.join(FILE)).unwrap();
    record.pass(NAME, line(&made, NOW + 9), 1).unwrap();
    let later = fs::read_to_string(made.root.join(FILE)).unwrap();
    let merged = format!("<<<<<<< one\n{later}=======\n{earlier}>>>>>>> other\n");
    fs::write(made.root.join(FILE), merged).unwrap();
    assert!(!holds(&read(&made, false), &made.inputs(), NOW + 8), "from the future");
    assert!(holds(&read(&made, false), &made.inputs(), NOW + 9));
}

#[test]
fn a_run_keeps_what_another_wrote_meanwhile() {
    let made = MadeCheckout::new();
    let (mut one, mut other) = (read(&made, false), read(&made, false));
    one.pass(NAME, line(&made, NOW), 1).unwrap();
    other.pass("upper other", line(&made, NOW), 1).unwrap();
    let record = read(&made, false);
    assert!(record.line(NAME).is_some() && record.line("upper other").is_some());
}

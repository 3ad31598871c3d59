//! Points that run programs on a chip: their files, and what is checked beforehand.

use std::fs;
use std::path::PathBuf;

use super::SweptFolder;

/// A trace of valgrind's lackey.
const TRACE: &str = "I  400000,4\nI  400004,4\n L 7fff00001040,8\nI  400008,4\n";

fn plan(flags: &str) -> String {
    format!(
        "command = \"simulate\"\n\
         flags = {{ machine = \"chip:skylake\", duration = \"1ms\", warm-up = \"1ms\", {flags} }}\n"
    )
}

/// The path of the only point.
fn point(folder: &SweptFolder) -> PathBuf {
    let points = fs::read_dir(folder.at("plan.sweep/points")).unwrap();
    let points: Vec<PathBuf> = points.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(points.len(), 1);
    points[0].clone()
}

/// A change of any file that programs or policies name makes another point.
#[test]
fn points_are_for_the_files_of_programs_and_policies() {
    for programs in ["trace:a.trace:20M:format=lackey", "mlr:8M@1ms+trace:format=lackey:a.trace"] {
        let text = plan(&format!("programs = \"{programs}\", policies = \"stock\""));
        let folder = SweptFolder::with(&text);
        let said = folder.refused("write plan.toml");
        assert!(said.ends_with("--programs: \"a.trace\": expected a file, found none"), "{said}");
        assert!(!folder.at("plan.sweep").exists());
        fs::create_dir(folder.at("a.trace")).unwrap();
        let said = folder.refused("write plan.toml");
        assert!(said.ends_with("expected a file, found a folder"), "{said}");
        fs::remove_dir(folder.at("a.trace")).unwrap();
        fs::write(folder.at("a.trace"), TRACE).unwrap();
        folder.run("write plan.toml");
        let before = point(&folder);
        fs::write(folder.at("a.trace"), TRACE.repeat(2)).unwrap();
        let said = folder.refused("run plan.sweep");
        assert!(said.contains("expected the file \"a.trace\" as it was, it has changed"), "{said}");
        folder.run("write plan.toml");
        assert_ne!(point(&folder), before);
    }
}

/// What is wrong with one point on a chip is reported before anything is written.
#[test]
fn mistakes_of_a_point_on_a_chip_are_answered_before_anything_is_written() {
    for (flags, expected) in [
        ("programs = \"mlr:8M,gizp\"", "--programs: program \"gizp\": "),
        ("programs = \"mlr:8X\"", "--programs: program \"mlr:8X\": "),
        ("seed = 1", "--programs: expected programs to run on the chip"),
        ("programs = \"mlr:8M\", set = \"nonesuch=1\"", "--set: expected a parameter of "),
        (
            "programs = \"mlr:8M\", policies = \"lfoc\", set = \"warm_up_intervals=x\"",
            "parameter warm_up_intervals of lfoc: ",
        ),
        ("programs = \"mlr:8M\", policies = \"optimum\"", "--policies optimum: "),
        ("programs = \"mlr:8M\", best-effort = \"mlr:9M\"", "--best-effort: "),
        ("programs = \"mlr:8M\", baselines = \"mlr:8M=4\", policies = \"lfoc\"", "--baselines "),
        ("programs = \"mlr:8M\", profiles = \"nothere.csv\"", "nothere.csv: "),
        ("programs = \"trace:plan.toml\"", "--programs: program \"trace:plan.toml\": "),
    ] {
        let folder = SweptFolder::with(&plan(flags));
        let said = folder.refused("write plan.toml");
        assert!(
            said.starts_with(&format!("fairways-lab: plan.toml: {expected}")),
            "{flags}: {said}"
        );
        assert!(!folder.at("plan.sweep").exists(), "{flags}");
    }
    let folder = SweptFolder::with(&plan("programs = \"mlr:8M,mload:60M\", policies = \"lfoc\""));
    folder.run("write plan.toml");
    folder.run("run plan.sweep");
}

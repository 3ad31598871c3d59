//! `fairways-lab simulate` as a user runs it.

#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use serde_json::Value;

fn simulate(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fairways-lab").unwrap().arg("simulate").args(args).assert()
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(simulate(args).success().get_output().stdout.clone()).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--json"]].concat())).unwrap()
}

/// Bad input: exit code 2, nothing on standard output, one line on standard error.
fn refused(args: &[&str]) -> String {
    let assert = simulate(args).code(2).stdout("");
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    said.trim_end().to_owned()
}

/// The widest line of a table in what a command prints for so many columns.
fn widest(columns: usize, words: &[&str]) -> (usize, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairways-lab"));
    let output = command.args(words).env("COLUMNS", columns.to_string()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut is_table = false;
    let mut widest = 0;
    for line in text.lines() {
        let is_rule = line.starts_with('─');
        if is_table || is_rule {
            widest = widest.max(line.chars().count());
        }
        is_table ^= is_rule;
    }
    assert!(widest > 0, "no table: {text}");
    (widest, text)
}

/// What is wider is one word: a line of text continues below itself.
#[test]
fn every_line_fits_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("run.journal");
    let (journal, mix) = (journal.to_str().unwrap(), "graph-walk,btree-lookup,stencil-3d");
    let mix = format!("--profiles synthetic --mix {mix}");
    let run = format!("run --machine model {mix} --duration 2s");
    let written = format!("{run} --quiet --journal {journal}");
    assert!(printed(80, &words_of(&written)).contains("stencil-3d"));
    for words in [
        run,
        format!("simulate {mix}"),
        format!("simulate --dynamic --time-scale 0.01 {mix} --policies lfoc"),
        format!("optimum --ways 11 {mix}"),
        format!("explain --journal {journal}"),
        "policies".to_owned(),
        "policies lfoc".to_owned(),
    ] {
        for columns in [60, 80, 120, 200] {
            let text = printed(columns, &words_of(&words));
            let wide = text.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{words}, {columns}: {text}");
        }
    }
}

fn words_of(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn printed(columns: usize, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairways-lab"));
    let output = command.args(words).env("COLUMNS", columns.to_string()).output().unwrap();
    assert!(!output.stdout.is_empty(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tables_fit_the_terminal_and_say_what_they_leave_out() {
    let mix =
        ["--profiles", "synthetic", "--mix", "graph-walk,btree-lookup,stencil-3d", "--ways", "11"];
    let simulate = [&["simulate"][..], &mix].concat();
    let live = [&["simulate", "--dynamic", "--time-scale", "0.1"][..], &mix].concat();
    let run = [&["run", "--machine", "model", "--duration", "1s"][..], &mix].concat();
    for words in [&simulate[..], &live, &run] {
        for columns in [120, 80, 60, 40] {
            let (widest, text) = widest(columns, words);
            assert!(widest <= columns, "{words:?}, {columns}: {text}");
        }
    }
    let (_, text) = widest(60, &simulate);
    assert!(text.contains("no room for ANTT, "), "{text}");
    assert!(!widest(120, &simulate).1.contains("no room"));
}

#[test]
fn lfoc_is_fairer_than_stock_on_every_mix_of_synthetic_programs() {
    let report = json(&["--profiles", "synthetic"]);
    assert_eq!(report["schema"], 1);
    let mixes = report["mixes"].as_array().unwrap();
    assert_eq!(mixes.len(), 12);
    for mix in mixes {
        let unfairness = |policy: &str| {
            let mut policies = mix["policies"].as_array().unwrap().iter();
            policies.find(|p| p["policy"] == policy).unwrap()["unfairness"].as_f64().unwrap()
        };
        assert!(unfairness("lfoc") < unfairness("stock"), "{}", mix["mix"]);
    }
}

/// A field of each mix that is drawn.
fn drawn(flags: &[&str], field: &str) -> Vec<Value> {
    let report = json(&[flags, &["--policies", "stock"]].concat());
    report["mixes"].as_array().unwrap().iter().map(|mix| mix[field].clone()).collect()
}

#[test]
fn mixes_of_real_programs_are_drawn_unless_others_are_named() {
    let default = drawn(&[], "apps");
    assert_eq!(default, drawn(&["--profiles", "skylake"], "apps"));
    let mut programs = default.iter().flat_map(|mix| mix.as_array().unwrap());
    assert!(default.len() == 12 && programs.any(|program| program == "bzip2"), "{default:?}");
    for other in ["broadwell", "synthetic"] {
        assert_ne!(drawn(&["--profiles", other], "apps"), default);
    }
}

/// Without programs that have phases, no mixes with them are drawn.
#[test]
fn mixes_with_phases_are_drawn_where_programs_have_phases() {
    for (profiles, expected) in [("skylake", 6), ("synthetic", 12)] {
        let flags = ["--profiles", profiles, "--dynamic", "--time-scale", "0.0001"];
        let names = drawn(&flags, "mix");
        let all = ["S1", "S2", "S3", "S4", "S5", "S6", "P1", "P2", "P3", "P4", "P5", "P6"];
        assert_eq!(names, all[..expected]);
    }
}

#[test]
fn the_json_has_what_scripts_rely_on() {
    let report =
        json(&["--profiles", "synthetic", "--mix", "triad,hash-join,chess", "--policies", "lfoc"]);
    let mix = &report["mixes"][0];
    assert_eq!(mix["mix"], "triad,hash-join,chess");
    assert_eq!(mix["apps"], serde_json::json!(["triad", "hash-join", "chess"]));
    let lfoc = &mix["policies"][0];
    assert_eq!(lfoc["policy"], "lfoc");
    let partition = serde_json::json!([
        {"apps": [0, 2], "mask": "0x80000", "ways": 1},
        {"apps": [1], "mask": "0x7ffff", "ways": 19},
    ]);
    assert_eq!(lfoc["partition"], partition);
    let slowdowns: Vec<f64> = serde_json::from_value(lfoc["slowdowns"].clone()).unwrap();
    let [least, most] = [f64::min, f64::max].map(|f| slowdowns.iter().copied().reduce(f).unwrap());
    let close = |field: &str, value: f64| {
        assert!((lfoc[field].as_f64().unwrap() - value).abs() < 1e-12, "{field}: {value}");
    };
    close("unfairness", most / least);
    let stp: f64 = slowdowns.iter().map(|s| 1.0 / s).sum();
    close("stp", stp);
    close("antt", slowdowns.iter().sum::<f64>() / 3.0);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for args in [&["--json"][..], &["--json", "--seed", "7"], &[]] {
        assert_eq!(stdout(args), stdout(args));
    }
    assert_ne!(stdout(&["--json", "--seed", "7"]), stdout(&["--json", "--seed", "8"]));
}

#[test]
fn files_flags_and_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("p.csv"), fairways_profiles::EMBEDDED_CSV).unwrap();
    std::fs::write(path("m.csv"), "mix,apps\nM1,triad,chess\n# no mix\nM2,lp-simplex\n").unwrap();
    let report = json(&[
        "--profiles",
        &path("p.csv"),
        "--mixes",
        &path("m.csv"),
        "--mix",
        "chess, triad",
        "--ways",
        "11",
        "--policies",
        "equal,stock",
    ]);
    let names: Vec<_> = report["mixes"].as_array().unwrap().iter().map(|m| &m["mix"]).collect();
    assert_eq!(names, ["chess, triad", "M1", "M2"]);
    assert_eq!(report["ways"], 11);
    let partition = &report["mixes"][1]["policies"][0]["partition"];
    assert_eq!((&partition[0]["mask"], &partition[1]["ways"]), (&"0x7e0".into(), &5.into()));
    assert_eq!(report["mixes"][2]["policies"][1]["policy"], "stock");
}

/// Profiles with IPC and misses alone give the same scores and plans as whole ones, for all but the
/// policies that decide by something else; what they do not suffice for is refused.
#[test]
fn ipc_and_misses_alone_are_scored_as_whole_profiles_are() {
    let folder = tempfile::tempdir().unwrap();
    let few = folder.path().join("few.csv").to_str().unwrap().to_owned();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../corpus/profiles/skylake.csv");
    let whole = std::fs::read_to_string(file).unwrap();
    let lines: Vec<Vec<&str>> = whole
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(',').collect())
        .collect();
    let kept = ["BENCH", "NR_WAYS", "ipc", "llcmpkc"]
        .map(|name| lines[0].iter().position(|column| *column == name).unwrap());
    let file = lines.iter().map(|line| kept.map(|place| line[place]).join(",") + "\n");
    std::fs::write(&few, file.collect::<String>()).unwrap();
    let on = ["--mix", "lbm,svm-train,cadical,gzip,xz"];

    let names = "stock,equal,ucp,ucp-slowdown,lfoc,lfoc-plus,kpart,fairways,optimum";
    let [few_columns, whole] = [few.as_str(), "skylake"]
        .map(|profiles| json(&[&on[..], &["--profiles", profiles, "--policies", names]].concat()));
    assert_eq!(few_columns["mixes"], whole["mixes"]);
    let all = json(&[&on[..], &["--profiles", &few, "--policies", "all"]].concat());
    let all = all["mixes"][0]["policies"].as_array().unwrap();
    assert!(all.iter().all(|of| of["policy"] != "dunn" && of["policy"] != "yu-petrov"));

    for (flags, lacks) in [
        (
            &["--policies", "stock,dunn"][..],
            "--policies dunn: expected profiles with stalls_l2_miss,",
        ),
        (&["--bandwidth-mbps", "9000"], "--bandwidth-mbps: expected profiles with bandwidth_mbps,"),
        (&["--dynamic", "--policies", "stock"], "few.csv:1: column llcrpki: expected this column"),
    ] {
        let said = refused(&[&on[..], &["--profiles", &few], flags].concat());
        assert!(said.contains(lacks), "{said}");
    }
}

#[test]
fn fewer_classes_of_service_and_wider_least_masks() {
    let mix = "hash-join,btree-lookup,graph-walk,chess,triad";
    let clusters = |flags: &[&str]| {
        let report = json(
            &[&["--profiles", "synthetic", "--mix", mix, "--policies", "ucp,lfoc,equal"], flags]
                .concat(),
        );
        let policies = report["mixes"][0]["policies"].as_array().unwrap().clone();
        policies.iter().map(|p| p["partition"].as_array().unwrap().clone()).collect::<Vec<_>>()
    };
    assert!(clusters(&["--clos", "3"]).iter().all(|partition| partition.len() == 3));
    for partition in clusters(&["--min-bits", "6"]) {
        assert!(partition.iter().all(|cluster| cluster["ways"].as_u64().unwrap() >= 6));
    }
}

#[test]
fn baselines_are_what_static_gives() {
    let args =
        ["--profiles", "synthetic", "--mix", "chess,triad,hash-join", "--policies", "static"];
    let ways = |flags: &[&str]| {
        let report = json(&[&args, flags].concat());
        let partition = report["mixes"][0]["policies"][0]["partition"].as_array().unwrap().clone();
        let mut ways = [0; 3];
        for cluster in partition {
            for app in cluster["apps"].as_array().unwrap() {
                ways[usize::try_from(app.as_u64().unwrap()).unwrap()] =
                    cluster["ways"].as_u64().unwrap();
            }
        }
        ways
    };
    assert_eq!(ways(&[]), [7, 7, 6]);
    assert_eq!(ways(&["--baselines", "triad=2,hash-join=9"]), [9, 2, 9]);
    assert_eq!(ways(&["--baselines", "triad=2,hash-join=9,chess=1"]), [1, 2, 9]);
}

/// What is said of plans of a policy with these promises.
fn warned_of(policy: &str, baselines: &str) -> String {
    let mut command = Command::cargo_bin("fairways-lab").unwrap();
    command.args(words_of("simulate --profiles synthetic --policies")).args([policy]);
    command.args(["--mix", "hash-join,btree-lookup,graph-walk,chess", "--baselines", baselines]);
    String::from_utf8(command.assert().success().get_output().stderr.clone()).unwrap()
}

/// Twenty ways are promised, of twenty: the others need some, too.
#[test]
fn promises_that_a_plan_does_not_keep_are_named() {
    for policy in ["static", "fairways"] {
        let kept = warned_of(policy, "hash-join=9,btree-lookup=6");
        assert_eq!(kept, "", "{policy}");
        let broken = warned_of(policy, "hash-join=10,btree-lookup=10");
        let (before, after) = broken.split_once("btree-lookup is promised 10 ways").unwrap();
        assert!(before.ends_with(&format!("policy {policy}: ")) && before.lines().count() == 1);
        assert!(after.contains("slower than alone with so many"), "{broken}");
    }
}

/// Its slowdown where it counts once, and where it counts as ten programs.
#[test]
fn an_important_program_is_slowed_down_less() {
    let words = words_of(
        "--profiles synthetic --mix hash-join,btree-lookup,graph-walk --ways 6 --policies fairways \
         --set objective=weighted",
    );
    let [once, often] = [&[][..], &["--importance", "hash-join=10"]].map(|more| {
        let report = json(&[&words, more].concat());
        report["mixes"][0]["policies"][0]["slowdowns"][0].as_f64().unwrap()
    });
    assert!(often < once, "{often} {once}");
}

/// A parameter is for the policies that have it, one at least.
#[test]
fn parameters_are_for_those_that_have_them() {
    let mix = ["--profiles", "synthetic", "--mix", "hash-join,btree-lookup,graph-walk,triad"];
    let words = [&mix[..], &["--ways", "6", "--policies", "stock,fairways"]].concat();
    let [fair, fast] = [&[][..], &["--set", "objective=stp"]].map(|set| {
        let report = json(&[&words[..], set].concat());
        report["mixes"][0]["policies"][1]["stp"].as_f64().unwrap()
    });
    assert!(fast > fair);
    for (set, said) in [
        ("objectve=stp", "--set: expected a parameter of stock, fairways, found \"objectve\""),
        ("objective=speed", "objective of fairways: expected unfairness or"),
    ] {
        let said_of = refused(&[&words[..], &["--set", set]].concat());
        assert!(said_of.contains(said), "{said_of}");
    }
}

const EIGHT: &str = "cadical,glpsol,clasp,lbm,stream,svm-train,xz,brotli";

/// The programs of each cluster of a policy, with its cache, its ways and its mask.
fn clusters(policy: &Value) -> Vec<(u64, u64, String, Vec<u64>)> {
    let clusters = policy["partition"].as_array().unwrap().iter().map(|cluster| {
        let apps = cluster["apps"].as_array().unwrap().iter().map(|app| app.as_u64().unwrap());
        let [cache, ways] = ["cache", "ways"].map(|of| cluster[of].as_u64().unwrap());
        (cache, ways, cluster["mask"].as_str().unwrap().to_owned(), apps.collect())
    });
    clusters.collect()
}

fn unfairness(policy: &Value) -> f64 {
    policy["unfairness"].as_f64().unwrap()
}

/// Every program is on one cache, each cache gives out all its ways, and no policy is fairer than
/// the optimum of placing and dividing together.
#[test]
fn several_caches_are_placed_and_divided() {
    let machine = ["--caches", "2", "--ways", "9,4", "--cpus", "6,4", "--mix", EIGHT];
    let policies = "stock,equal,lfoc,kpart,fairways,optimum";
    let found = json(&[&machine[..], &["--policies", policies]].concat());
    assert_eq!((&found["ways"], &found["caches"]), (&9.into(), &vec![9, 4].into()));
    let all = found["mixes"][0]["policies"].as_array().unwrap();
    let optimum = unfairness(&all[5]);
    for policy in all {
        let clusters = clusters(policy);
        let mut programs: Vec<u64> = clusters.iter().flat_map(|of| of.3.clone()).collect();
        programs.sort_unstable();
        assert_eq!(programs, (0..8).collect::<Vec<u64>>(), "{policy}");
        for (cache, ways, cpus) in [(0, 9, 6), (1, 4, 4)] {
            let there = clusters.iter().filter(|of| of.0 == cache);
            assert_eq!(there.clone().map(|of| of.1).sum::<u64>(), ways, "{policy}");
            assert!(there.map(|of| of.3.len()).sum::<usize>() <= cpus, "{policy}");
        }
        assert!(unfairness(policy) >= optimum * (1.0 - 1e-9), "{policy}");
    }
    assert!(unfairness(&all[4]) <= optimum * 1.02, "{}", all[4]);
    // Dealt in turn, as far as there are CPUs.
    let stock = clusters(&all[0]);
    assert_eq!((&stock[0].3[..], &stock[1].3[..]), (&[0, 2, 4, 6][..], &[1, 3, 5, 7][..]));
    let table = stdout(&[&machine[..], &["--policies", "stock"]].concat());
    assert!(table.contains("AAAAAAAAA | AAAA   A 0 2 4 6 | A 1 3 5 7"), "{table}");
    let csv = stdout(&[&machine[..], &["--policies", "stock", "--csv"]].concat());
    assert!(csv.starts_with("mix,policy,app,program,slowdown,cache,mask,"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.contains(",1,0xf,")).count(), 4, "{csv}");
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("plans.svg");
    let drawn = [&machine[..], &["--policies", "stock", "--plot", plot.to_str().unwrap()]].concat();
    stdout(&drawn);
    let drawn = std::fs::read_to_string(plot).unwrap();
    // The background, the ways of both caches, and a bar for each program.
    assert_eq!(drawn.matches("<rect").count(), 1 + 9 + 4 + 8);
}

/// Both promises can hold, on a cache each, so nothing is warned of.
#[test]
fn promises_hold_on_several_caches() {
    let caches = ["--caches", "2", "--ways", "6", "--cpus", "5"];
    let promises = ["--baselines", "svm-train=5,cadical=4", "--policies", "fairways", "--json"];
    let assert = simulate(&[&caches[..], &["--mix", EIGHT], &promises].concat()).success();
    let output = assert.get_output();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let clusters = clusters(&found["mixes"][0]["policies"][0]);
    let [cadical, svm_train] =
        [0, 5].map(|app| clusters.iter().find(|of| of.3.contains(&app)).unwrap());
    assert_ne!(cadical.0, svm_train.0, "{clusters:?}");
}

/// A parameter of `fairways` is that of the placement, too.
#[test]
fn placing_has_the_objective_of_the_policy() {
    let [fair, fast] = ["objective=unfairness", "objective=stp"].map(|objective| {
        let flags = ["--caches", "2", "--ways", "6", "--cpus", "6", "--mix", EIGHT];
        let set = ["--policies", "fairways", "--set", objective, "--set"];
        let tolerance = ["fairness_tolerance_percent=0"];
        let found = json(&[&flags[..], &set, &tolerance].concat());
        let policy = &found["mixes"][0]["policies"][0];
        ["unfairness", "stp"].map(|metric| policy[metric].as_f64().unwrap())
    });
    assert!(fair[0] < fast[0] && fair[1] < fast[1], "{fair:?} {fast:?}");
}

#[test]
fn caches_that_can_not_be_are_refused() {
    for (flags, said) in [
        (
            "--caches 2 --ways 7,7,7",
            "--ways: expected one number, or one for each cache (--caches 2), found 3",
        ),
        (
            "--caches 3 --cpus 7,7",
            "--cpus: expected one number, or one for each cache (--caches 3), found 2",
        ),
        (
            "--caches 2 --cpus 3,4",
            "expected at most 64 programs, and a CPU for each (--cpus), found 8 programs and 7 CPUs",
        ),
        ("--ways 5,6 --dynamic", "--ways: expected one number, found 2"),
        ("--caches 2 --dynamic", "--caches: expected one cache with --dynamic"),
        ("--caches 2 --settle 1s", "--caches: expected one cache with --settle"),
        ("--caches 2 --bandwidth-mbps 9000", "--caches: expected one cache with --bandwidth-mbps"),
        ("--caches 2 --ways 5,12", "--ways: expected a whole number from 1 to 11, found \"12\""),
        ("--cpus 4", "--cpus: expected --caches, or a number for each cache"),
        ("--caches 0", "--caches: expected a whole number from 1 to 16, found \"0\""),
    ] {
        let words: Vec<&str> = flags.split(' ').chain(["--mix", EIGHT]).collect();
        let found = refused(&words);
        assert!(found.ends_with(said), "{flags}: {found}");
    }
}

#[test]
fn bandwidth_slows_programs_down() {
    let antt = |flags: &[&str]| {
        let args = [
            "--profiles",
            "synthetic",
            "--mix",
            "triad,copy-large,stencil-3d",
            "--policies",
            "stock",
        ];
        let report = json(&[&args, flags].concat());
        report["mixes"][0]["policies"][0]["antt"].as_f64().unwrap()
    };
    let free = antt(&[]);
    assert_eq!(antt(&["--bandwidth-mbps", "1e6"]), free);
    let simple = antt(&["--bandwidth-mbps", "9000"]);
    assert_eq!(antt(&["--bandwidth-mbps", "9000", "--bandwidth-model", "simple"]), simple);
    let stalls = antt(&["--bandwidth-mbps", "9000", "--bandwidth-model", "stalls"]);
    assert!(simple > free && stalls > free && simple != stalls, "{free} {simple} {stalls}");
}

/// Policies on a bus of this bandwidth after a minute, in this format.
fn settled(mbps: &str, format: &str) -> String {
    let mix = "triad,copy-large,column-scan,hash-join,btree-lookup,lattice-flow";
    let args = ["simulate", "--profiles", "synthetic", "--mix", mix, "--bandwidth-mbps", mbps];
    let more = ["--policies", "fairways,mba-feedback,optimum", "--bandwidth-levels", "40,80"];
    let args = [&args[..], &more, &["--settle", "60s", format]].concat();
    let assert = Command::cargo_bin("fairways-lab").unwrap().args(args).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// The levels of each policy's clusters that have one.
fn levels_by_policy(text: &str) -> Vec<Vec<u64>> {
    let report: Value = serde_json::from_str(text).unwrap();
    let policies = report["mixes"][0]["policies"].as_array().unwrap().iter();
    let partitions = policies.map(|policy| policy["partition"].as_array().unwrap().iter());
    let levels = partitions.map(|clusters| {
        clusters.filter_map(|cluster| cluster["bandwidth_level"].as_u64()).collect()
    });
    levels.collect()
}

/// On a bus that streams fill, policies that limit bandwidth show what they settle on, and each
/// level; on one with room `fairways` sets none.
#[test]
fn plans_that_policies_settle_on_have_levels() {
    let levels = levels_by_policy(&settled("16000", "--json"));
    assert!(levels.iter().all(|levels| !levels.is_empty()), "{levels:?}");
    assert!(levels[2].iter().all(|level| [40, 80].contains(level)), "{levels:?}");
    assert_eq!(levels_by_policy(&settled("60000", "--json"))[0], [0; 0]);
    let rows = settled("16000", "--csv");
    let column = rows.lines().next().unwrap().split(',').position(|name| name == "bandwidth_level");
    // The name of the mix has commas, in quotes.
    let column = column.unwrap() + 5;
    let mut cells = rows.lines().skip(1).map(|row| row.split(',').nth(column).unwrap());
    assert!(cells.any(|cell| cell == levels[0][0].to_string()), "{rows}");
}

#[test]
fn bad_flags_are_reported_in_one_line() {
    for (args, said) in [
        (&["--ways", "0"][..], "--ways: expected a whole number from 1 to 11, found \"0\""),
        (&["--ways", "21"], "--ways: expected a whole number from 1 to 11, found \"21\""),
        (&["--ways", "-1"], "--ways: expected a whole number above 0, found \"-1\""),
        (
            &["--bandwidth-mbps", "NaN"],
            "--bandwidth-mbps: expected a number above 0, found \"NaN\"",
        ),
        (&["--bandwidth-mbps", "-1"], "--bandwidth-mbps: expected a number above 0, found \"-1\""),
        (&["--min-bits", "21"], "--min-bits: expected a whole number from 1 to 11, found \"21\""),
        (
            &["--policies", "stock,lfoc", "--baselines", "gzip=1"],
            "--baselines needs --policies static, dcat or fairways: no other policy honours them",
        ),
        (
            &["--policies", "lfoc", "--importance", "gzip=2"],
            "--importance needs --policies fairways: no other policy honours it",
        ),
        (
            &["--policies", "fairways,lfoc", "--importance", "gzip=2"],
            "--importance needs --set objective=weighted, or over time --bandwidth-mbps: otherwise \
             fairways gives every program the same weight",
        ),
        (&["--mix", "gzip,sqlite3", "--llc-mb", "45"], "--llc-mb needs --dynamic"),
        (
            &["--policies", "fairways", "--importance", "gzip=0"],
            "--importance: gzip: expected a whole number from 1 to 4294967295, found \"0\"",
        ),
        (
            &["--policies", "static", "--baselines", "gzip"],
            "--baselines: expected PROGRAM=WAYS, found \"gzip\"",
        ),
        (&["--json=x"], "unexpected value 'x' for '--json' found; no more were expected"),
        (
            &["--policies", "static", "--baselines", "gzip=1,gzip=2"],
            "--baselines: expected each program once, found \"gzip\" twice",
        ),
        (&["--policies", "lfoc,lfoc"], "--policies: expected each policy once, found lfoc twice"),
        (
            &["--mix", "gzip", "--mix", "gzip"],
            "--mix, --mixes: expected mixes of different names, found two \"gzip\"",
        ),
        (
            &["--bandwidth-mbps", "9000", "--bandwidth-levels", "50"],
            "--bandwidth-levels needs --policies optimum: no other policy takes levels",
        ),
        (
            &["--policies", "stock,mba-feedback", "--bandwidth-mbps", "9000"],
            "--policies mba-feedback: it needs a machine that can limit memory bandwidth, such as \
             --machine chip:skylake, or over time the model with --bandwidth-mbps",
        ),
        (
            &["--policies", "mba-feedback", "--settle", "1s"],
            "--policies mba-feedback: it needs a machine that can limit memory bandwidth, such as \
             --machine chip:skylake, or over time the model with --bandwidth-mbps",
        ),
        (&["--wayz", "1"], "unexpected argument '--wayz' found; did you mean \"--ways\"?"),
    ] {
        let line = refused(args);
        assert_eq!(line, format!("fairways-lab: {said}"), "{args:?}");
    }
    for args in [&["--mix", "lbm,nope"], &["--mix", ""], &["--policies", "lru"], &["--seed", "x"]] {
        assert!(refused(args).contains("expected"), "{args:?}");
    }
}

#[test]
fn bad_files_are_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.csv");
    let name = path.to_str().unwrap();
    std::fs::write(&path, fairways_profiles::EMBEDDED_CSV.replacen("triad,7,", "triad,6,", 1))
        .unwrap();
    let twice =
        "expected one row for \"triad\" with 6 ways, found a second one; the first is line 7";
    assert_eq!(
        refused(&["--profiles", name]),
        format!("fairways-lab: {name}:8: column NR_WAYS: {twice}")
    );
    std::fs::write(&path, "M1,gzip,nope\n").unwrap();
    let unknown = "expected a program of the profiles, found \"nope\"";
    assert_eq!(refused(&["--mixes", name]), format!("fairways-lab: {name}:1: column 3: {unknown}"));
    let missing = folder.path().join("none.csv");
    assert!(refused(&["--profiles", missing.to_str().unwrap()]).contains("can't read it"));
}

#[test]
fn a_mix_that_memory_cannot_serve_is_bad_input() {
    let line = refused(&[
        "--profiles",
        "synthetic",
        "--mix",
        "triad,chess",
        "--bandwidth-mbps",
        "100",
        "--bandwidth-model",
        "stalls",
    ]);
    let said = "fairways-lab: mix triad,chess, policy stock, program triad: expected demands";
    assert!(line.starts_with(said), "{line}");
}

#[test]
fn a_reader_that_stops_breaks_nothing() {
    let binary = assert_cmd::cargo::cargo_bin("fairways-lab");
    let mut child = std::process::Command::new(binary)
        .arg("simulate")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn help_completions_and_no_command() {
    let fairways = || Command::cargo_bin("fairways-lab").unwrap();
    fairways().arg("--help").assert().success();
    fairways().assert().code(2).stdout("");
    for shell in ["bash", "zsh", "fish"] {
        let output = fairways().args(["completions", shell]).assert().success();
        let script = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert!(script.contains("bandwidth-model"), "{shell}");
    }
}

/// The place of a column.
fn column(header: &csv::StringRecord, name: &str) -> usize {
    header.iter().position(|column| column == name).unwrap()
}

/// A row for each program under each policy, with the values of the JSON.
#[test]
fn csv_has_what_json_has() {
    let words = ["--mix", "gzip,lbm,z3", "--policies", "stock,lfoc,optimum"];
    for more in [&[][..], &["--dynamic", "--time-scale", "0.01"]] {
        let words = [&words[..], more].concat();
        let (text, found) = (stdout(&[&words[..], &["--csv"]].concat()), json(&words));
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let header = rows.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 9);
        for (place, row) in rows.iter().enumerate() {
            let policy = &found["mixes"][0]["policies"][place / 3];
            assert_eq!(policy["policy"], row[column(&header, "policy")]);
            assert_eq!(&row[column(&header, "program")], ["gzip", "lbm", "z3"][place % 3]);
            for (name, value) in [
                ("slowdown", &policy["slowdowns"][place % 3]),
                ("unfairness", &policy["unfairness"]),
            ] {
                let written: f64 = row[column(&header, name)].parse().unwrap();
                assert_eq!(Some(written), value.as_f64(), "{name} of {row:?}");
            }
            assert_eq!(row[column(&header, "mask")].is_empty(), more.len() > 1);
            // Scored, the optimum is the best there is; over time nothing bounds it.
            let is_best = policy["policy"] == "optimum" && more.is_empty();
            let (proven, bound) = match is_best {
                true => ("true", &row[column(&header, "unfairness")]),
                false => ("", ""),
            };
            assert_eq!(&row[column(&header, "proven")], proven);
            assert_eq!(&row[column(&header, "bound")], bound);
        }
    }
    assert!(refused(&["--csv", "--json"]).contains("cannot be used with"));
    let text = printed(200, &words_of("optimum --mix gzip,lbm --csv"));
    assert!(
        text.lines().nth(1).unwrap().starts_with("\"gzip,lbm\",optimum,0,gzip,1.0,0x"),
        "{text}"
    );
}

#[test]
fn all_are_those_that_suit_the_machine() {
    let found = json(&["--mix", "gzip,lbm", "--policies", "all"]);
    let names: Vec<&str> = found["mixes"][0]["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["policy"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"ucp") && names.contains(&"fairways"), "{names:?}");
    for needs_more in ["dcat", "casc", "mba-feedback", "parties"] {
        assert!(!names.contains(&needs_more), "{names:?}");
    }
    let said = refused(&["--mix", "gzip,lbm", "--policies", "stock,mba-feedback"]);
    assert!(said.contains("a machine that can limit memory bandwidth"), "{said}");
}

#[test]
fn programs_are_listed_with_what_they_are() {
    let text = printed(200, &["programs"]);
    let gzip = text.lines().find(|line| line.starts_with(" gzip")).unwrap();
    assert!(gzip.contains("light") && gzip.contains("Debian gzip 1.12"), "{gzip}");
    let found: Value =
        serde_json::from_str(&printed(80, &["programs", "--profiles", "synthetic", "--json"]))
            .unwrap();
    let programs = found["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 38);
    let phased = programs.iter().find(|of| of["program"] == "field-solver").unwrap();
    assert_eq!((&phased["phases"], &phased["class"]), (&2.into(), &Value::Null));
    for width in [60, 80, 120] {
        let words = ["programs"];
        assert!(widest(width, &words).0 <= width);
    }
}

/// Every policy of every mix is drawn, with its ways and slowdowns, on every machine; and a file
/// that can't be written is refused before anything is computed.
#[test]
fn plans_and_slowdowns_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plans.svg");
    let plot = ["--plot", path.to_str().unwrap()];
    let mix = ["--mix", "lbm,svm-train,gzip", "--policies", "stock,lfoc"];
    let chip = ["--machine", "chip:xeon-d", "--programs", "mlr:4M,mload:30M", "--policies", "ucp"];
    let quick = ["--duration", "2ms", "--warm-up", "1ms", "--time-scale", "0.01"];
    let dynamic = [&mix[..], &["--dynamic", "--time-scale", "0.001"]].concat();
    for (words, names, count) in [
        (mix.to_vec(), ["lbm A", "svm-train A", "lfoc"], [2 * 11, 2 * 3]),
        (dynamic, ["lbm", "its plans changed over time", "lfoc"], [0, 2 * 3]),
        ([&chip[..], &quick].concat(), ["mlr:4M", "mload:30M", "ucp"], [0, 2]),
    ] {
        let words = [&words[..], &plot].concat();
        let printed = stdout(&words);
        let drawn = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = drawn.lines().map(str::trim).collect();
        for name in names {
            assert!(lines.contains(&name), "{name}: {drawn}");
        }
        // The background, the ways, and the bars.
        let [ways, bars] = count;
        assert_eq!(drawn.matches("<rect").count(), 1 + ways + bars, "{words:?}");
        assert_eq!(stdout(&words[..words.len() - 2]), printed);
        std::fs::remove_file(&path).unwrap();
    }
    let said = refused(&[&mix[..], &["--plot", "/nonesuch/plans.svg"]].concat());
    assert!(
        said.starts_with("fairways-lab: --plot: /nonesuch/plans.svg: can't write it"),
        "{said}"
    );
}

/// A service that answered nothing has no slowdown: then no metric of the mix is known, and what
/// ran no instruction has no rates.
#[test]
fn what_is_not_known_is_shown_as_such() {
    let line = "--machine chip:skylake --time-scale 0.001 --duration 100ms --warm-up 100ms \
                --programs xapian-like,mload:60M --loads xapian-like=1 --policies stock";
    let words: Vec<&str> = line.split_whitespace().collect();
    let found = &json(&words)["policies"][0];
    for metric in ["unfairness", "stp", "antt", "jain"] {
        assert_eq!(found[metric], Value::Null, "{metric}: {found}");
    }
    assert_eq!(found["slowdowns"], serde_json::json!([null, 1.0]));
    assert_eq!(found["programs"][0]["ipc"], Value::Null, "{found}");
    let (csv, table) = (stdout(&[&words[..], &["--csv"]].concat()), stdout(&words));
    assert!(!csv.contains("NaN") && !table.contains("NaN"), "{csv}{table}");
    let cells: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((cells[3], cells[4]), ("xapian-like", ""), "{csv}");
    assert!(table.contains("- (0.0)"), "{table}");
}

/// A plot takes the place of an earlier one only, and is written whole or not at all.
#[test]
fn a_plot_takes_the_place_of_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (mixes, drawing) = (path("mixes"), path("drawing.svg"));
    std::fs::write(&mixes, "graph-walk,btree-lookup\n").unwrap();
    let flags = ["--profiles", "synthetic", "--policies", "stock", "--mixes", &mixes, "--plot"];
    let said = refused(&[&flags[..], &[&mixes]].concat());
    assert!(said.contains("--plot: ") && said.contains("found another file"), "{said}");
    assert_eq!(std::fs::read_to_string(&mixes).unwrap(), "graph-walk,btree-lookup\n");
    for _ in 0..2 {
        simulate(&[&flags[..], &[&drawing]].concat()).success();
        assert!(std::fs::read_to_string(&drawing).unwrap().starts_with("<svg"));
    }
    let full = simulate(&[&flags[..], &["/dev/full"]].concat()).code(1);
    let said = String::from_utf8(full.get_output().stderr.clone()).unwrap();
    assert!(said.contains("/dev/full: can't write it"), "{said}");
}

/// What counts for nothing, and what is likely meant otherwise, has a warning.
#[test]
fn likely_mistakes_in_mixes_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let mixes = folder.path().join("mixes");
    std::fs::write(&mixes, "graph-wolk,btree-lookup\n").unwrap();
    let flags = ["--profiles", "synthetic", "--policies", "static", "--baselines", "stencil-3d=2"];
    let said = simulate(&[&flags[..], &["--mixes", mixes.to_str().unwrap()]].concat()).success();
    let said = String::from_utf8(said.get_output().stderr.clone()).unwrap();
    assert!(said.contains("did you mean the program \"graph-walk\"?"), "{said}");
    assert!(said.contains("--baselines, --importance: stencil-3d is in no mix"), "{said}");
    // Names of mixes are no mistakes.
    std::fs::write(&mixes, "mix,app1,app2\nW1,graph-walk,btree-lookup\n").unwrap();
    let flags = ["--profiles", "synthetic", "--policies", "stock", "--mixes"];
    simulate(&[&flags[..], &[mixes.to_str().unwrap()]].concat()).success().stderr("");
}

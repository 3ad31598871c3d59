//! pqos, through the operating system's interface (`-I`).

use fairways_testing::needs::Need;

use crate::emulated::Emulated;

/// pqos behaves differently on processors of other vendors than Intel, and asks the real one: this
/// makes it see Intel's, like the simulated machine's.
const ON_INTELS: &str =
    r#"exec qemu-x86_64 -cpu max,vendor=GenuineIntel "$(command -v pqos)" -I "$@""#;

pub(crate) const NEEDS: [Need; 5] = [
    Need::Fuse,
    Need::Root,
    Need::Program("pqos"),
    Need::Program("unshare"),
    Need::Program("qemu-x86_64"),
];

/// What pqos prints on both streams; fails if the exit code is another.
fn pqos(emulated: &Emulated, code: i32, words: &[&str]) -> String {
    let output = emulated.run(60, &[&["sh", "-c", ON_INTELS, "sh"], words].concat());
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert_eq!(output.status.code(), Some(code), "pqos {words:?}: {text}");
    text
}

pub(crate) fn says(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|said| said.trim() == *line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn pqos_shows_allocates_associates_monitors_and_resets() {
    if !fairways_testing::needs::has("pqos", &NEEDS) {
        return;
    }
    let emulated = Emulated::start("mlr:8M,mload:60M,lookbusy");

    let display = pqos(&emulated, 0, &["-d", "-v"]);
    says(
        &display,
        &[
            "INFO: resctrl detected",
            "INFO: L3 CAT details: CDP support=1, CDP on=0, #COS=8, #ways=20, ways contention bit-mask 0xc0000",
            "INFO: Detected resctrl support for LLC Occupancy",
            "LLC Occupancy (LLC)",
            "Num COS: 8",
        ],
    );

    let shown = pqos(&emulated, 0, &["-s"]);
    says(
        &shown,
        &["L3CA COS0 => MASK 0xfffff", "L3CA COS7 => MASK 0xfffff", "MBA COS7 => 100% available"],
    );

    says(&pqos(&emulated, 0, &["-e", "llc:1=0x0f"]), &["SOCKET 0 L3CA COS1 => MASK 0xf"]);
    assert!(
        emulated.read("COS1/schemata").contains("L3:0=f\n"),
        "{}",
        emulated.read("COS1/schemata")
    );
    pqos(&emulated, 0, &["-a", "llc:1=1"]);
    assert_eq!(emulated.read("COS1/cpus_list"), "1\n");
    let mload = emulated.pid("mload:60M").to_string();
    pqos(&emulated, 0, &["-a", &format!("pid:2={mload}")]);
    assert!(emulated.read("COS2/tasks").lines().any(|task| task == mload));
    let shown = pqos(&emulated, 0, &["-s"]);
    says(&shown, &["L3CA COS1 => MASK 0xf"]);
    assert!(shown.contains(&mload), "pqos lists tasks of classes:\n{shown}");

    let refused = pqos(&emulated, 1, &["-e", "llc:1=0x5"]);
    says(&refused, &["SOCKET 0 L3CA COS1 - FAILED!"]);
    says(
        &pqos(&emulated, 0, &["-e", "mba:1=33"]),
        &["SOCKET 0 MBA COS1 => 33% requested, 30% applied"],
    );

    emulated.control(&["advance", "20ms"]);
    let quiet = ["--disable-mon-ipc", "--disable-mon-llc_miss", "-t", "2", "-u", "csv"];
    let process = format!("all:{mload}");
    let watch = |what: &[&str]| {
        let words = [&quiet[..], what].concat();
        std::thread::scope(|scope| {
            let pqos = scope.spawn(|| pqos(&emulated, 0, &words));
            while !pqos.is_finished() {
                emulated.control(&["advance", "5ms"]);
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            pqos.join().unwrap()
        })
    };
    let cores = watch(&["-m", "all:0-3"]);
    assert!(cores.contains("LLC[KB]") && cores.lines().count() > 4, "{cores}");
    // `mlr:8M` is on CPU 0.
    let first = cores.lines().rfind(|line| line.split(',').nth(1) == Some("\"0\""));
    let held = first.and_then(|row| row.split(',').nth(2)).and_then(|text| text.parse().ok());
    assert!(held.is_some_and(|held: f64| held > 0.0 && held <= 2880.0), "{cores}");
    // On a busy machine pqos may read twice before the emulator's time goes on.
    let rows = std::iter::repeat_with(|| watch(&["-p", &process])).take(20);
    let moving = rows.flat_map(|monitored| {
        let rows: Vec<String> = monitored.lines().map(str::to_owned).collect();
        rows.into_iter().filter(|row| row.contains(&mload))
    });
    let columns = moving.map(|row| {
        let columns = row.split(',').skip(3).map(|text| text.parse().unwrap());
        columns.collect::<Vec<f64>>()
    });
    let [held, _, _] = columns.into_iter().find(|columns| columns[1] > 0.0).expect("MB/s")[..]
    else {
        panic!("expected three columns")
    };
    assert!(held > 0.0 && held <= 2880.0, "KB of a cache of 2880: {held}");
    assert_eq!(
        std::fs::read_dir(emulated.root().join("mon_groups")).unwrap().count(),
        0,
        "pqos cleans up"
    );

    pqos(&emulated, 0, &["-R"]);
    assert!(emulated.read("COS1/schemata").contains("L3:0=fffff\n"));
    assert_eq!(emulated.read("cpus_list"), "0-17\n");
    assert!(emulated.read("tasks").lines().any(|task| task == mload), "back in the root");
}

/// Code and data apart, as resctrl is mounted.
#[test]
fn pqos_gives_code_and_data_masks_of_their_own() {
    if !fairways_testing::needs::has("pqos_gives_code", &NEEDS) {
        return;
    }
    let emulated = Emulated::mounted("mlr:8M,lookbusy", "cdp");
    let display = pqos(&emulated, 0, &["-d", "-v"]);
    says(&display, &["CDP: enabled", "Num COS: 8"]);
    for (asked, applied, masks) in [
        ("llc:1d=0x0f", "DATA 0xf,CODE 0xfffff", "L3DATA:0=f\nL3CODE:0=fffff\n"),
        ("llc:1c=0xf0", "DATA 0xf,CODE 0xf0", "L3DATA:0=f\nL3CODE:0=f0\n"),
        ("llc:2=0x3", "DATA 0x3,CODE 0x3", ""),
    ] {
        let line = format!("SOCKET 0 L3CA COS{} => {applied}", &asked[4..5]);
        says(&pqos(&emulated, 0, &["-e", asked]), &[&line]);
        let schemata = emulated.read("COS1/schemata");
        assert!(schemata.contains(masks), "{schemata}");
    }
    let shown = pqos(&emulated, 0, &["-s"]);
    says(&shown, &["L3CA COS1 => DATA 0xf, CODE 0xf0", "L3CA COS2 => DATA 0x3, CODE 0x3"]);
    pqos(&emulated, 0, &["-R"]);
    for group in ["COS1", "COS2"] {
        let schemata = emulated.read(format!("{group}/schemata"));
        assert!(schemata.contains("L3DATA:0=fffff\nL3CODE:0=fffff\n"), "{schemata}");
    }
}

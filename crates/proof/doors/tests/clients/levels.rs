//! Levels of memory bandwidth in each platform's unit, as other clients set and show them; and what
//! these see of a class of ours.

use std::path::Path;

use fairways_core::{AppId, BandwidthLevel, Partition, Resources, WayMask};
use fairways_resctrl_client::{Actuator, Settings};
use fairways_testing::needs::{Need, has};
use serde_json::json;

use crate::emulated::Emulated;
use crate::export::export_of;
use crate::goresctrl::{metrics, rdt, run};
use crate::pqos::{NEEDS, says};

const PROGRAMS: &str = "mlr:8M,mload:60M";

/// A unit of levels, and a level in it.
struct Unit {
    name: &'static str,
    platform: &'static str,
    options: &'static str,
    /// For pqos a processor of the platform's maker: it asks the real one.
    processor: &'static str,
    most: u32,
    level: u32,
    /// What pqos shows of it.
    shown: &'static str,
}

const UNITS: [Unit; 3] = [
    Unit {
        name: "percent",
        platform: "skylake",
        options: "",
        processor: "max,vendor=GenuineIntel",
        most: 100,
        level: 40,
        shown: "MBA COS2 => 40% available",
    },
    Unit {
        name: "eighth_gbps",
        platform: "zen",
        options: "",
        processor: "EPYC",
        most: 2048,
        level: 17,
        shown: "MBA COS2 => 17 available",
    },
    Unit {
        name: "mib_per_second",
        platform: "skylake",
        options: "mba_MBps",
        processor: "max,vendor=GenuineIntel",
        most: u32::MAX,
        level: 1234,
        shown: "MBA COS2 => 1234 MBps",
    },
];

impl Unit {
    fn emulated(&self) -> Emulated {
        Emulated::of(self.platform, PROGRAMS, self.options)
    }

    /// Runs a script in which pqos finds the platform's processor; both streams, and whether it
    /// succeeded.
    fn run(&self, emulated: &Emulated, script: &str) -> (String, bool) {
        let pqos = format!(
            "real=$(command -v pqos)\npqos() {{ qemu-x86_64 -cpu {} \"$real\" \"$@\"; }}\n{script}",
            self.processor
        );
        let output = emulated.run(120, &["sh", "-c", &pqos]);
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (text.concat(), output.status.success())
    }

    /// What a host prints of a plan with this level.
    fn plan(&self, emulated: &Emulated) -> serde_json::Value {
        let lever =
            json!({"unit": self.name, "least": 1, "step": 1, "most": self.most, "scope": "class"});
        let cluster = json!({"mask": "0x3", "bandwidth_level": self.level, "programs": ["mload"],
            "tasks": [emulated.pid("mload:60M")]});
        json!({"schema": 1, "policy": "p",
            "domains": [{"id": 0, "bandwidth": lever, "clusters": [cluster]}]})
    }
}

/// A group's line of `MB`.
fn mb(emulated: &Emulated, group: &str) -> String {
    let schemata = emulated.read(Path::new(group).join("schemata"));
    let line = schemata.lines().map(str::trim).find(|line| line.starts_with("MB:"));
    line.unwrap_or_else(|| panic!("{group}: {schemata}")).to_owned()
}

#[test]
fn pqos_sets_and_shows_levels_in_each_unit() {
    if !has("pqos on levels", &NEEDS) {
        return;
    }
    for unit in UNITS {
        let emulated = unit.emulated();
        let script = export_of(&unit.plan(&emulated), &["--format", "pqos", "--first-cos", "2"]);
        let (text, is_done) = unit.run(&emulated, &script);
        assert!(is_done, "{}: {text}", unit.name);
        assert_eq!(mb(&emulated, "COS2"), format!("MB:0={}", unit.level));
        says(&unit.run(&emulated, "pqos -I -s").0, &[unit.shown]);
    }
}

/// The first pqos of a mount, 4.5.0, can't reset: it looks for a class that no program uses among
/// its own groups, `COS1` and so on, before it makes them, and so does not learn how memory
/// bandwidth is limited. Unknown counts as "by megabytes" then: it writes the most that 32 bits
/// hold, or no level at all, which the kernel refuses. CDP and the processor's maker have no part
/// in it.
#[test]
fn the_first_pqos_of_a_mount_cannot_reset_and_the_second_can() {
    if !has("pqos resets", &NEEDS) {
        return;
    }
    let [percent, eighths, _] = UNITS;
    for (unit, options, all) in [(&percent, "", "L3:0=fffff"), (&eighths, "cdp", "L3CODE:0=fffff")]
    {
        let case = format!("{} {options:?}", unit.name);
        let emulated = Emulated::of(unit.platform, PROGRAMS, options);
        emulated.write("schemata", &format!("{}\n", all.replace("fffff", "3")));
        let (text, is_done) = unit.run(&emulated, "pqos -I -R");
        assert!(!is_done, "{case}: {text}");
        says(&text, &["ERROR: Invalid file arguments!", "Allocation reset failed!"]);
        assert!(!emulated.read("schemata").contains(all), "{case}: nothing is written by halves");
        let (text, is_done) = unit.run(&emulated, "pqos -I -R");
        assert!(is_done, "{case}: {text}");
        assert!(emulated.read("schemata").contains(all), "{case}: {text}");
    }
}

/// goresctrl writes levels, and shows none. It finds no lever where the least level is 0.
#[test]
fn goresctrl_sets_levels_in_percent_and_in_megabytes() {
    if !has("goresctrl on levels", &[Need::Fuse, Need::Root, Need::Program("go")]) {
        return;
    }
    let rdt = rdt("levels");
    for unit in UNITS {
        let emulated = unit.emulated();
        let (root, options) = (emulated.root(), unit.options);
        let mount = format!("resctrl {} resctrl rw,relatime,{options} 0 0\n", root.display());
        std::fs::write(rdt.with_file_name("mounts"), mount).unwrap();
        let file = rdt.with_file_name("plan.yaml");
        let configure = ["configure", "-config-file", file.to_str().unwrap()];
        let plan = export_of(&unit.plan(&emulated), &["--format", "goresctrl"]);
        std::fs::write(&file, &plan).unwrap();
        assert!(run(&rdt, &configure).contains("Done!"));
        if unit.name == "eighth_gbps" {
            assert_eq!(mb(&emulated, "domain-0-cluster-0"), "MB:0=2048", "the plan has a comment");
            let level = "        mbAllocation: [\"50%\"]\n        #";
            let plan = plan
                .replace("    classes:", "    mbAllocation: [\"100%\"]\n    classes:")
                .replace("        # at most", level);
            std::fs::write(&file, plan).unwrap();
            let refused = std::process::Command::new(&rdt).args(configure).output().unwrap();
            let text = String::from_utf8(refused.stdout).unwrap();
            assert!(
                text.contains("specified in configuration but not supported by system"),
                "{text}"
            );
        } else {
            let level = format!("MB:0={}", unit.level);
            assert_eq!(mb(&emulated, "domain-0-cluster-0"), level);
        }
    }
}

/// A class of ours with a program, its ways and a level; it stays for as long as this does.
fn limited(emulated: &Emulated, level: u32) -> Actuator {
    let settings = Settings {
        root: emulated.root(),
        state: emulated.beside("state"),
        sysfs: emulated.beside("host/sys"),
        ..Settings::default()
    };
    let mut client = Actuator::open(settings).unwrap();
    let process = i32::try_from(emulated.pid("mload:60M")).unwrap();
    client.add(AppId(1), "mload", &[process]).unwrap();
    let (mask, bandwidth) = (WayMask::from_bits(0x3), BandwidthLevel::new(level));
    let mut plan = Partition::default();
    let cluster = plan.add(Resources { mask, bandwidth });
    plan.place(AppId(1), cluster);
    client.apply(&[(0, &plan)], "a test").unwrap();
    client
}

/// goresctrl takes a class of ours for one more, with the traffic that the level leaves it. pqos
/// looks at the groups `COS1`, `COS2` and so on, of which it makes as many as there are classes of
/// service: while a class of ours has one of these, it does not start.
#[test]
fn other_clients_beside_a_class_of_ours() {
    let needs = [&NEEDS[..], &[Need::Program("go")]].concat();
    if !has("other clients beside ours", &needs) {
        return;
    }
    let rdt = rdt("beside");
    for unit in UNITS {
        let emulated = unit.emulated();
        let client = limited(&emulated, unit.level);
        assert_eq!(mb(&emulated, "fairways.0"), format!("MB:0={}", unit.level));
        emulated.control(&["advance", "20ms"]);
        let mount = format!("resctrl {} resctrl rw 0 0\n", emulated.root().display());
        std::fs::write(rdt.with_file_name("mounts"), mount).unwrap();
        assert!(run(&rdt, &["info"]).contains("- fairways.0\n"));
        let served = metrics(&rdt);
        let counter =
            "l3_mbm_total_bytes{cache_id=\"0\",rdt_class=\"fairways.0\",rdt_mon_group=\"\"} ";
        let moved = served.lines().find_map(|line| line.strip_prefix(counter));
        let moved: f64 = moved.unwrap_or_else(|| panic!("{served}")).parse().unwrap();
        let read = emulated.read("fairways.0/mon_data/mon_L3_00/mbm_total_bytes");
        assert_eq!(moved, read.trim().parse::<f64>().unwrap());
        assert!(moved > 0.0);

        let (text, is_done) = unit.run(&emulated, "pqos -I -s");
        assert!(!is_done && text.contains("Failed to create resctrl group"), "{text}");
        assert_eq!(mb(&emulated, "fairways.0"), format!("MB:0={}", unit.level));
        assert_eq!(client.close().left, []);
    }
}

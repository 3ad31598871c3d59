//! Makes up sequences of steps from a seed: valid ones, nearly valid ones, and nonsense, in about
//! equal parts, on few names, so that they meet.

mod counters;
mod texts;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::Processor;
use crate::steps::Step;

/// What sequences are made up for.
#[derive(Clone, Debug)]
pub struct Grounds {
    /// The machine.
    pub processor: Processor,
    /// Options to mount with; one of them is drawn for each sequence.
    pub options: Vec<&'static str>,
    /// Whether RMIDs run out: threshold 0 keeps freed ones from being used again, and the sequence
    /// ends with a wait until they are clean. Otherwise there must be enough RMIDs that it never
    /// matters.
    pub few_rmids: bool,
    /// Whether CPUs are plugged in and out.
    pub plug: bool,
}

const GROUPS: [&str; 5] = ["a", "b", "c", "d", "e f"];
const MONITORS: [&str; 3] = ["m", "n", "a"];

/// The longest time that the kernel takes to find that caches are empty: it looks each second.
const CLEAN: u64 = 2_500;

/// The bytes of RMIDs' lines below which they are clean, at first: Linux's default for the lab's
/// machine is restored.
pub const THRESHOLD: u64 = 524_288;

/// One sequence: of about `length` steps, from the given seed.
#[must_use]
pub fn sequence(grounds: &Grounds, seed: u64, length: usize) -> Vec<Step> {
    let rng = Pcg64Mcg::seed_from_u64(seed);
    let mut made = Maker { grounds, rng, steps: vec![Step::Sequence(seed.to_string())] };
    made.begin();
    for _ in 0..length {
        made.step();
    }
    made.end();
    made.steps
}

struct Maker<'a> {
    grounds: &'a Grounds,
    rng: Pcg64Mcg,
    steps: Vec<Step>,
}

impl Maker<'_> {
    /// One of the numbers below `n`, which is not 0.
    fn below(&mut self, n: u64) -> u64 {
        self.rng.next_u64() % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        let n = self.below(of.len() as u64);
        of[usize::try_from(n).unwrap_or(0)].clone()
    }

    fn begin(&mut self) {
        let options = self.one(&self.grounds.options);
        self.steps.push(Step::Reset(options.into()));
        if self.grounds.few_rmids {
            self.threshold("0");
        }
        // Most steps concern groups.
        for group in GROUPS {
            if self.chance(60) {
                self.steps.push(Step::Mkdir(group.into()));
            }
        }
        for _ in 0..self.below(4) {
            let monitor = self.monitor();
            self.steps.push(Step::Mkdir(monitor));
        }
    }

    fn end(&mut self) {
        self.steps.push(Step::As(0));
        for cpu in 0..self.grounds.processor.topology.cpus() {
            if self.steps.iter().any(|step| matches!(step, Step::Cpu(c, false) if *c == cpu)) {
                self.steps.push(Step::Cpu(cpu, true));
            }
        }
        self.steps.push(Step::Tree);
        self.counters_again();
        if self.steps.iter().any(sets_threshold) {
            // It outlives the mount.
            self.threshold(&THRESHOLD.to_string());
        }
        if self.grounds.few_rmids {
            self.steps.push(Step::Reset(String::new()));
            self.steps.push(Step::Wait(CLEAN));
        }
    }

    fn threshold(&mut self, bytes: &str) {
        let text = format!("{bytes}\n").into_bytes();
        self.steps.push(Step::Write("info/L3_MON/max_threshold_occupancy".into(), text));
    }

    fn step(&mut self) {
        if self.assigns_counters() && self.chance(30) {
            let step = self.counters();
            return self.steps.push(step);
        }
        let step = match self.below(100) {
            0..22 => self.schemata(),
            22..34 => self.cpus(),
            34..46 => self.tasks(),
            46..55 => self.mode(),
            55..67 => self.mkdir(),
            67..74 => self.rmdir(),
            74..82 => self.mv(),
            82..88 => self.odd_write(),
            88..92 => {
                let path = self.some_path();
                Step::Read(path)
            }
            92 => {
                let path = self.some_path();
                Step::Ls(path)
            }
            93 => Step::Tree,
            94..97 => Step::As(self.one(&[0, 0, 1000, 1001])),
            97 if self.grounds.few_rmids => {
                for _ in 0..4 {
                    let step = self.mkdir();
                    self.steps.push(step);
                }
                self.mkdir()
            }
            _ if self.grounds.plug => {
                // The first can't be plugged out.
                let cpu = 1 + self.below(u64::from(self.grounds.processor.topology.cpus()) - 1);
                self.steps.push(Step::As(0));
                Step::Cpu(u32::try_from(cpu).unwrap_or(1), self.chance(50))
            }
            98 => return self.remount(),
            _ => Step::Read("info/last_cmd_status".into()),
        };
        self.steps.push(step);
    }

    /// Only root may; where the options are refused, nothing is mounted, and others are given.
    fn remount(&mut self) {
        self.steps.push(Step::As(0));
        let odd = [
            "nonsense",
            "cdp,cdp",
            "cdpl2",
            "debug=1",
            "mba_MBps,cdp",
            "Debug",
            "debug,",
            ",debug",
        ];
        let odd = self.one(&odd);
        if self.chance(40) {
            self.steps.push(Step::Reset(odd.into()));
        }
        let options = self.one(&self.grounds.options);
        self.steps.push(Step::Reset(options.into()));
        for group in ["a", "b"] {
            self.steps.push(Step::Mkdir(group.into()));
        }
    }

    /// A control group, or the root, which is the empty path.
    fn control(&mut self) -> String {
        if self.chance(20) { String::new() } else { self.one(&GROUPS).into() }
    }

    fn monitor(&mut self) -> String {
        let (control, monitor) = (self.control(), self.one(&MONITORS));
        below(&below(&control, "mon_groups"), monitor)
    }

    fn group(&mut self) -> String {
        if self.chance(25) { self.monitor() } else { self.control() }
    }

    fn some_file(&mut self) -> String {
        self.one(&[
            "cpus",
            "cpus_list",
            "tasks",
            "schemata",
            "mode",
            "size",
            "mon_data/mon_L3_00/llc_occupancy",
            "mon_data/mon_L3_01/mbm_total_bytes",
            "ctrl_hw_id",
            "mba_MBps_event",
            "none",
        ])
        .into()
    }

    fn some_path(&mut self) -> String {
        if self.grounds.processor.l2.is_some() && self.chance(8) {
            let name = self.one(&["L2", "L2CODE", "L2DATA"]);
            let file =
                self.one(&["bit_usage", "cbm_mask", "num_closids", "shareable_bits", "none"]);
            return format!("info/{name}/{file}");
        }
        if self.chance(25) {
            return self
                .one(&[
                    "",
                    "info",
                    "info/L3",
                    "info/L3/bit_usage",
                    "info/L3CODE/bit_usage",
                    "info/L3DATA/num_closids",
                    "info/L3/cbm_mask",
                    "info/L3/none",
                    "info/MB/min_bandwidth",
                    "info/MB/thread_throttle_mode",
                    "info/L3_MON/mon_features",
                    "info/L3_MON/max_threshold_occupancy",
                    "info/last_cmd_status",
                    "mon_groups",
                    "mon_data",
                    "mon_data/mon_L3_00",
                ])
                .into();
        }
        let group = self.group();
        if self.chance(20) {
            return group;
        }
        let file = self.some_file();
        below(&group, &file)
    }

    fn mkdir(&mut self) -> Step {
        let name = self.one(&[
            "m",
            "x",
            "a",
            "",
            "two\nlines",
            "tasks",
            "mon_groups",
            "info",
            ".",
            "caf\u{e9}",
        ]);
        let long = "n".repeat(if self.chance(50) { 255 } else { 256 });
        let path = match self.below(20) {
            0..9 => self.control(),
            9..14 => self.monitor(),
            14 => below(&self.group(), name),
            15 => below(&self.some_path(), name),
            16 => below(&self.monitor(), "mon_groups/m"),
            17 => below(&self.group(), "mon_data/mon_L3_05"),
            18 => name.into(),
            _ => long,
        };
        Step::Mkdir(path)
    }

    fn rmdir(&mut self) -> Step {
        let path = match self.below(10) {
            0..5 => self.control(),
            5..7 => self.monitor(),
            7 => below(&self.control(), "mon_groups"),
            8 => below(&self.group(), "mon_data"),
            _ => self.some_path(),
        };
        Step::Rmdir(path)
    }

    fn mv(&mut self) -> Step {
        let from = match self.below(10) {
            0..7 => self.monitor(),
            7 => self.control(),
            _ => self.some_path(),
        };
        let to = match self.below(10) {
            0..7 => self.monitor(),
            7 => self.control(),
            8 => below(&self.control(), "mon_groups"),
            _ => self.some_path(),
        };
        // Another file system is beside the root.
        Step::Mv(inside(from), inside(to))
    }
}

/// A path below another, of which the empty one is the root.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}/{name}") }
}

fn sets_threshold(step: &Step) -> bool {
    matches!(step, Step::Write(p, _) if p.contains("threshold"))
}

/// Keeps a path in the tree: another file system is beside the root.
fn inside(path: String) -> String {
    if path.is_empty() { "a".into() } else { path }
}

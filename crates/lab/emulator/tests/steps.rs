//! Files beside a step that is being simulated.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use common::{can_mount, mounted};
use fairways_core::{Counters, LatencyBin, Time};
use fairways_emulator::hardware::{CpuClass, Until};
use fairways_emulator::{Hardware, Pace, Settings};
use fairways_resctrl_rules::platform::Platform;

/// How far a step has come, and what the machine obeys.
#[derive(Debug, Default)]
struct HaltedStep {
    is_held: bool,
    has_begun: bool,
    masks: Vec<u32>,
}

/// Lets the step go on when it is dropped, that of a test which fails as well.
struct LetGo<'p>(&'p (Mutex<HaltedStep>, Condvar));

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().is_held = false;
        self.0.1.notify_all();
    }
}

/// A machine of one program whose steps take until they are let go.
struct Halting {
    names: Vec<String>,
    now: Time,
    progress: Arc<(Mutex<HaltedStep>, Condvar)>,
}

/// A multiple of what the platform counts in.
const BYTES: u64 = 3 << 20;

impl Halting {
    /// So many a millisecond.
    fn bytes(&self) -> u64 {
        self.now.nanos() / 1_000_000 * BYTES
    }
}

impl Hardware for Halting {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn now(&self) -> Time {
        self.now
    }

    fn advance(&mut self, until: &Until) -> bool {
        let (progress, changed) = &*self.progress;
        let mut progress = progress.lock().unwrap();
        progress.has_begun = true;
        changed.notify_all();
        while progress.is_held {
            progress = changed.wait(progress).unwrap();
        }
        self.now = self.now.max(until.to.min(until.about));
        false
    }

    fn runs(&self, _: usize) -> bool {
        true
    }

    fn kill(&mut self, _: usize) {}

    fn cpu(&self, _: usize) -> Option<u32> {
        Some(0)
    }

    fn set_classes(&mut self, _: usize, by_cpu: Vec<CpuClass>) {
        self.progress.0.lock().unwrap().masks.push(by_cpu[0].mask.bits());
    }

    fn counters(&self, _: usize) -> Counters {
        Counters { memory_bytes: Some(self.bytes()), ..Counters::default() }
    }

    fn latencies(&mut self, _: usize) -> Option<Vec<LatencyBin>> {
        None
    }

    fn occupancy_bytes(&self, _: u16) -> u64 {
        self.bytes()
    }

    fn failure(&self) -> Option<String> {
        None
    }
}

fn masks(of: &(Mutex<HaltedStep>, Condvar)) -> Vec<u32> {
    of.0.lock().unwrap().masks.clone()
}

#[test]
fn a_client_waits_for_no_step_and_the_next_one_obeys_it() {
    if !can_mount() {
        return;
    }
    let progress = Arc::new((Mutex::new(HaltedStep::default()), Condvar::new()));
    let hardware = Halting {
        names: vec!["program".to_owned()],
        now: Time::ZERO,
        progress: Arc::clone(&progress),
    };
    let settings = Settings::new(Platform::lab(), Box::new(hardware));
    let of = mounted(Settings { pace: Pace::Lockstep, ..settings });
    let ms = Duration::from_millis(1);
    of.client().advance(ms).unwrap();
    assert_eq!(masks(&progress), [0xfff]);

    let before = masks(&progress);
    *progress.0.lock().unwrap() = HaltedStep { is_held: true, has_begun: false, masks: before };
    std::thread::scope(|scope| {
        let held = LetGo(&progress);
        let step = scope.spawn(|| of.client().advance(ms).unwrap());
        let patience = Instant::now();
        while !progress.0.lock().unwrap().has_begun {
            assert!(patience.elapsed() < Duration::from_secs(300), "no step begins");
        }
        // The machine after the step before, and one's own writes.
        assert_eq!(of.number("mon_data/mon_L3_00/mbm_total_bytes"), BYTES);
        assert_eq!(of.number("mon_data/mon_L3_00/llc_occupancy"), BYTES);
        of.write("schemata", "L3:0=f\n").unwrap();
        assert!(of.read("schemata").contains("L3:0=f;"), "{}", of.read("schemata"));
        fs::create_dir(of.path("a")).unwrap();
        of.write("a/tasks", &of.pid("program").to_string()).unwrap();
        assert_eq!(of.read("a/tasks"), format!("{}\n", of.pid("program")));
        let mut client = of.client();
        assert_eq!(client.status().unwrap().now_ns, 1_000_000);
        assert!(client.programs().unwrap()[0].closid.is_some_and(|closid| closid > 0));
        assert!(!step.is_finished());
        assert_eq!(masks(&progress), [0xfff]);

        drop(held);
        step.join().unwrap();
    });
    // It has the mask of its group, which is still the whole cache.
    of.write("a/schemata", "L3:0=f0\n").unwrap();
    of.client().advance(ms).unwrap();
    assert_eq!(masks(&progress), [0xfff, 0xfff, 0xf0]);
    // What it moved in the step in which it was written is its old group's.
    assert_eq!(of.number("mon_data/mon_L3_00/mbm_total_bytes"), 2 * BYTES);
    assert_eq!(of.number("a/mon_data/mon_L3_00/mbm_total_bytes"), BYTES);
}

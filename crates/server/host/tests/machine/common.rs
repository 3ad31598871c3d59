//! A host over an emulator on which a chip runs.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairways_chip::{Job, Settings as Simulated};
use fairways_core::Time;
use fairways_emulated::Client;
use fairways_emulator::{Emulator, Pace, Settings as Emulated, Starter};
use fairways_host::clock::{Clock, EmulatorClock};
use fairways_host::emulated::service::Service;
use fairways_host::emulated::{Connection, counters};
use fairways_host::machine::{Host, Lever, Managed, Parts, Settings};
use fairways_programs::{Roots, Selector, Wanted};
use fairways_resctrl_client::{Actuator, Settings as Acting};
use fairways_resctrl_rules::platform::Platform;
use fairways_simulation::chip::{ChipMachine, platform_of};
use fairways_testing::needs::{Need, has};

use crate::conformance::Stopping;

/// Whether this system lets tests mount; says so where it does not, and panics where it must.
pub(crate) fn can_mount() -> bool {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    has(&test, &[Need::Fuse, Need::Root])
}

/// An emulator in lockstep, and what a host over it is made of.
pub(crate) struct Bench {
    emulator: Emulator,
    folder: tempfile::TempDir,
    /// The programs' processes, as the chip numbers them.
    pub(crate) pids: Vec<i32>,
    jobs: Vec<Job>,
    /// What the chip's bus carries, as an operator would have measured it.
    memory_mbps: Option<u32>,
}

impl Bench {
    /// A chip on which these jobs run, with as many classes of service for policies as it says.
    /// Each program is monitored by itself.
    pub(crate) fn new(settings: Simulated, jobs: &[Job]) -> Self {
        // In memory where it can be: the ledger is on disk before each plan, which takes its time.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let dir = folder.path().join("resctrl");
        fs::create_dir(&dir).unwrap();
        fs::write(folder.path().join("boot_id"), "5f7c4a32-8a0f-4d0a-9f1e-00000000000d\n").unwrap();
        let chip = settings.chip;
        let memory_mbps = chip.levers().bandwidth.and_then(|lever| lever.capacity_mbps);
        let mb = chip.throttle.and(Platform::skylake().mb);
        let like = Platform { mb, ..Platform::broadwell() }.with_ways(chip.llc.ways.get(), 0);
        let mut platform = platform_of(&chip, like).with_closids(chip.llc.clos + 1).with_rmids(128);
        if let Some(monitoring) = &mut platform.monitoring {
            // Readings are then the same as on a chip by itself.
            monitoring.scale_bytes = 1;
        }
        let named = (0..).map(|number| format!("app{number}")).zip(jobs.iter().cloned());
        let hardware = Box::new(ChipMachine::new(settings, named).unwrap());
        let script = "printf %s \"$0\" > /proc/$$/comm; echo; read nothing";
        let starter =
            Starter { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        let emulated = Emulated {
            pace: Pace::Lockstep,
            placeholders: Some(starter),
            ..Emulated::new(platform, hardware)
        };
        let emulator = Emulator::start(&dir, emulated).unwrap();
        let programs = Client::connect(emulator.socket()).unwrap().programs().unwrap();
        let pids = programs.iter().map(|program| program.pid).collect();
        Self { emulator, folder, pids, jobs: jobs.to_vec(), memory_mbps }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::connect(self.emulator.socket()).unwrap()
    }

    /// A program, as it is requested.
    pub(crate) fn managed(&self, job: usize) -> Managed {
        let selector = Selector::Pid(self.pids[job]);
        let wanted = Wanted { name: format!("app{job}"), selector, each: false };
        let Job { wish, profile, .. } = self.jobs[job].clone();
        let mut managed = Managed { wish, profile, ..Managed::new(wanted) };
        if self.jobs[job].requests().is_some() {
            let connection = self.connect();
            managed.latency = Some(Box::new(move |target| {
                let service = Service::new(&connection, &target.threads)?;
                Ok(Box::new(service) as Box<dyn fairways_latency::Source>)
            }));
        }
        managed
    }

    pub(crate) fn acting(&self) -> Acting {
        Acting {
            root: self.emulator.dir().to_owned(),
            state: self.folder.path().join("state"),
            boot_id: self.folder.path().join("boot_id"),
            memory_mbps: self.memory_mbps,
            ..Acting::default()
        }
    }

    /// A host that manages these jobs by this clock, which is of that connection.
    pub(crate) fn host(
        &self,
        connection: &Connection,
        clock: Box<dyn Clock>,
        managed: Vec<Managed>,
        settings: Settings,
    ) -> Host {
        let parts = Parts {
            lever: Lever::Ways(Box::new(Actuator::open(self.acting()).unwrap())),
            proc_and_cgroup: Roots::default(),
            source: Box::new(counters::Emulated::new(connection)),
            clock,
        };
        Host::new(parts, managed, settings).unwrap()
    }

    /// A host that manages all jobs until then.
    pub(crate) fn host_of_all(&self, until: Time) -> Host {
        let connection = self.connect();
        let inner = EmulatorClock::new(&connection).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let clock = Box::new(Stopping { inner, stops: [until].into(), stop: Arc::clone(&stop) });
        let managed = (0..self.pids.len()).map(|job| self.managed(job)).collect();
        let mut host = self.host(&connection, clock, managed, Settings::default());
        host.stop_when(stop);
        host
    }
}

//! Random actions at random events.

use fairways_core::{Action, AppId, Event, ThreadId, Time};

use crate::drive::Drive;
use crate::partitions::{BrokenRule, random};
use crate::promise;
use crate::rng::Rng;
use crate::subject::{ProgramKind, Subject, TestProgram};

/// Programs that start together and later, that end and that run on.
fn programs(rng: &mut Rng, transient: u32) -> Vec<TestProgram> {
    let kinds = [ProgramKind::Light, ProgramKind::Streaming, ProgramKind::Sensitive];
    let mut programs: Vec<_> = kinds.map(TestProgram::new).into();
    for _ in 0..transient {
        let start = rng.pick(&[0, 0, 10, 20, 40, 80, 150, 300]);
        let longest = rng.pick(&[4, 60, 200]);
        let program = TestProgram::new(rng.pick(&kinds)).starting_after(start);
        programs.push(program.running_for(1 + rng.below(longest)));
    }
    programs
}

impl Drive<'_> {
    fn step(&mut self, rng: &mut Rng, started: u32) {
        let running = self.running().to_vec();
        // A program that runs, that has run, or that never does.
        let any = AppId(rng.below(started + 2));
        let quarters = 1 + rng.below(12);
        match rng.below(10) {
            0 if !running.is_empty() => {
                self.plan(&random(rng, &self.llc(), &running));
            }
            1 => {
                let spoilt = rng.pick(&BrokenRule::ALL).partition(&self.llc(), &running, any);
                if let Some(partition) = spoilt {
                    self.plan(&partition);
                }
            }
            2 => self.watch(any, self.scale.by_time(quarters)),
            3 => self.watch(any, self.scale.by_instructions(quarters)),
            4 => self.wake(self.scale.time / 4 * quarters),
            5 => self.act(Action::Wake { at: Time::from_nanos(self.now().nanos() / 2) }),
            6 => self.act(Action::Classified {
                app: any,
                class: "any".into(),
                reason: "a check".into(),
            }),
            7 => {
                if let Some(cpus) = self.cpus() {
                    self.schedule(rng, ThreadId::first_of(any), cpus);
                }
            }
            _ => {}
        }
    }

    /// Asks for a random action on a thread, on a machine that schedules.
    fn schedule(&mut self, rng: &mut Rng, thread: ThreadId, cpus: u32) {
        let (time, reason) = (self.scale.time / 40 * (1 + rng.below(40)), "a check".into());
        let threads = vec![thread].into();
        match rng.below(5) {
            0 => self.act(Action::WatchTogether { shortest: time / 10 }),
            1 => self.act(Action::Quantum { thread, time, reason }),
            2 => self.act(Action::Priority { threads, raised: true, reason }),
            3 => self.act(Action::Priority { threads, raised: false, reason }),
            _ => {
                // One of these CPUs does not exist.
                let some: Vec<u32> = (0..=cpus).filter(|_| rng.below(3) > 0).collect();
                self.act(Action::Allow { thread, cpus: some.into(), reason });
            }
        }
    }
}

/// The events of a walk.
fn walk(subject: &dyn Subject, seed: u64) -> Vec<(Time, Event)> {
    let mut rng = Rng(seed);
    let length = subject.walks();
    let mut drive = Drive::new(subject, &programs(&mut rng, length.transient));
    let mut events = Vec::new();
    let mut started = 0;
    while events.len() < length.events
        && let Some(event) = drive.next_event()
    {
        if let Event::Started { app, .. } = &event.1 {
            started += 1;
            drive.watch(*app, drive.scale.by_time(4));
        }
        for _ in 0..rng.below(4) {
            drive.step(&mut rng, started);
        }
        events.push(event);
    }
    events
}

/// Under any actions, legal or not, the machine keeps the promises that a
/// [`Witness`](crate::Witness) checks.
///
/// # Panics
/// If it does not keep this.
pub fn random_walks_keep_every_promise(subject: &dyn Subject) {
    let mut events = 0;
    for seed in 0.. {
        events += walk(subject, seed).len();
        if events >= 4 * subject.walks().events {
            break;
        }
    }
}

/// Two fresh machines report the same events for the same actions.
///
/// # Panics
/// If it does not keep this.
pub fn the_same_actions_give_the_same_events(subject: &dyn Subject) {
    let (first, second) = (walk(subject, 7), walk(subject, 7));
    assert!(first.len() == second.len(), "{}: {} and {}", promise::SAME, first.len(), second.len());
    for (first, second) in first.iter().zip(&second) {
        let (first, second) = (format!("{first:?}"), format!("{second:?}"));
        assert!(first == second, "{}: {first} and {second}", promise::SAME);
    }
}

//! Random actions at random events.

use fairways_core::{Action, AppId, Event, ThreadId, Time};

use crate::drive::Drive;
use crate::promise;
use crate::rng::Rng;
use crate::spoil::{Spoil, random};
use crate::subject::{Kind, Program, Subject};

/// Programs that start together and later, that end and that run on.
fn programs(rng: &mut Rng, transient: u32) -> Vec<Program> {
    let kinds = [Kind::Light, Kind::Streaming, Kind::Sensitive];
    let mut programs: Vec<_> = kinds.map(Program::new).into();
    for _ in 0..transient {
        let starts = rng.pick(&[0, 0, 10, 20, 40, 80, 150, 300]);
        let longest = rng.pick(&[4, 60, 200]);
        programs.push(Program {
            kind: rng.pick(&kinds),
            starts,
            ends: Some(1 + rng.below(longest)),
        });
    }
    programs
}

impl Drive<'_> {
    fn step(&mut self, rng: &mut Rng, ever: u32) {
        let running = self.running().to_vec();
        // One that runs, that has run, or that never does.
        let anybody = AppId(rng.below(ever + 2));
        let quarters = 1 + rng.below(12);
        match rng.below(10) {
            0 if !running.is_empty() => {
                self.plan(&random(rng, &self.llc(), &running));
            }
            1 => {
                let spoilt = rng.pick(&Spoil::ALL).partition(&self.llc(), &running, anybody);
                if let Some(partition) = spoilt {
                    self.plan(&partition);
                }
            }
            2 => self.watch(anybody, self.scale.by_time(quarters)),
            3 => self.watch(anybody, self.scale.by_instructions(quarters)),
            4 => self.wake(self.scale.time / 4 * quarters),
            5 => self.act(Action::Wake { at: Time::from_nanos(self.now().nanos() / 2) }),
            6 => self.act(Action::Classified {
                app: anybody,
                class: "any".into(),
                reason: "a check".into(),
            }),
            7 => {
                if let Some(cpus) = self.cpus() {
                    self.schedule(rng, ThreadId::first_of(anybody), cpus);
                }
            }
            _ => {}
        }
    }

    /// Asks for something of a thread, on a machine that schedules.
    fn schedule(&mut self, rng: &mut Rng, thread: ThreadId, cpus: u32) {
        let (time, reason) = (self.scale.time / 40 * (1 + rng.below(40)), "a check".into());
        let threads = vec![thread].into();
        match rng.below(5) {
            0 => self.act(Action::WatchTogether { shortest: time / 10 }),
            1 => self.act(Action::Quantum { thread, time, reason }),
            2 => self.act(Action::Priority { threads, raised: true, reason }),
            3 => self.act(Action::Priority { threads, raised: false, reason }),
            _ => {
                // One that there is not, too.
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
    let mut ever = 0;
    while events.len() < length.events
        && let Some(event) = drive.next_event()
    {
        if let Event::Started { app, .. } = &event.1 {
            ever += 1;
            drive.watch(*app, drive.scale.by_time(4));
        }
        for _ in 0..rng.below(4) {
            drive.step(&mut rng, ever);
        }
        events.push(event);
    }
    events
}

/// Whatever is asked, legal or not, the machine keeps to what a [`Witness`](crate::Witness) holds
/// it to.
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

/// Two fresh machines tell the same to the same actions.
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

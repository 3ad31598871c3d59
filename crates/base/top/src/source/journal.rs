//! A journal that is played.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairways_attribution::RecentAttribution;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_core::Time;
use fairways_record::blame::{BlameReport, LATE};
use fairways_record::journal::{Follower, Step};

use super::pacer::Pacer;
use super::{PLAYED_POINT_NANOS, PlayCommand, Scene};
use crate::KnownLatency;
use crate::history::History;

/// The longest time to read without checking for keys.
const PATIENCE: Duration = Duration::from_millis(50);

/// A journal, and the position in it.
pub(crate) struct JournalPlayer {
    path: PathBuf,
    latency: KnownLatency,
    follower: Follower,
    losses: RecentAttribution,
    history: History,
    /// The number of steps done, and the steps after which a new decision was there.
    steps: u64,
    decision_steps: Vec<u64>,
    /// The last decision's number.
    last_number: u64,
    pacer: Pacer,
    /// The position to reach before playing on.
    goal: Option<Goal>,
    /// The error in the journal, if one was found.
    error: Option<String>,
    is_new: bool,
}

/// A position in a journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Time(Time),
    Step(u64),
    Decision,
    End,
}

impl JournalPlayer {
    /// Opens the journal at its start, or at a time.
    pub(super) fn open(
        path: &Path,
        latency: KnownLatency,
        speed: f64,
        at: Option<Duration>,
    ) -> Result<Self, BadInput> {
        let follower = Follower::open(path)?;
        let kind = follower.header().kind();
        let losses = RecentAttribution::new(latency(kind), Time::ZERO, LATE);
        let pacer = Pacer::new(speed, follower.next_at().unwrap_or(Time::ZERO));
        Ok(Self {
            path: path.to_owned(),
            latency,
            follower,
            losses,
            history: History::new(PLAYED_POINT_NANOS),
            steps: 0,
            decision_steps: Vec::new(),
            last_number: 0,
            pacer,
            goal: at.map(|at| Goal::Time(Time::ZERO.after(at))),
            error: None,
            is_new: true,
        })
    }

    /// The scene at a time, or at the end.
    pub(super) fn at(
        path: &Path,
        latency: KnownLatency,
        at: Option<Duration>,
    ) -> Result<Scene, BadInput> {
        let mut played = Self::open(path, latency, 1.0, None)?;
        let goal = at.map_or(Goal::End, |at| Goal::Time(Time::ZERO.after(at)));
        while !played.has_reached(goal) && played.step()? {}
        let mut scene = played.scene();
        scene.pace.clear();
        Ok(scene)
    }

    /// Plays on as time goes by, and returns a new scene.
    pub(super) fn take_new_scene(&mut self) -> Option<Scene> {
        let began = Instant::now();
        if let Some(goal) = self.goal {
            let mut is_there = self.has_reached(goal);
            while !is_there && began.elapsed() < PATIENCE {
                is_there = !self.try_step(goal == Goal::Decision) || self.has_reached(goal);
            }
            if is_there {
                self.goal = None;
                self.pacer.set(Time::from_nanos(self.follower.record.status.now_ns));
            }
            self.is_new = true;
        } else if !self.pacer.is_paused {
            let now = self.pacer.now();
            while self.follower.next_at().is_some_and(|at| at <= now) {
                self.try_step(false);
                if began.elapsed() >= PATIENCE {
                    // The journal plays faster than it can be read.
                    self.pacer.set(Time::from_nanos(self.follower.record.status.now_ns));
                    break;
                }
            }
        }
        std::mem::take(&mut self.is_new).then(|| self.scene())
    }

    fn scene(&self) -> Scene {
        let pace = match (self.goal, self.follower.next_at()) {
            (Some(_), _) => "seeking".to_owned(),
            (None, None) => "at its end".to_owned(),
            (None, Some(_)) => self.pacer.text(),
        };
        let record = &self.follower.record;
        let now = Time::from_nanos(record.status.now_ns);
        let domain = record.status.domains.first().map_or(0, |domain| domain.id);
        let losses = BlameReport::of_late(&self.losses, &record.status, domain, now);
        let mut scene = Scene::new(record, losses, &self.history, &shown(&self.path), pace);
        let is_cut = self.follower.is_cut_short() && self.follower.next_at().is_none();
        let cut = is_cut.then(|| "its end is cut short".to_owned());
        scene.note = self.error.clone().or(cut);
        scene
    }

    fn has_reached(&self, goal: Goal) -> bool {
        let Some(next) = self.follower.next_at() else { return true };
        match goal {
            Goal::Time(at) => next > at,
            Goal::Step(step) => self.steps >= step,
            // The steps themselves stop there.
            Goal::Decision | Goal::End => false,
        }
    }

    /// Steps; false at the end, at an invalid line, or after a decision if it should stop there.
    fn try_step(&mut self, stops: bool) -> bool {
        let before = self.decision_steps.len();
        match self.step() {
            Ok(goes_on) => goes_on && !(stops && self.decision_steps.len() > before),
            Err(why) => {
                self.error = Some(why.to_string());
                false
            }
        }
    }

    fn step(&mut self) -> Result<bool, BadInput> {
        let step = self.follower.step()?;
        let goes_on = step.is_some();
        self.is_new = true;
        if let Some(Step { at, event, .. }) = step {
            if self.follower.header().happened(&event) {
                self.losses.handle(at, &event);
            }
            self.steps += 1;
            self.history.record(&self.follower.record.status);
            // A decision is shown once the machine has answered it.
            let watched = &self.follower.record;
            if let Some(last) = watched.decisions.last_head()
                && last.number != self.last_number
                && !watched.status.is_plan_pending(last.domain)
            {
                self.last_number = last.number;
                if last.alike == 0 {
                    self.decision_steps.push(self.steps);
                }
            }
        }
        Ok(goes_on)
    }

    pub(super) fn play(&mut self, play: PlayCommand) {
        self.is_new = true;
        match play {
            PlayCommand::Pause => self.pacer.set_paused(!self.pacer.is_paused),
            PlayCommand::Faster => self.pacer.faster(true),
            PlayCommand::Slower => self.pacer.faster(false),
            PlayCommand::Forward => {
                self.pacer.set_paused(true);
                self.goal = Some(Goal::Decision);
            }
            PlayCommand::Back => {
                self.pacer.set_paused(true);
                let before = self.decision_steps.iter().rev().find(|&&step| step < self.steps);
                self.go_back(before.copied().unwrap_or(0));
            }
            PlayCommand::Start => self.go_back(0),
            PlayCommand::End => self.goal = Some(Goal::End),
        }
    }

    /// Starts again and goes to a step.
    fn go_back(&mut self, step: u64) {
        match Self::open(&self.path, self.latency, 1.0, None) {
            Ok(fresh) => {
                let mut pacer = self.pacer;
                pacer.set(fresh.follower.next_at().unwrap_or(Time::ZERO));
                *self = Self { pacer, goal: Some(Goal::Step(step)), ..fresh };
            }
            Err(why) => self.error = Some(why.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(played: &mut JournalPlayer) -> (u64, u64) {
        while played.goal.is_some() {
            played.take_new_scene();
        }
        (played.steps, played.scene().decisions.last().map_or(0, |decision| decision.number))
    }

    #[test]
    fn decisions_are_stepped_through_forward_and_back() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/data/run.journal");
        let mut played = JournalPlayer::open(&path, |_| None, 1.0, None).unwrap();
        played.play(PlayCommand::Pause);
        let mut there = vec![(0, 0)];
        while played.follower.next_at().is_some() {
            played.play(PlayCommand::Forward);
            there.push(shown_of(&mut played));
        }
        assert!(there.len() > 5, "{there:?}");
        assert!(there.is_sorted_by(|before, after| before.0 < after.0), "{there:?}");
        let end = there.pop().unwrap();
        for want in there.iter().rev() {
            played.play(PlayCommand::Back);
            assert_eq!(shown_of(&mut played), *want);
        }
        played.play(PlayCommand::End);
        assert_eq!(shown_of(&mut played), end);
        played.play(PlayCommand::Start);
        assert_eq!(shown_of(&mut played), (0, 0));
        assert_eq!(played.scene().pace, "paused");
    }
}

//! A journal that is played.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_core::Time;
use fairways_record::journal::Followed;

use super::pacer::Pacer;
use super::{PLAYED_POINT, Play, Scene};
use crate::history::History;

/// No longer at a time: keys are heeded in between.
const PATIENCE: Duration = Duration::from_millis(50);

/// A journal, and where in it one is.
pub(crate) struct Played {
    path: PathBuf,
    followed: Followed,
    history: History,
    /// Steps done, and after which of them there was a decision that was not like the one before.
    steps: u64,
    decided: Vec<u64>,
    /// The last decision's number.
    last: u64,
    pacer: Pacer,
    /// Where to go before anything else.
    goal: Option<Goal>,
    /// What is wrong with it.
    wrong: Option<String>,
    is_new: bool,
}

/// Where to go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Time(Time),
    Step(u64),
    Decision,
    End,
}

impl Played {
    /// Opens it at its start, or at a time.
    pub(super) fn open(path: &Path, speed: f64, at: Option<Duration>) -> Result<Self, BadInput> {
        let followed = Followed::open(path)?;
        let pacer = Pacer::new(speed, followed.next_at().unwrap_or(Time::ZERO));
        Ok(Self {
            path: path.to_owned(),
            followed,
            history: History::new(PLAYED_POINT),
            steps: 0,
            decided: Vec::new(),
            last: 0,
            pacer,
            goal: at.map(|at| Goal::Time(Time::ZERO.after(at))),
            wrong: None,
            is_new: true,
        })
    }

    /// How it was at a time, or at the end.
    pub(super) fn at(path: &Path, at: Option<Duration>) -> Result<Scene, BadInput> {
        let mut played = Self::open(path, 1.0, None)?;
        let goal = at.map_or(Goal::End, |at| Goal::Time(Time::ZERO.after(at)));
        while !played.has_come(goal) && played.step()? {}
        let mut scene = played.scene();
        scene.pace.clear();
        Ok(scene)
    }

    /// Goes on as time goes by, and says what is new.
    pub(super) fn look(&mut self) -> Option<Scene> {
        let began = Instant::now();
        if let Some(goal) = self.goal {
            let mut is_there = self.has_come(goal);
            while !is_there && began.elapsed() < PATIENCE {
                is_there = !self.try_step(goal == Goal::Decision) || self.has_come(goal);
            }
            if is_there {
                self.goal = None;
                self.pacer.set(Time::from_nanos(self.followed.watched.status.now_ns));
            }
            self.is_new = true;
        } else if !self.pacer.paused {
            let now = self.pacer.now();
            while self.followed.next_at().is_some_and(|at| at <= now) {
                self.try_step(false);
                if began.elapsed() >= PATIENCE {
                    // Faster than it can be read.
                    self.pacer.set(Time::from_nanos(self.followed.watched.status.now_ns));
                    break;
                }
            }
        }
        std::mem::take(&mut self.is_new).then(|| self.scene())
    }

    fn scene(&self) -> Scene {
        let pace = match (self.goal, self.followed.next_at()) {
            (Some(_), _) => "seeking".to_owned(),
            (None, None) => "at its end".to_owned(),
            (None, Some(_)) => self.pacer.shown(),
        };
        let mut scene = Scene::of(&self.followed.watched, &self.history, &shown(&self.path), pace);
        let is_cut = self.followed.cut_short() && self.followed.next_at().is_none();
        let cut = is_cut.then(|| "its end is cut short".to_owned());
        scene.note = self.wrong.clone().or(cut);
        scene
    }

    fn has_come(&self, goal: Goal) -> bool {
        let Some(next) = self.followed.next_at() else { return true };
        match goal {
            Goal::Time(at) => next > at,
            Goal::Step(step) => self.steps >= step,
            // It stops by itself.
            Goal::Decision | Goal::End => false,
        }
    }

    /// Steps; false at the end, or where it is asked to stop at a decision and there was one. A wrong line is the end.
    fn try_step(&mut self, stops: bool) -> bool {
        let before = self.decided.len();
        match self.step() {
            Ok(goes_on) => goes_on && !(stops && self.decided.len() > before),
            Err(why) => {
                self.wrong = Some(why.to_string());
                false
            }
        }
    }

    fn step(&mut self) -> Result<bool, BadInput> {
        let goes_on = self.followed.step()?.is_some();
        self.is_new = true;
        if goes_on {
            self.steps += 1;
            self.history.take(&self.followed.watched.status);
            // What is decided is seen once the machine has answered.
            let watched = &self.followed.watched;
            if let Some(last) = watched.decisions.kept().next_back()
                && last.number != self.last
                && !watched.status.is_asked(last.domain)
            {
                self.last = last.number;
                if last.alike == 0 {
                    self.decided.push(self.steps);
                }
            }
        }
        Ok(goes_on)
    }

    pub(super) fn play(&mut self, play: Play) {
        self.is_new = true;
        match play {
            Play::Pause => self.pacer.pause(!self.pacer.paused),
            Play::Faster => self.pacer.faster(true),
            Play::Slower => self.pacer.faster(false),
            Play::Forward => {
                self.pacer.pause(true);
                self.goal = Some(Goal::Decision);
            }
            Play::Back => {
                self.pacer.pause(true);
                let before = self.decided.iter().rev().find(|&&step| step < self.steps);
                self.go_back(before.copied().unwrap_or(0));
            }
            Play::Start => self.go_back(0),
            Play::End => self.goal = Some(Goal::End),
        }
    }

    /// From the start again.
    fn go_back(&mut self, step: u64) {
        match Self::open(&self.path, 1.0, None) {
            Ok(fresh) => {
                let mut pacer = self.pacer;
                pacer.set(fresh.followed.next_at().unwrap_or(Time::ZERO));
                *self = Self { pacer, goal: Some(Goal::Step(step)), ..fresh };
            }
            Err(why) => self.wrong = Some(why.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(played: &mut Played) -> (u64, u64) {
        while played.goal.is_some() {
            played.look();
        }
        (played.steps, played.scene().decisions.last().map_or(0, |of| of.number))
    }

    #[test]
    fn decisions_are_stepped_through_forward_and_back() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fairways/tests/data/run.journal");
        let mut played = Played::open(&path, 1.0, None).unwrap();
        played.play(Play::Pause);
        let mut there = vec![(0, 0)];
        while played.followed.next_at().is_some() {
            played.play(Play::Forward);
            there.push(shown_of(&mut played));
        }
        assert!(there.len() > 5, "{there:?}");
        assert!(there.is_sorted_by(|before, after| before.0 < after.0), "{there:?}");
        let end = there.pop().unwrap();
        for want in there.iter().rev() {
            played.play(Play::Back);
            assert_eq!(shown_of(&mut played), *want);
        }
        played.play(Play::End);
        assert_eq!(shown_of(&mut played), end);
        played.play(Play::Start);
        assert_eq!(shown_of(&mut played), (0, 0));
        assert_eq!(played.scene().pace, "paused");
    }
}

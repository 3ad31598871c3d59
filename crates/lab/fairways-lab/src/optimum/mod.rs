//! `fairways-lab optimum`: the best way to share the cache.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fairways_command_kit::BadInput;
use fairways_optimum::{Goal, Impossible, PlacedProblem, Problem, SharingKind, place, solve};
use fairways_profiles::Mix;
use fairways_results::ResultFormat;
use fairways_results::optimum::{self, SolvedMix};
use fairways_simulation::World;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// A search that takes longer than this shows its progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// What to search for.
#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub(crate) kind: SharingKind,
    pub(crate) goal: Goal,
    pub(crate) tolerance: f64,
    /// For this many seconds per mix; `None`: until the best plan is found.
    pub(crate) time_limit: Option<f64>,
}

/// Searches the best plan of each mix, and prints them; draws them to the file `plot`, too.
pub(crate) fn run(
    world: &World,
    mixes: Vec<Mix>,
    search: &Search,
    format: ResultFormat,
    plot: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (programs, llc, Search { kind, goal, tolerance, time_limit }) =
        (&world.programs, world.llc, *search);
    let mut solved = Vec::new();
    for mix in mixes {
        let problem = Problem {
            profiles: programs.table(),
            mix: &mix.programs,
            llc,
            kind,
            bandwidth: world.bandwidth,
            levels: &world.levels,
            goal,
            tolerance,
        };
        let start = Instant::now();
        let deadline = time_limit.map(|seconds| start + Duration::from_secs_f64(seconds));
        let mut bar: Option<ProgressBar> = None;
        let report = |best: Option<f64>, bound: f64| {
            if start.elapsed() > PATIENCE {
                let best = best.map_or("none".into(), |best| format!("{best:.6}"));
                let bar = bar.get_or_insert_with(progress);
                bar.set_message(format!("{}: best {best}, none better than {bound:.6}", mix.name));
                bar.tick();
            }
        };
        let solution = if world.caches.is_empty() {
            solve(&problem, deadline, report)
        } else {
            let (profiles, mix, caches) = (programs.table(), &*mix.programs, &*world.caches);
            place(&PlacedProblem { profiles, mix, caches, kind, goal }, deadline, report)
        };
        drop(bar);
        let solution = solution.map_err(|why| {
            let hint = match why {
                Impossible::TooManyPrograms { .. } if !world.levels.is_empty() => {
                    " with --bandwidth-levels"
                }
                Impossible::TooManyPrograms { .. } if !world.caches.is_empty() => {
                    " on several caches"
                }
                Impossible::TooManyPrograms { .. } => "; --time-limit S searches for S seconds",
                Impossible::NoneInTime { .. } => "; a longer --time-limit may find one",
                _ => "",
            };
            BadInput(format!("mix {}: {why}{hint}", mix.name))
        })?;
        solved.push(SolvedMix { mix, solution, seconds: start.elapsed().as_secs_f64() });
    }
    let ways = world.ways();
    crate::plot::plot(plot, &ways, || optimum::drawn(programs, &solved))?;
    match format {
        ResultFormat::Json => optimum::json(programs, &ways, &solved, out),
        ResultFormat::Csv => optimum::csv(programs, &solved, out),
        ResultFormat::Table => optimum::table(programs, &ways, (goal, tolerance), &solved, out),
    }
}

/// A line on standard error, if that is a terminal; it goes when it is dropped.
fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style).with_finish(ProgressFinish::AndClear)
}

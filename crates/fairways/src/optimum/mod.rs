//! `fairways optimum`: the best way to share the cache.

use std::io::Write;
use std::time::{Duration, Instant};

use fairways_command_kit::BadInput;
use fairways_core::Llc;
use fairways_optimum::{Impossible, Problem, solve};
use fairways_output::optimum::{self, SolvedMix};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::args::{self, Kind, Objective, Optimum};
use crate::world::World;

/// A search that takes longer than this shows its progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the command; everything is checked before anything is searched.
pub(crate) fn run(args: &Optimum, out: &mut dyn Write) -> anyhow::Result<()> {
    let world = world(args)?;
    let llc = Llc { clos: args.clusters_max, ..world.llc };
    let limit = args.time_limit;
    if let Some(threads) = args.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let (kind, objective) = (kind(args.kind), objective(args.objective));
    let mut solved = Vec::new();
    for mix in world.mixes(&args.mix, args.mixes.as_deref(), false)? {
        let profiles = world.programs().table();
        let problem = Problem {
            profiles,
            mix: &mix.programs,
            llc,
            kind,
            bandwidth: world.bandwidth,
            goal: objective,
        };
        let start = Instant::now();
        let deadline = limit.map(|seconds| start + Duration::from_secs_f64(seconds));
        let mut bar: Option<ProgressBar> = None;
        let solution = solve(&problem, deadline, |best, bound| {
            if start.elapsed() > PATIENCE {
                let best = best.map_or("none".into(), |best| format!("{best:.6}"));
                let bar = bar.get_or_insert_with(progress);
                bar.set_message(format!("{}: best {best}, none better than {bound:.6}", mix.name));
                bar.tick();
            }
        });
        drop(bar);
        let solution = solution.map_err(|why| {
            let hint = match why {
                Impossible::TooManyPrograms { .. } => "; --time-limit S searches for S seconds",
                Impossible::NoneInTime { .. } => "; a longer --time-limit may find one",
                _ => "",
            };
            BadInput(format!("mix {}: {why}{hint}", mix.name))
        })?;
        solved.push(SolvedMix { mix, solution, seconds: start.elapsed().as_secs_f64() });
    }
    if args.json {
        optimum::json(world.programs(), llc.ways, &solved, out)
    } else {
        optimum::table(world.programs(), llc.ways, objective, &solved, out)
    }
}

/// The programs and the cache that the flags describe.
fn world(args: &Optimum) -> Result<World, BadInput> {
    World::new(&args::World {
        profiles: args.profiles.clone(),
        ways: args.ways,
        min_bits: args.min_bits,
        bandwidth_mbps: args.bandwidth_mbps,
        bandwidth_model: args.bandwidth_model,
        seed: args.seed,
        ..args::World::default()
    })
}

fn kind(kind: Kind) -> fairways_optimum::SharingKind {
    match kind {
        Kind::Partitioning => fairways_optimum::SharingKind::Partitioning,
        Kind::Clustering => fairways_optimum::SharingKind::Clustering,
    }
}

fn objective(objective: Objective) -> fairways_optimum::Goal {
    match objective {
        Objective::Unfairness => fairways_optimum::Goal::Unfairness,
        Objective::Stp => fairways_optimum::Goal::Stp,
        Objective::MaxSlowdown => fairways_optimum::Goal::MaxSlowdown,
        Objective::Antt => fairways_optimum::Goal::Antt,
    }
}

/// A line on standard error, if that is a terminal; it goes when it is dropped.
fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style).with_finish(ProgressFinish::AndClear)
}

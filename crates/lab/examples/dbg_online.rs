//! Debug.
#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used)]
mod programs;
use fairways_core::*;
use fairways_lab::*;
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_policy::by_name;
fn main() {
    let name = std::env::var("MIX").unwrap();
    let noise: f64 = std::env::var("NOISE").map(|n| n.parse().unwrap()).unwrap_or(0.0);
    let secs: u64 = std::env::var("SECS").map(|n| n.parse().unwrap()).unwrap_or(60);
    let all = &*programs::from_arguments().unwrap();
    let llc = Llc::with_ways(all.table().ways());
    let mix = draw_workloads(all, llc.ways, 4, 33).into_iter().find(|m| m.name == name).unwrap();
    let settings = Settings { seed: 33, noise, ..Settings::new(llc) };
    let jobs: Vec<Job> = mix
        .programs
        .iter()
        .map(|&i| Job {
            instructions: Some(150_000_000_000),
            then: AfterRun::Restart,
            ..job(all, i, llc.ways, 1.0)
        })
        .collect();
    let mut model = Model::new(settings, jobs);
    model.stop_at(Time::ZERO.after(std::time::Duration::from_secs(secs)));
    let mut policy = by_name("fairways").unwrap();
    let mut sd = std::collections::BTreeMap::new();
    while let Some((at, event)) = model.next_event() {
        let label = |app: AppId, model: &Model| {
            model.job(app).map(|j| all.name(mix.programs[j]).to_string()).unwrap_or("?".into())
        };
        match &event {
            Event::Started { app, .. } => {
                println!("{:9.3} start {} {}", at.nanos() as f64 / 1e9, app.0, label(*app, &model))
            }
            Event::Exited { app } => println!("{:9.3} exit {}", at.nanos() as f64 / 1e9, app.0),
            _ => {}
        }
        let mut acts = vec![];
        policy.handle(at, &event, &mut |a| {
            match &a {
                Action::Estimated { thread, what, value, .. } if what == "slowdown" => {
                    sd.insert(thread.app.0, value.raw() as f64 / 4294967296.0);
                }
                Action::Partition { partition, reason, .. } => {
                    let mut s = String::new();
                    for (c, m) in (0..).zip(partition.masks()) {
                        s += &format!(" [{}:", m.count());
                        for app in partition.members(c) {
                            s += &format!(
                                " {}({:.3})",
                                label(app, &model),
                                sd.get(&app.0).unwrap_or(&0.0)
                            );
                        }
                        s += "]";
                    }
                    println!("{:9.3} {} {}", at.nanos() as f64 / 1e9, &reason[..8], s);
                }
                _ => {}
            }
            acts.push(());
            model.carry_out(a);
        });
    }
    for (j, &p) in mix.programs.iter().enumerate() {
        let (ran, best) = model.progress(j);
        println!("{} {:.4}", all.name(p), ran / best);
    }
    let problem = fairways_optimum::Problem {
        profiles: all.table(),
        mix: &mix.programs,
        llc,
        kind: fairways_optimum::SharingKind::Clustering,
        bandwidth: None,
        goal: fairways_optimum::Goal::Unfairness,
    };
    if mix.programs.len() < 9 && name.starts_with('S') {
        let s = fairways_optimum::solve(&problem, None, |_, _| ()).unwrap();
        println!("opt {:?} {}", s.partition, s.value);
    }
}

//! A plan as commands of intel-cmt-cat's pqos.

use std::io::Write;

use fairways_core::{BandwidthUnit, LevelInUnit};

use super::plan::Plan;
use super::{Domains, heading, one_line, pattern};

pub(super) fn write(
    plan: &Plan<'_>,
    domains: &Domains,
    first: u32,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    writeln!(out, "#!/bin/sh")?;
    writeln!(out, "# {}", heading(plan))?;
    writeln!(out, "# As root. To undo it: pqos -I -R, which resets every class.")?;
    writeln!(out, "set -eu")?;
    let places = match domains {
        Domains::All => String::new(),
        Domains::Some(ids) => {
            format!("@{}", ids.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
        }
    };
    let classes = (first..).zip(&plan.clusters);
    let masks =
        classes.clone().map(|(class, cluster)| format!("llc{places}:{class}={:#x}", cluster.mask));
    writeln!(out, "pqos -I -e '{}'", masks.collect::<Vec<_>>().join(";"))?;
    for (class, cluster) in classes.clone() {
        match (cluster.level, plan.domain) {
            // pqos takes a level as it is in `schemata`; the kernel's own loop has another name
            // there.
            (Some(LevelInUnit(level, unit)), Some(_)) => {
                let lever = match unit {
                    BandwidthUnit::Percent | BandwidthUnit::EighthGbps => "mba",
                    BandwidthUnit::MibPerSecond => "mba_max",
                };
                writeln!(out, "pqos -I -e '{lever}{places}:{class}={level}'")?;
            }
            // A percent of the model's is one of memory's bandwidth, and Intel's is not.
            (Some(level), None) => writeln!(
                out,
                "# class {class} is to have at most {level} of memory bandwidth: set that by hand"
            )?,
            _ => {}
        }
    }
    for (class, cluster) in classes {
        writeln!(out, "# class {class}: {}", one_line(&cluster.programs.join(", ")))?;
        // pqos moves only the named threads, not the others of their processes.
        let tasks = match cluster.tasks {
            // A thread that has ended would keep pqos from moving the others.
            Some(tasks) => {
                let tasks: Vec<String> = tasks.iter().map(i32::to_string).collect();
                format!(
                    "for task in {}; do if [ -d \"/proc/$task\" ]; then echo \"$task\"; fi; done",
                    tasks.join(" ")
                )
            }
            None => {
                let found = pattern(&cluster.programs);
                format!("pgrep -x {found} | xargs -I% ls /proc/%/task")
            }
        };
        writeln!(out, "tasks=$({tasks} | paste -sd,)")?;
        writeln!(out, "[ -z \"$tasks\" ] || pqos -I -a \"pid:{class}=$tasks\"")?;
    }
    Ok(())
}

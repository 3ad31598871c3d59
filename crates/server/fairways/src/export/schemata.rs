//! A plan as a shell script that writes resctrl's files.

use std::io::Write;

use fairways_core::{LevelInUnit, WayMask};
use fairways_resctrl::language::{Line, Value};

use super::plan::Plan;
use super::{Domains, heading, one_line, pattern};

/// Moves threads one by one: the other threads of a process do not follow the one that is written
/// (resctrl.rst, "tasks").
const MOVE: &str = r#"move() {
    for process in $(pgrep -x "$2"); do
        for task in /proc/"$process"/task/*; do
            # It may have ended.
            echo "${task##*/}" > "$root/$1/tasks" || true
        done
    done
}
"#;

/// Prints the root's L3 line (or L3CODE and L3DATA) with another mask in one domain.
const IN_ONE: &str = r#"in_domain() {
    grep '^ *L3' "$root/schemata" | sed "s/:.*/:$1=$2/"
}
"#;

/// The same with the mask in every domain.
const EVERYWHERE: &str = r#"everywhere() {
    grep '^ *L3' "$root/schemata" | sed "s/=[0-9a-f]*/=$1/g"
}
"#;

/// Ends the script before anything is made if domains of memory bandwidth are not the caches', as
/// under some kernels for Arm's MPAM.
const SAME_IDS: &str = r#"ids() {
    grep -m 1 -E "^ *$1:" "$root/schemata" | sed 's/.*://; s/=[^;]*//g'
}
if [ "$(ids 'L3(CODE)?')" != "$(ids MB)" ]; then
    echo "the domains of MB are not the L3 caches here: set levels by hand" >&2
    exit 1
fi
"#;

pub(super) fn write(plan: &Plan<'_>, domains: &Domains, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "#!/bin/sh")?;
    writeln!(out, "# {}", heading(plan))?;
    writeln!(out, "# As root, with resctrl mounted. To undo it: rmdir the groups.")?;
    writeln!(out, "set -eu\nroot=${{RESCTRL:-/sys/fs/resctrl}}")?;
    if plan.clusters.iter().any(|cluster| cluster.tasks.is_none()) {
        writeln!(out, "{MOVE}")?;
    }
    if matches!(domains, Domains::All) {
        writeln!(out, "{EVERYWHERE}")?;
    }
    if plan.domain.is_some() {
        writeln!(out, "{IN_ONE}")?;
        if plan.clusters.iter().any(|cluster| cluster.level.is_some()) {
            writeln!(out, "{SAME_IDS}")?;
        }
    }
    for cluster in &plan.clusters {
        let (name, mask) = (&cluster.name, cluster.mask);
        writeln!(out, "# {name}: {}", one_line(&cluster.programs.join(", ")))?;
        writeln!(out, "mkdir \"$root/{name}\"")?;
        let line = match (plan.domain, domains) {
            // A host may have separate masks for code and data.
            (Some(id), _) => format!("in_domain {id} {mask:x}"),
            (None, Domains::All) => format!("everywhere {mask:x}"),
            (None, Domains::Some(ids)) => {
                let value = Value::Mask(WayMask::from_bits(mask));
                let domains = ids.iter().map(|&id| (id, value)).collect();
                format!("echo '{}'", Line { resource: "L3".to_owned(), domains })
            }
        };
        writeln!(out, "{line} > \"$root/{name}/schemata\"")?;
        match (cluster.level, plan.domain) {
            (Some(LevelInUnit(level, _)), Some(id)) => {
                writeln!(out, "echo 'MB:{id}={level}' > \"$root/{name}/schemata\"")?;
            }
            // In the model's unit, which the host may not have.
            (Some(level), None) => {
                writeln!(out, "# at most {level} of memory bandwidth: set that by hand")?;
            }
            _ => {}
        }
        let Some(tasks) = cluster.tasks else {
            writeln!(out, "move {name} {}", pattern(&cluster.programs))?;
            continue;
        };
        for task in tasks {
            // The thread may have ended.
            writeln!(out, "echo {task} > \"$root/{name}/tasks\" || true")?;
        }
    }
    Ok(())
}

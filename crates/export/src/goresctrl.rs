//! A plan as a configuration of goresctrl, which containerd and CRI-O read too.
//!
//! One partition has the whole cache; masks in it are absolute (goresctrl's doc/rdt.md, "Cache
//! allocation").

use std::io::Write;

use super::plan::Plan;
use super::{Domains, heading, one_line};

pub(super) fn write(plan: &Plan<'_>, domains: &Domains, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "# {}", heading(plan))?;
    writeln!(out, "partitions:\n  all:\n    l3Allocation: \"100%\"\n    classes:")?;
    for cluster in &plan.clusters {
        writeln!(out, "      # {}", one_line(&cluster.programs.join(", ")))?;
        writeln!(out, "      {}:", cluster.name)?;
        match domains {
            Domains::All => writeln!(out, "        l3Allocation: \"{:#x}\"", cluster.mask)?,
            Domains::Some(ids) => {
                writeln!(out, "        l3Allocation:\n          all: \"100%\"")?;
                for id in ids {
                    writeln!(out, "          \"{id}\": \"{:#x}\"", cluster.mask)?;
                }
            }
        }
    }
    Ok(())
}

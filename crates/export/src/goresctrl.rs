//! A plan as a configuration of goresctrl, which containerd and CRI-O read too.
//!
//! One partition has the whole cache; masks in it are absolute (goresctrl's doc/rdt.md, "Cache
//! allocation").

use std::io::Write;

use fairways_core::{BandwidthUnit, LevelInUnit};

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
        match (cluster.level, plan.domain) {
            // A list may have a value for each of goresctrl's two units.
            (Some(LevelInUnit(level, BandwidthUnit::Percent)), Some(id)) => {
                writeln!(out, "        mbAllocation:\n          all: [\"100%\"]")?;
                writeln!(out, "          \"{id}\": [\"{level}%\"]")?;
            }
            (Some(level), _) => {
                writeln!(out, "        # at most {level} of memory bandwidth: set that by hand")?
            }
            _ => {}
        }
    }
    Ok(())
}

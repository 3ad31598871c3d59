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
    writeln!(out, "partitions:\n  all:\n    l3Allocation: \"100%\"")?;
    let level = plan.clusters.iter().find_map(|cluster| cluster.level);
    // A class may have a level only where its partition has one.
    if let Some((unit, most)) = level.filter(|_| plan.domain.is_some()).and_then(words) {
        writeln!(out, "    mbAllocation: [\"{most}{unit}\"]")?;
    }
    writeln!(out, "    classes:")?;
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
        let Some(level) = cluster.level else { continue };
        let (Some((unit, most)), Some(id)) = (words(level), plan.domain) else {
            writeln!(out, "        # at most {level} of memory bandwidth: set that by hand")?;
            continue;
        };
        // A list may have a value for each of goresctrl's two units.
        writeln!(out, "        mbAllocation:\n          all: [\"{most}{unit}\"]")?;
        writeln!(out, "          \"{id}\": [\"{}{unit}\"]", level.0)?;
    }
    Ok(())
}

/// goresctrl's name of a unit, and the highest level in it; `None` on AMD, where it takes no
/// allocation of bandwidth at all.
const fn words(LevelInUnit(_, unit): LevelInUnit) -> Option<(&'static str, u32)> {
    match unit {
        BandwidthUnit::Percent => Some(("%", 100)),
        BandwidthUnit::MibPerSecond => Some(("MBps", u32::MAX)),
        BandwidthUnit::EighthGbps => None,
    }
}

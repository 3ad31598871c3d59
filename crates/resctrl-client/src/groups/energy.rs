//! Energy and activity of programs: which packages count them is listed, not known by name.

use fairways_core::AppId;

use super::programs::Programs;
use crate::counts::packages::PackageCounts;
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::tree::Tree;

/// The folders of packages in `mon_data` begin with this.
const PACKAGE: &str = "mon_PERF_PKG_";

/// The packages that are listed for the root's group; none without such events.
pub(crate) fn packages(tree: &Tree, events: &[String]) -> Result<Vec<String>, Error> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let mut names = tree.directories("mon_data")?;
    names.retain(|name| name.starts_with(PACKAGE));
    Ok(names)
}

impl Programs {
    /// Reads what packages count for each program.
    pub(crate) fn count_packages(&mut self, mount: &Mount, events: &[String], names: &[String]) {
        for program in self.by_id.values_mut().filter(|program| program.monitored) {
            if !program.is_in_one_group() {
                // What its own group counts meanwhile is not the program's.
                program.packages.restart();
                continue;
            }
            let group = program.group();
            program.packages.read(&mount.tree, &group, events, names);
        }
    }

    /// What packages have counted of a program.
    pub(crate) fn package_counts(&self, app: AppId) -> PackageCounts {
        let program = self.by_id.get(&app).filter(|program| program.is_in_one_group());
        program.map(|program| program.packages.counts()).unwrap_or_default()
    }
}

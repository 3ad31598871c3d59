//! `fairways doctor`: what this host can, and what is in the way.

mod output;

use std::io::Write;

use fairways_host::doctor::{Place, Verdict, examine};

use crate::args::Doctor;
use crate::world::shown;
use crate::{BadInput, ExitCode, exit};

/// Runs the command; the exit code says whether the host can be managed.
pub(crate) fn run(args: &Doctor, out: &mut dyn Write) -> anyhow::Result<()> {
    for (flag, folder) in
        [("--sysroot", Some(&args.sysroot)), ("--resctrl-root", args.resctrl_root.as_ref())]
    {
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let said = format!("{flag}: expected a directory, found {}", shown(folder));
            return Err(BadInput(said).into());
        }
    }
    let place = Place { sysroot: args.sysroot.clone(), resctrl: args.resctrl_root.clone() };
    let report = examine(&place);
    let code = match report.verdict {
        Verdict::Manageable => 0,
        Verdict::NotSupported => exit::NOT_SUPPORTED,
        Verdict::Busy => exit::BUSY,
        Verdict::Permission => exit::PERMISSION,
    };
    if args.json {
        output::json(&report, code, out)?;
    } else {
        output::text(&report, out)?;
    }
    out.flush()?;
    if code == 0 { Ok(()) } else { Err(ExitCode(code).into()) }
}

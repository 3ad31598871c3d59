//! `fairways doctor`: what this host supports, and what is missing.

mod counts;
mod windows;

use std::io::Write;
use std::path::Path;

use fairways_command_kit::input::shown;
use fairways_command_kit::{BadInput, ExitCode, exit};
use fairways_doctor::{ExaminedHost, Finding, Verdict, collect, examine, output};

/// Runs the command; the exit code says whether the host can be managed. With `from`, its files are
/// a copy that `fairways collect` made.
pub(crate) fn run(
    sysroot: &Path,
    from: Option<&Path>,
    resctrl: Option<&Path>,
    is_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for (flag, folder) in
        [("--sysroot", Some(sysroot)), ("--from", from), ("--resctrl-root", resctrl)]
    {
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let said = format!("{flag}: expected a directory, found {}", shown(folder));
            return Err(BadInput(said).into());
        }
    }
    if let Some(from) = from {
        collect::check(from).map_err(|why| BadInput(format!("--from {}: {why}", shown(from))))?;
    }
    let (sysroot, is_copy) = (from.unwrap_or(sysroot), from.is_some());
    // Which program another host has is not known.
    let is_here = sysroot == Path::new("/") && !is_copy;
    let without_scheduler = fairways_daemon::in_kernel().err().filter(|_| is_here);
    let (sysroot, resctrl) = (sysroot.to_owned(), resctrl.map(Path::to_owned));
    let place = ExaminedHost { sysroot, resctrl, is_copy, without_scheduler };
    let mut report = examine(&place);
    if is_here {
        report.findings.extend([counts::check(), windows::check()]);
    } else if is_copy {
        let rows = [counts::PLAUSIBLE, windows::WINDOWS];
        report.findings.extend(rows.map(|(id, why)| Finding::not_asked(id, why)));
    }
    let code = match report.verdict {
        Verdict::Manageable => 0,
        Verdict::NotSupported => exit::NOT_SUPPORTED,
        Verdict::Busy => exit::BUSY,
        Verdict::Permission => exit::PERMISSION,
    };
    if is_json {
        output::json(&report, code, out)?;
    } else {
        output::text(&report, out)?;
    }
    out.flush()?;
    if code == 0 { Ok(()) } else { Err(ExitCode(code).into()) }
}

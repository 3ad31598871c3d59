//! Runs steps on the kernel's resctrl and prints the transcript: `resctrl-steps FILE` (see
//! `fairways_kernel_lab::steps`). Mounts /sys/fs/resctrl; needs root.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::{env, fs};

use fairways_kernel_lab::steps::{Files, KernelMount, Placeholders, parse, run, stand_in};

const ROOT: &str = "/sys/fs/resctrl";

fn main() -> ExitCode {
    match env::args().nth(1) {
        Some(argument) if argument == "--stand-in" => {
            stand_in();
            ExitCode::SUCCESS
        }
        Some(file) => match steps(&file) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&format!("{file}: {error}"), 1),
        },
        None => complain("usage: resctrl-steps FILE", 2),
    }
}

fn steps(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let steps = parse(&fs::read_to_string(file)?)?;
    let tasks = Placeholders::start(&env::current_exe()?)?;
    let mut target = Files::new(ROOT, KernelMount::new(ROOT), tasks);
    let mut out = BufWriter::new(io::stdout().lock());
    run(&mut target, &steps, &mut out)?;
    Ok(out.flush()?)
}

fn complain(what: &str, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "resctrl-steps: {what}");
    ExitCode::from(code)
}

//! `fairways emulated`: queries and controls a running emulator.

use std::io::Write;

use fairways_emulator::answers;
use fairways_emulator::control::Request;

use crate::args::{Asked, Emulated, OnOff};

/// Runs the command.
pub(crate) fn run(args: &Emulated, out: &mut dyn Write) -> anyhow::Result<()> {
    answers::run(&args.dir, &request(&args.asked), args.json, out)
}

fn request(asked: &Asked) -> Request {
    match asked {
        Asked::Status => Request::Status {},
        Asked::Advance { time, until_exit } => {
            let by_ns = Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            Request::Advance {
                by_ns,
                to_ns: None,
                about_ns: None,
                until_exit: *until_exit,
                until: Vec::new(),
            }
        }
        Asked::Fault { fault } => Request::Arm { fault: fault.clone() },
        Asked::Faults => Request::Faults {},
        Asked::Clear { id } => Request::Clear { id: *id },
        Asked::Programs => Request::Programs {},
        Asked::Counters { programs } => {
            Request::Counters { programs: (!programs.is_empty()).then(|| programs.clone()) }
        }
        Asked::Latencies { programs } => {
            Request::Latencies { programs: (!programs.is_empty()).then(|| programs.clone()) }
        }
        Asked::Cpu { cpu, state } => Request::Cpu { cpu: *cpu, online: *state == OnOff::On },
    }
}

//! Mounts the kernel lab's machine, with nothing behind it, until standard input ends.

use std::io::Read;

use fairways_emulator::{Emulator, Idle, Settings};
use fairways_resctrl::platform::Platform;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("expected a directory")?;
    let settings = Settings::new(Platform::lab(), Box::new(Idle::default()));
    let _emulator = Emulator::start(dir.as_ref(), settings)?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

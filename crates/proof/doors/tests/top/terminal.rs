//! A terminal for one program, and what is visible on it.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::common::{end, this};

/// The kernel's ticks of CPU time a second, as programs see them (`USER_HZ`).
const TICKS: u32 = 100;

/// A terminal, the program on it, and the program's output.
pub(crate) struct Terminal {
    keys: File,
    /// Kept open, so that it can be queried after the program has ended.
    own: Option<OwnedFd>,
    reader: Option<JoinHandle<()>>,
    /// The output is no longer read.
    deaf: Arc<AtomicBool>,
    child: Child,
    seen: Arc<Mutex<Seen>>,
    modes: LocalModes,
}

struct Seen {
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

impl Terminal {
    /// Starts `fairways top` with these flags on a terminal of 80 columns and 24 lines.
    pub(crate) fn start(flags: &[&str], no_color: bool) -> Self {
        Self::of(&["setsid", "--ctty"], flags, no_color)
    }

    /// Starts it on a terminal that sends it no signals: it does not control the program's session.
    pub(crate) fn without_signals(flags: &[&str]) -> Self {
        Self::of(&["setsid"], flags, false)
    }

    fn of(session: &[&str], flags: &[&str], no_color: bool) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let open = || {
            let mut options = File::options();
            // It becomes the terminal of the program's session, never of this one.
            options.read(true).write(true).custom_flags(OFlags::NOCTTY.bits().cast_signed());
            options.open(name.to_str().unwrap()).unwrap()
        };
        let own = OwnedFd::from(open());
        tcsetwinsize(&own, size(80, 24)).unwrap();
        let modes = tcgetattr(&own).unwrap().local_modes;
        let mut command = Command::new(session[0]);
        let door =
            if flags.contains(&"--machine") { fairways_doors::fairways_lab() } else { this() };
        command.args(&session[1..]).arg(door).arg("top").args(flags);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        let screen = vt100::Parser::new(cells(24), cells(80), 0);
        let seen = Arc::new(Mutex::new(Seen { bytes: Vec::new(), screen }));
        let keys = File::from(keys);
        let (mut reads, there) = (keys.try_clone().unwrap(), Arc::clone(&seen));
        let deaf = Arc::new(AtomicBool::new(false));
        let is_deaf = Arc::clone(&deaf);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !is_deaf.load(Ordering::Relaxed) {
                let mut polled = [PollFd::new(&reads, PollFlags::IN)];
                let look = Timespec::try_from(Duration::from_millis(20)).unwrap();
                if poll(&mut polled, Some(&look)).unwrap() == 0 {
                    continue;
                }
                let Ok(count @ 1..) = reads.read(&mut bytes) else { break };
                let mut seen = there.lock().unwrap();
                seen.bytes.extend_from_slice(&bytes[..count]);
                seen.screen.process(&bytes[..count]);
            }
        });
        let (own, reader) = (Some(own), Some(reader));
        Self { keys, own, reader, deaf, child, seen, modes }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        self.seen.lock().unwrap().screen.screen_mut().set_size(cells(height), cells(width));
        tcsetwinsize(self.own.as_ref().unwrap(), size(width, height)).unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .unwrap();
    }

    /// The visible lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let width = seen.screen.screen().size().1;
        let rows = seen.screen.screen().rows(0, width.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// Waits until the screen fulfils a condition.
    pub(crate) fn until(&self, what: &str, mut is_so: impl FnMut(&[String]) -> bool) {
        let began = Instant::now();
        while !is_so(&self.lines()) {
            let lines = self.lines().join("\n");
            assert!(began.elapsed() < Duration::from_secs(300), "not so: {what}\n{lines}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this text is visible somewhere.
    pub(crate) fn shows(&self, text: &str) {
        self.until(text, |lines| lines.iter().any(|line| line.contains(text)));
    }

    /// Whether anything was written in a colour.
    pub(crate) fn is_coloured(&self) -> bool {
        let bytes = self.seen.lock().unwrap().bytes.clone();
        let text = String::from_utf8_lossy(&bytes);
        text.split("\u{1b}[").skip(1).any(|rest| {
            let Some(end) = rest
                .find(|of: char| !of.is_ascii_digit() && of != ';')
                .filter(|end| rest[*end..].starts_with('m'))
            else {
                return false;
            };
            let mut numbers = rest[..end].split(';').filter_map(|of| of.parse::<u32>().ok());
            // 39 and 49 are the terminal's default colours.
            numbers.any(|of| matches!(of, 30..=38 | 40..=48 | 90..=107))
        })
    }

    /// Whether the program has the screen, has hidden the cursor, and gets every key as it is
    /// pressed.
    pub(crate) fn taken(&self) -> [bool; 3] {
        let seen = self.seen.lock().unwrap();
        let screen = seen.screen.screen();
        let is_raw = tcgetattr(self.own.as_ref().unwrap()).unwrap().local_modes != self.modes;
        [screen.alternate_screen(), screen.hide_cursor(), is_raw]
    }

    /// Stops reading: a program that writes has to wait.
    pub(crate) fn stop_reading(&mut self) {
        self.deaf.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }

    /// Hangs up: the terminal is gone, for the program as well as for this test.
    pub(crate) fn hang_up(mut self) -> Gone {
        self.stop_reading();
        // The controlling end is closed.
        self.keys = File::open("/dev/null").unwrap();
        Gone(self)
    }

    /// Waits for the end; returns the exit code and the total CPU time.
    pub(crate) fn ended(&mut self) -> (Option<i32>, Duration) {
        let began = Instant::now();
        let stat = format!("/proc/{}/stat", self.child.id());
        loop {
            let text = std::fs::read_to_string(&stat).unwrap();
            let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
            let ticks = [11, 12].map(|field: usize| fields[field].parse::<u64>().unwrap());
            let busy = Duration::from_secs(ticks.iter().sum()) / TICKS;
            if fields[0] == "Z" {
                return (self.child.wait().unwrap().code(), busy);
            }
            assert!(began.elapsed() < Duration::from_secs(300), "it runs on, {busy:?} so far");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end; returns the exit code and the output on the screen that was there before.
    /// The terminal is as it was.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = end(&mut self.child).code();
        let is_raw = self.taken()[2];
        // All output is read once the last process that has the terminal open is gone.
        drop(self.own.take());
        self.reader.take().unwrap().join().unwrap();
        let seen = self.seen.lock().unwrap();
        let screen = seen.screen.screen();
        let left = [screen.alternate_screen(), screen.hide_cursor(), is_raw];
        assert_eq!(left, [false; 3], "the terminal is not as it was");
        drop(seen);
        (code, self.lines().join("\n").trim_end().to_owned())
    }
}

/// A terminal that has hung up.
pub(crate) struct Gone(Terminal);

impl Gone {
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        self.0.signal(signal);
    }

    /// As [`Terminal::ended`].
    pub(crate) fn ended(mut self) -> (Option<i32>, Duration) {
        self.0.ended()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn size(width: u16, height: u16) -> Winsize {
    Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }
}

//! Latency sources whose answers are built to hurt.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{lchown, symlink};
use std::time::Duration;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;

use super::common::{Machine, Sleeper, can, eventually};
use super::running::{Daemon, command, configure};

/// The most memory, in kB, that the daemon may use beside all attacks, in a build without
/// optimization: far below 1 GiB.
const MOST_KB: u64 = 160 << 10;

/// The most log lines for one source: five, and one a minute.
const MOST_LINES: usize = 8;

type Attack = fn(&mut TcpStream) -> std::io::Result<()>;

/// A server that answers every connection with an attack; it ends with the test.
fn server(attack: Attack) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.set_write_timeout(Some(Duration::from_secs(60)));
                let _ = stream.read(&mut [0; 4096]);
                let _ = attack(&mut stream);
            });
        }
    });
    at
}

/// Writes the same again and again, until the reader stops or a gigabyte is written.
fn endless(stream: &mut TcpStream, head: &[u8], part: &[u8]) -> std::io::Result<()> {
    stream.write_all(head)?;
    let block = part.repeat((1 << 16) / part.len() + 1);
    for _ in 0..1 << 14 {
        stream.write_all(&block)?;
    }
    Ok(())
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn series(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(OK)?;
    for number in 0..1_u32 << 24 {
        stream.write_all(format!("h_bucket{{a=\"{number}\",le=\"+Inf\"}} 1\n").as_bytes())?;
    }
    Ok(())
}

fn drip(stream: &mut TcpStream) -> std::io::Result<()> {
    for byte in OK.iter().chain(b"h".iter().cycle()) {
        stream.write_all(&[*byte])?;
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn fickle(stream: &mut TcpStream) -> std::io::Result<()> {
    static ASKED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(200);
    let code = ASKED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    write!(stream, "HTTP/1.1 {code} secret-{code}\r\n\r\n")
}

/// Attacks by pages.
const PAGES: [Attack; 12] = [
    |stream| endless(stream, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    |stream| endless(stream, b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    |stream| endless(stream, b"", b"HTTP/1.1 "),
    |stream| endless(stream, OK, b"\n"),
    |stream| endless(stream, OK, b"h"),
    |stream| endless(stream, OK, b"\xff"),
    |stream| endless(stream, CHUNKED, b"1\r\nh\r\n"),
    |stream| endless(stream, CHUNKED, b"0"),
    |stream| endless(stream, CHUNKED, b"ffffffffffffffff\r\nh"),
    series,
    drip,
    fickle,
];

/// Attacks by Redis.
const REDIS: [Attack; 8] = [
    |stream| endless(stream, b"", b"*1\r\n"),
    |stream| endless(stream, b"", b"*1048576\r\n"),
    |stream| endless(stream, b"*1048576\r\n", b":1\r\n"),
    |stream| endless(stream, b"*1048576\r\n", b"*0\r\n"),
    |stream| endless(stream, b"$1048576\r\n", b"x"),
    |stream| endless(stream, b"+", b"secret"),
    |stream| endless(stream, b"", b"-secret\r\n"),
    |stream| drip(stream),
];

/// A server that reports ten more requests each time.
fn honest() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (asked, stream) in (1_u64..).zip(listener.incoming().flatten()) {
            let mut reader = BufReader::new(&stream);
            let mut line = String::from("-");
            while !line.trim().is_empty() {
                line.clear();
                if reader.read_line(&mut line).is_err() {
                    break;
                }
            }
            let requests = asked * 10;
            let page = format!(
                "h_bucket{{le=\"0.001\"}} {requests}\nh_bucket{{le=\"+Inf\"}} {requests}\n"
            );
            let _ =
                write!(&stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        }
    });
    at
}

#[test]
fn hostile_answers_take_little_and_the_rest_goes_on() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let at = |name: &str| machine.at(name).to_str().unwrap().to_owned();
    mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("secret"), "secret\n").unwrap();
    symlink(at("secret"), at("link")).unwrap();
    lchown(at("link"), Some(65_534), None).unwrap();
    File::create(at("lines")).unwrap();
    let pages = PAGES.map(|attack| format!("openmetrics:http://{}/#h", server(attack)));
    let redis = REDIS.map(|attack| format!("redis:{}", server(attack)));
    let files =
        ["pipe", "folder", "link", "lines", "missing"].map(|name| format!("file:{}", at(name)));
    let devices = ["/dev/zero", "/dev/full", "/dev/tty", "/proc/self/mem", "/dev/fuse"];
    let devices = devices.map(|path| format!("file:{path}"));
    let attacks: Vec<String> = pages.into_iter().chain(redis).chain(files).chain(devices).collect();
    assert_eq!(attacks.len(), 30);

    let sleepers: Vec<Sleeper> = attacks.iter().map(|_| Sleeper::start()).collect();
    let mut programs: Vec<(String, String)> = (0..)
        .zip(&attacks)
        .zip(&sleepers)
        .map(|((number, source), sleeper)| {
            let select = format!(
                "select = \"pid:{}\"\nobjective = \"2ms\"\nlatency = \"{source}\"",
                sleeper.id()
            );
            (format!("hostile{number}"), select)
        })
        .collect();
    let source = format!("openmetrics:http://{}/#h", honest());
    let pid = machine.pids["mlr:500K"];
    let select = format!("select = \"pid:{pid}\"\nobjective = \"2ms\"\nlatency = \"{source}\"");
    // It comes first: programs that come when all ways are given out share some, and their sources
    // are not read.
    programs.insert(0, ("honest".to_owned(), select));
    let programs: Vec<(&str, &str)> =
        programs.iter().map(|(name, select)| (name.as_str(), select.as_str())).collect();
    let keys = "policy = \"locpart\"";
    configure(&machine, keys, &programs);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("all are there", || daemon.programs().len() == 31);
    let pid = daemon.status()["pid"].as_u64().unwrap();

    // Many lines that are no samples.
    let mut lines = OpenOptions::new().append(true).open(at("lines")).unwrap();
    lines.write_all(&b"secret\n".repeat(1 << 20)).unwrap();
    let requests = || {
        let status = daemon.status();
        let programs = status["programs"].as_array().unwrap();
        let honest = programs.iter().find(|of| of["name"] == "honest").unwrap();
        honest["objective"]["requests"].as_u64()
    };
    // Beside attacks that have lasted twice as long as an answer may take.
    let began = std::time::Instant::now();
    eventually("honest latencies are reported", || requests().is_some_and(|count| count > 0));
    while began.elapsed() < Duration::from_secs(15) {
        std::thread::sleep(Duration::from_millis(200));
    }
    eventually("they still are", || requests().is_some_and(|count| count > 0));

    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    println!("{peak} kB at most");
    assert!(peak < MOST_KB, "{peak} kB");
    assert_eq!(daemon.programs().len(), 31);
    let said = daemon.said();
    assert!(!said.contains("secret"), "{said}");
    for source in &attacks {
        let (_, place) = source.split_once(':').unwrap();
        let place = place.trim_end_matches("#h");
        let lines = said.lines().filter(|line| line.contains(place)).count();
        assert!(lines <= MOST_LINES, "{source}: {lines} lines");
    }
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

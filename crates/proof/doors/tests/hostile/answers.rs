//! Control characters, huge histories and impostors behind the sockets.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fairways_testing::needs::{Need, has};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use serde_json::json;

use super::common::this;

/// The kernel's ticks of CPU time a second, as programs see them (`USER_HZ`).
const TICKS: u32 = 100;

/// 2 s are promised; this leaves room for builds without optimization.
const BUSY: Duration = Duration::from_secs(20);

/// Waits for the end of a command that must succeed; returns the CPU time that it took.
fn busy(mut child: Child) -> Duration {
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks = [11, 12].map(|field: usize| fields[field].parse::<u64>().unwrap());
        let busy = Duration::from_secs(ticks.iter().sum()) / TICKS;
        if fields[0] == "Z" {
            assert!(child.wait().unwrap().success());
            return busy;
        }
        if busy > BUSY || began.elapsed() > 20 * BUSY {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{busy:?} of CPU time, and no end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A journal of 60,000 programs that start, each followed by events and actions about it.
fn starts(path: &Path, name: impl Fn(u32) -> String, then: impl Fn(u32) -> String) {
    let run = fs::read_to_string("../../base/record/tests/data/run.journal").unwrap();
    let mut text: String = run.lines().take(2).map(|line| format!("{line}\n")).collect();
    let wish = r#"{"baseline_ways":null,"best_effort":false,"objective":null}"#;
    for app in 0..60_000 {
        let name = name(app);
        let started = format!(r#"{{"started":{{"app":{app},"wish":{wish},"profile":null}}}}"#);
        writeln!(text, r#"{{"at":{app},"event":{started},"name":"{name}"}}"#).unwrap();
        text += &then(app);
    }
    fs::write(path, text).unwrap();
}

#[test]
fn sixty_thousand_starts_are_explained_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let plan = |app| {
        let places = format!(r#"[{{"mask":"0xf","apps":[{app}]}}]"#);
        let plan = format!(r#"{{"plan":{app},"partition":{places},"reason":"alone"}}"#);
        format!("{{\"at\":{app},\"action\":{{\"partition\":{plan}}}}}\n")
    };
    let over = |app| format!("{{\"at\":{app},\"event\":{{\"exited\":{{\"app\":{app}}}}}}}\n");
    let nothing = |_| String::new();
    type Then<'a> = &'a dyn Fn(u32) -> String;
    let cases: [(&str, Then<'_>, Then<'_>); 4] = [
        ("of one name", &|_| "web".to_owned(), &nothing),
        ("of different names", &|app| format!("web{app}"), &nothing),
        ("each with a plan", &|_| "web".to_owned(), &plan),
        ("each with an end", &|_| "web".to_owned(), &over),
    ];
    for (what, name, then) in cases {
        starts(&path, name, then);
        let mut command = Command::new(this());
        command.args(["explain", "--journal"]).arg(&path).stdout(Stdio::null());
        let busy = busy(command.spawn().unwrap());
        assert!(busy < BUSY, "{what}: {busy:?}");
    }
}

/// Characters that a terminal would obey: they clear the screen, set a title, end a line, and
/// reorder letters; and such as nobody sees.
const EVIL: &str = "a\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}1m\u{7f}\r\u{202e}b\u{2066}\u{200f}\u{61c}\u{2028}\
     c\u{200b}d\u{feff}e\u{2060} \u{301}\u{3164}\u{fe0f}z";

/// The same text, as it may be shown.
const SHOWN: &str = "a\\u001b[2J\\u001b]0;t\\u0007\\u009b1m\\u007f\\u000d\\u202eb\\u2066\\u200f\\u061c\\u2028\
     c\\u200bd\\ufeffe\\u2060 \\u0301\\u3164\\ufe0fz";

fn assert_plain(what: &str, output: &[u8]) {
    let text = String::from_utf8(output.to_vec()).unwrap();
    let odd: Vec<char> =
        text.chars().filter(|of: &char| !(fairways_core::is_plain(*of) || *of == '\n')).collect();
    assert!(odd.is_empty(), "{what}: {odd:?} in {text:?}");
}

/// A socket on which an impostor answers each question, as this user.
fn impostor(path: &Path, user: Option<u32>, answer: impl Fn(UnixStream, &str) + Send + 'static) {
    let (ready, is_ready) = std::sync::mpsc::channel();
    let path = path.to_owned();
    // The thread ends with the test.
    std::thread::spawn(move || {
        if let Some(user) = user.map(Uid::from_raw) {
            // Changes the user of this thread alone.
            set_thread_res_uid(user, user, user).unwrap();
        }
        let listener = UnixListener::bind(&path).unwrap();
        ready.send(()).unwrap();
        for stream in listener.incoming().map_while(Result::ok) {
            let mut question = String::new();
            let _ = BufReader::new(&stream).read_line(&mut question);
            answer(stream, &question);
        }
    });
    is_ready.recv().unwrap();
}

fn evil_answer(mut stream: UnixStream, question: &str) {
    let answer = if question.contains("explain") {
        let actions = json!({"classified": {"program": EVIL, "class": EVIL, "reason": EVIL}});
        json!({"decisions": [{"number": 1, "event": EVIL, "actions": [actions]}]})
    } else {
        let program = json!({
            "name": EVIL, "mask": EVIL, "class": EVIL, "class_reason": EVIL,
            "estimates": {EVIL: 1.0},
        });
        let domain = json!({"ways": 11, "reason": EVIL, "plan": 1, "refused": EVIL});
        json!({"status": {
            "policy": EVIL, "mode": EVIL, "failed": EVIL,
            "programs": [program], "domains": [domain],
        }})
    };
    let _ = stream.write_all(format!("{answer}\n").as_bytes());
}

/// Runs a command that asks a daemon at a socket.
fn ask(words: &[&str], socket: &Path) -> Output {
    let mut command = Command::new(this());
    command.args(words).arg("--control").arg(socket).output().unwrap()
}

const ASKING: [&[&str]; 5] =
    [&["status"], &["status", "--json"], &["explain"], &["explain", "--json"], &["top", "--once"]];

#[test]
fn what_a_socket_answers_does_nothing_to_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control");
    impostor(&socket, None, evil_answer);
    for words in ASKING {
        let Output { stdout, stderr, .. } = ask(words, &socket);
        assert_plain(words[0], &stdout);
        assert_plain(words[0], &stderr);
        let text = String::from_utf8(stdout).unwrap();
        // In JSON, a backslash is one of two.
        let shown = if words.contains(&"--json") { r"a\\u001b[" } else { r"a\u001b[" };
        assert!(text.contains(shown), "{words:?}: {text} {stderr:?}");
    }
    // Malformed answers and errors do not either,
    for answer in [format!("{EVIL}\n"), format!("{}\n", json!({"error": EVIL}))] {
        let socket = folder.path().join(format!("control{}", answer.len()));
        impostor(&socket, None, move |mut stream, _| {
            let _ = stream.write_all(answer.as_bytes());
        });
        let Output { status, stderr, .. } = ask(&["status"], &socket);
        assert_eq!(status.code(), Some(1));
        assert_plain("an error", &stderr);
    }
}

#[test]
fn a_journals_text_does_nothing_to_a_terminal_or_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let run = fs::read_to_string("../../base/record/tests/data/run.journal").unwrap();
    let quoted = serde_json::to_string(EVIL).unwrap();
    let text =
        run.replace("\"triad\"", &quoted).replace("no profile;", &quoted[1..quoted.len() - 1]);
    fs::write(&path, text).unwrap();
    let page = folder.path().join("page.html");
    for words in [
        &["explain", "--journal"][..],
        &["explain", "--json", "--journal"],
        &["top", "--once", "--journal"],
        &["replay", "--policy", "lfoc"],
        &["report", "--out", page.to_str().unwrap()],
        &["report", "--out", "-"],
    ] {
        let Output { stdout, stderr, .. } =
            Command::new(this()).args(words).arg(&path).output().unwrap();
        assert_plain(words[0], &stdout);
        assert_plain(words[0], &stderr);
    }
    let page = fs::read(&page).unwrap();
    assert_plain("a page", &page);
    assert!(String::from_utf8(page).unwrap().contains(SHOWN));
    // nor does the file's name.
    let none = folder.path().join(EVIL);
    let Output { stderr, .. } =
        Command::new(this()).args(["explain", "--journal"]).arg(none).output().unwrap();
    assert_plain("a name", &stderr);
    assert!(String::from_utf8(stderr).unwrap().contains(SHOWN));
}

#[test]
fn another_users_socket_is_not_believed() {
    if !has("another_users_socket_is_not_believed", &[Need::Root]) {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let socket = folder.path().join("control");
    impostor(&socket, Some(65534), evil_answer);
    for words in ASKING {
        let Output { status, stdout, stderr } = ask(words, &socket);
        assert_eq!((status.code(), &stdout[..]), (Some(1), &b""[..]), "{words:?}");
        let socket = socket.display();
        let why = "expected a daemon of root or of this user, found user 65534's";
        assert_eq!(String::from_utf8(stderr).unwrap(), format!("fairways: {socket}: {why}\n"));
    }
}

#[test]
fn an_answer_without_an_end_is_not_kept_and_one_that_breaks_off_is_reported_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    impostor(
        &at("endless"),
        None,
        |mut stream, _| while stream.write_all(&[b' '; 1 << 16]).is_ok() {},
    );
    impostor(&at("silent"), None, |stream, _| drop(stream));
    impostor(&at("half"), None, |mut stream, _| stream.write_all(b"{\"status\":").unwrap());
    for (name, why) in [
        ("endless", "expected an answer of at most 67108864 bytes"),
        ("silent", "the daemon there broke off: the end of its answer is missing"),
        ("half", "the daemon there broke off: the end of its answer is missing"),
    ] {
        for words in ASKING {
            let Output { status, stderr, .. } = ask(words, &at(name));
            assert_eq!(status.code(), Some(1), "{name}: {words:?}");
            let expected = format!("fairways: {}: {why}\n", at(name).display());
            assert_eq!(String::from_utf8(stderr).unwrap(), expected, "{words:?}");
        }
    }
    let Output { stderr, .. } = ask(&["status"], &at("nobody"));
    assert!(String::from_utf8(stderr).unwrap().contains("no daemon answers there: "));
}

/// A daemon with sixteen clients reports that before it is asked, and hangs up.
#[test]
fn a_client_that_is_turned_away_gets_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"{\"error\":\"expected at most 16 clients at a time\"}\n");
        }
    });
    for words in ASKING {
        // The question may arrive before it hangs up, so that it does not read it.
        for _ in 0..20 {
            let Output { status, stderr, .. } = ask(words, &socket);
            assert_eq!(status.code(), Some(1), "{words:?}");
            let said = String::from_utf8(stderr).unwrap();
            assert!(!said.contains("no daemon"), "{said}");
            let has_reason = said.contains("at most 16 clients") || said.contains("broke off");
            assert!(has_reason, "{said}");
        }
    }
}

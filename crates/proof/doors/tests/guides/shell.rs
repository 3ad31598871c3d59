//! Pages as scripts: one bash runs all blocks of a page, in a temporary folder and, where possible,
//! in namespaces of its own.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fairways_testing::needs::{Need, has, skip};
use rustix::process::{Pid, Signal, kill_process_group};

use super::allowed;
use super::likeness::same;
use super::named::{FREE_PORT, GIVEN, Instead, NAMED, NEEDS, OUTPUTS, TEMPORARY};
use super::page::{Page, commands, project};

/// The longest time that a page may take.
const LONGEST: Duration = Duration::from_secs(240);

/// Runs the page's shell blocks; the error says what is wrong.
pub(crate) fn run(page: &Page) -> Result<(), String> {
    run_by(page, execute)
}

/// Runs them with `execute`, once every command is known to be harmless, or named.
fn run_by(
    page: &Page,
    execute: impl FnOnce(&Path, bool) -> Option<ExitStatus>,
) -> Result<(), String> {
    let blocks: Vec<usize> =
        (0..page.blocks.len()).filter(|at| page.blocks[*at].language == "sh").collect();
    let needs = NEEDS.iter().filter(|(of, _)| *of == page.name).flat_map(|(_, needs)| *needs);
    let needs: Vec<Need> = needs.copied().chain([Need::Program("bash")]).collect();
    let blocks: Vec<(usize, Vec<String>)> = blocks
        .into_iter()
        .map(|block| Ok((block, planned(page, block)?)))
        .collect::<Result<_, String>>()?;
    if blocks.is_empty() || !has(&page.name, &needs) {
        return Ok(());
    }
    let root = has_root();
    if root && !can_be_apart() {
        skip(&page.name, "as root nothing is run but in namespaces of its own");
        return Ok(());
    }
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    fs::create_dir(at.join("bin")).unwrap();
    for door in [fairways_doors::fairways(), fairways_doors::fairways_lab()] {
        let name = door.file_name().unwrap().to_owned();
        symlink(door, at.join("bin").join(name)).unwrap();
    }
    fs::write(at.join("bin/script"), script(page, &blocks, &at)).unwrap();
    let status = execute(&at, root);
    let printed =
        |block: usize| fs::read_to_string(at.join(format!("bin/{block}"))).unwrap_or_default();
    if !status.is_some_and(|status| status.success()) {
        let mut begun = blocks.iter().map(|(block, _)| *block).rev();
        let last = begun.find(|block| at.join(format!("bin/{block}")).exists());
        let (block, said) = last.map_or((0, String::new()), |block| (block, printed(block)));
        let script = &page.blocks[block].text;
        let how = status.map_or("not over in time".to_owned(), |status| status.to_string());
        return Err(format!("{}: {how} in\n{script}\n{said}", page.name));
    }
    let mut text: Vec<&str> = page.text.lines().collect();
    let mut wrong = Vec::new();
    let outputs: Vec<(usize, String)> =
        blocks.iter().map(|(block, _)| (*block, home(&printed(*block), &at))).collect();
    for (block, printed) in outputs.iter().rev() {
        let Some(shown) = page.shown(*block) else { continue };
        let begins = |start: &str| page.blocks[*block].text.starts_with(start);
        let output = OUTPUTS.iter().find(|of| of.page == page.name && begins(of.block));
        if !same(&shown.text, printed, output.map(|of| of.like)) {
            wrong.push(format!("{}:{}: it prints\n{printed}", page.name, shown.lines.start));
            text.splice(shown.lines.clone(), printed.trim_end().lines());
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    if std::env::var("TRYCMD").is_ok_and(|what| what == "overwrite") {
        fs::write(project().join(&page.name), text.join("\n") + "\n").unwrap();
    }
    Err(wrong.join("\n"))
}

/// The commands of a block as they are run; the reason if one could do more than pages may.
fn planned(page: &Page, block: usize) -> Result<Vec<String>, String> {
    let commands = commands(&page.blocks[block].text).into_iter();
    let commands = commands.map(|shown| {
        let named = NAMED.iter().find(|of| of.page == page.name && shown.starts_with(of.command));
        let command = match named.map(|named| named.instead) {
            None => shown.clone(),
            Some(Instead::Nothing) => return Ok(":".to_owned()),
            Some(Instead::Run(instead)) => return Ok(instead.to_owned()),
            Some(Instead::With(texts)) => {
                texts.iter().fold(shown.clone(), |command, (text, by)| {
                    assert!(command.contains(text), "{}: {text}: {command}", page.name);
                    command.replace(text, by)
                })
            }
        };
        match allowed::refused(&command) {
            None => Ok(command),
            Some(why) => Err(format!(
                "{}: {shown}: {why}; named.rs has to say what is run instead, and why",
                page.name
            )),
        }
    });
    commands.collect()
}

/// The page's blocks, each with its output in a file of its own.
fn script(page: &Page, blocks: &[(usize, Vec<String>)], at: &Path) -> String {
    let mut script = format!("PROJECT='{}'\n", project().display());
    script.push_str(
        "set -euo pipefail\nPAGE=$PWD\nexport PATH=$PAGE/bin:$PATH HOME=$PAGE TMPDIR=$PAGE\n\
         trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n",
    );
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    for given in GIVEN.iter().filter(|given| given.page == page.name) {
        script += &format!("{}\n", given.script);
    }
    for (block, commands) in blocks {
        script += "{\n:\n";
        for command in commands {
            let command = command.replace(TEMPORARY, &format!("{}/", at.display()));
            let command = command.replace(FREE_PORT, &port.to_string());
            script += &format!("{command}\n");
        }
        script += &format!("}} > bin/{block} 2>&1 < /dev/null\n");
    }
    script
}

/// The command that makes namespaces for a page: processes and mounts of its own.
fn apart(shell: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount", "--mount-proc", "--kill-child", "bash", "-c"]);
    // A page does not see what a daemon would manage, nor a daemon's configuration.
    let hide = "for here in /sys/fs/resctrl /etc/fairways /run/fairways /var/lib/fairways; do \
                [ ! -d $here ] || mount -t tmpfs none $here; done";
    command.arg(format!("set -e; {hide}; {shell}"));
    command
}

fn has_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this system lets root have namespaces.
fn can_be_apart() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| apart("true").output().is_ok_and(|output| output.status.success()))
}

/// Runs it, for root in namespaces of its own: other tests have processes of the same names, and a
/// page must not end those.
fn execute(at: &Path, is_apart: bool) -> Option<ExitStatus> {
    let mut command = if is_apart {
        apart("exec bash bin/script")
    } else {
        let mut command = Command::new("bash");
        command.arg("bin/script");
        command
    };
    command.current_dir(at).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(at.join("bin/said")).unwrap());
    let mut child = command.spawn().unwrap();
    let status = wait(&mut child);
    if status.is_none() {
        kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
    }
    status
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < LONGEST {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// The page's own folder is /tmp to its reader.
fn home(printed: &str, at: &Path) -> String {
    let printed = printed.replace(&format!("{}/", at.display()), TEMPORARY);
    printed.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn a_page_with_a_command_that_is_not_named_is_not_run() {
    for command in ["dpkg --install a.deb", "ls | sudo dpkg --install a.deb", "rm -r /usr"] {
        let text = format!("```sh\nls\n```\n\n```sh\nls\n{command}\n```\n");
        let page = Page::of("docs/none.md".to_owned(), text);
        let said = run_by(&page, |_, _| unreachable!("it is run")).unwrap_err();
        assert!(said.contains(command) && said.contains("named.rs"), "{said}");
    }
}

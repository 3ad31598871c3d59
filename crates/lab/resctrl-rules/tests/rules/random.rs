//! Random operations on the tree keep its properties.

use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::{Event, Kernel, Platform};
use fairways_resctrl_rules::rules::{GroupFile, Node};
use proptest::prelude::*;

use crate::shell::{SHELL, Shell};
use crate::sound::{check, nodes, part, read};

#[derive(Clone, Debug)]
enum Step {
    Mkdir(usize, usize),
    Rmdir(usize),
    Rename(usize, usize, usize),
    Write(usize, Vec<u8>),
    Fork(i32, i32),
    Exit(i32),
    Offline(u32),
    Online(u32),
    Count(u32, u32, u64),
    Seconds,
    Remount(usize),
}

const NAMES: [&str; 6] = ["a", "b", "c", "mon_groups", "info", "x\ny"];
const OPTIONS: [&str; 4] = ["", "cdp", "debug", "mba_MBps"];

fn mask(low: u32, n: u32) -> u32 {
    ((1 << n) - 1) << low & 0xfff_u32
}

/// Text that is nearly right more often than not.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "L3:",
        "L3:0=5",
        "L3CODE:",
        "L3DATA:",
        "MB:",
        "0=",
        "1=",
        "7=",
        ";",
        "\n",
        "f",
        "f0",
        "c00",
        "fff",
        "0",
        "50",
        "100",
        "101",
        "1000",
        ",",
        "-",
        "0-3",
        " ",
        "exclusive",
        "shareable",
        "pseudo-locksetup",
        "mbm_total_bytes",
        "default",
        "\0",
        "all",
        "N",
        "0x",
        "x",
    ]);
    prop_oneof![
        6 => prop::collection::vec(word, 0..8).prop_map(|words| (words.concat() + "\n").into_bytes()),
        2 => (0..10_u32, 1..6_u32, 0..12_u32, 1..6_u32).prop_map(|(low, n, low1, n1)| {
            format!("L3:0={:x};1={:x}\n", mask(low, n), mask(low1, n1)).into_bytes()
        }),
        2 => prop::sample::select(vec!["exclusive\n", "shareable\n", "100,101\n", "200\n", "2-3\n", "1\n"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (0..5000_usize).prop_map(|len| vec![b'x'; len]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<usize>(), 0..NAMES.len()).prop_map(|(at, name)| Step::Mkdir(at, name)),
        2 => any::<usize>().prop_map(Step::Rmdir),
        2 => (any::<usize>(), any::<usize>(), 0..NAMES.len()).prop_map(|(a, b, c)| Step::Rename(a, b, c)),
        20 => (any::<usize>(), text()).prop_map(|(at, text)| Step::Write(at, text)),
        1 => (SHELL..SHELL + 4, 200..202).prop_map(|(parent, child)| Step::Fork(parent, child)),
        1 => (SHELL..SHELL + 4).prop_map(Step::Exit),
        1 => (0..5_u32).prop_map(Step::Offline),
        1 => (0..5_u32).prop_map(Step::Online),
        1 => (0..5_u32, 0..2_u32, 0..1_u64 << 24).prop_map(|(a, b, c)| Step::Count(a, b, c)),
        1 => Just(Step::Seconds),
        1 => (0..OPTIONS.len()).prop_map(Step::Remount),
    ]
}

fn is_group_folder(node: &&Node) -> bool {
    matches!(node, Node::Group(_) | Node::MonGroups(_))
}

fn take(shell: &mut Shell, step: &Step) {
    let nodes = nodes(&shell.resctrl);
    let pick = |at: usize, of: fn(&&Node) -> bool| {
        let some: Vec<_> = nodes.iter().filter(of).copied().collect();
        some[at % some.len()]
    };
    let Shell { resctrl, world, caller } = shell;
    match *step {
        Step::Mkdir(at, name) => {
            let parent =
                if at % 4 == 0 { pick(at / 4, |_| true) } else { pick(at / 4, is_group_folder) };
            let _ = resctrl.mkdir(parent, NAMES[name], caller, world);
        }
        Step::Rmdir(at) => {
            let _ = resctrl.rmdir(pick(at, |_| true), world);
        }
        Step::Rename(from, to, name) => {
            let from = pick(from, is_group_folder);
            let child = resctrl.children(from).last().map(|(name, _)| name.clone());
            let to = pick(to, is_group_folder);
            let _ = resctrl.rename(from, &child.unwrap_or_default(), to, NAMES[name], world);
        }
        Step::Write(at, ref text) => {
            let node = if at % 8 == 0 {
                pick(at / 8, |node| !node.is_directory())
            } else {
                pick(
                    at / 8,
                    |node| matches!(node, Node::File(_, file) if !matches!(file, GroupFile::Size)),
                )
            };
            let _ = resctrl.write(node, text, caller, world);
        }
        Step::Fork(parent, child) => resctrl.forked(parent, child),
        Step::Exit(thread) => resctrl.exited(thread),
        Step::Offline(cpu) => {
            if resctrl.online().len() > 1 {
                resctrl.cpu_offline(cpu);
            }
        }
        Step::Online(cpu) => resctrl.cpu_online(cpu, world),
        Step::Count(rmid, domain, bytes) => {
            for event in Event::ALL {
                world.counts.insert((rmid, domain, event), Reading::Value(bytes));
            }
        }
        Step::Seconds => {
            resctrl.check_limbo(world);
            resctrl.check_bandwidth(world);
        }
        Step::Remount(options) => {
            resctrl.unmount();
            resctrl.mount(OPTIONS[options], world).expect("the lab's machine can");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every CPU that is online is in one CTRL_MON group; classes and ids each belong to one group;
    /// masks are legal; an exclusive group's overlap no other's, until a domain comes back, which
    /// the kernel lets overlap.
    #[test]
    fn whatever_is_done_the_tree_is_sound(
        steps in prop::collection::vec(step(), 1..60),
        kernel in 0..4_usize,
        options in 0..2_usize,
        prepared in any::<bool>(),
    ) {
        let kernel = Kernel::all()[kernel].clone();
        let platform = Platform::lab().with_rmids(6).with_kernel(kernel.clone());
        let mut shell = Shell::on(platform, OPTIONS[options]);
        if options == 0 && prepared {
            part(&mut shell);
        }
        let mut returned = false;
        for step in &steps {
            if matches!(step, Step::Remount(2)) && !kernel.debug_option {
                continue;
            }
            take(&mut shell, step);
            returned |= matches!(step, Step::Online(_));
            check(&mut shell, !returned);
        }
    }

    /// The same steps lead to the same tree.
    #[test]
    fn nothing_is_random(steps in prop::collection::vec(step(), 1..40)) {
        let run = || {
            let mut shell = Shell::mounted("debug");
            steps.iter().for_each(|step| take(&mut shell, step));
            let all = nodes(&shell.resctrl);
            let files = all.into_iter().filter(|node| !node.is_directory());
            files.map(|node| (node, read(&mut shell, node))).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}

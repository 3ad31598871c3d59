//! What this process may do.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::facts::{Facts, field};
use super::{Finding, State};

/// The finding that is missing where resctrl's files cannot be written.
pub(super) const ID: &str = "permission";

/// Capabilities by their numbers (include/uapi/linux/capability.h).
#[derive(Clone, Copy)]
pub(super) enum Capability {
    DacOverride = 1,
    NetAdmin = 12,
    SysAdmin = 21,
    SysNice = 23,
    Perfmon = 38,
    Bpf = 39,
}

/// Who this process is.
pub(super) struct Who {
    /// Its effective user.
    pub(super) user: u32,
    effective: u64,
}

impl Who {
    /// As `/proc/self/status` tells it.
    pub(super) fn read(facts: &Facts) -> Option<Self> {
        let status = facts.files.text("proc/self/status")?;
        let user = field(&status, "Uid")?.split_whitespace().nth(1)?.parse().ok()?;
        let effective = u64::from_str_radix(&field(&status, "CapEff")?, 16).ok()?;
        Some(Self { user, effective })
    }

    pub(super) fn can(&self, capability: Capability) -> bool {
        self.effective >> (capability as u32) & 1 == 1
    }
}

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let who = Who::read(facts);
    findings.push(capabilities(who.as_ref()));
    if let Some(resctrl) = &facts.resctrl {
        let why = "groups are made and files are written in it";
        let file = resctrl.root.join("schemata");
        findings.push(match (who, std::fs::metadata(&file)) {
            (Some(who), Ok(meta)) => {
                let by_owner = meta.uid() == who.user && meta.mode() & 0o200 != 0;
                let may = by_owner || meta.mode() & 0o002 != 0 || who.can(Capability::DacOverride);
                let read_only = resctrl
                    .mounted
                    .as_ref()
                    .is_some_and(|(_, options)| options.iter().any(|option| option == "ro"));
                let folder = std::fs::metadata(&resctrl.root).ok();
                let makes = who.can(Capability::DacOverride)
                    || folder.is_some_and(|meta| meta.mode() & 0o200 != 0);
                if may && !read_only && !makes {
                    groups_are_not_made(&resctrl.root, why)
                } else {
                    permission(may, read_only, &who, why)
                }
            }
            _ => {
                let found = "/proc/self/status or the root's schemata cannot be read";
                Finding::new(ID, State::Unknown, found, why)
            }
        });
    }
}

/// The kernel makes resctrl's root without write permission, which root passes over with CAP_DAC_OVERRIDE alone.
fn groups_are_not_made(root: &Path, why: &'static str) -> Finding {
    let root = root.display();
    let found =
        format!("files can be written and no groups made: {root} is read-only for its owner");
    Finding::new(ID, State::Missing, found, why)
        .remedy(format!("chmod u+w {root} {root}/mon_groups, or give it CAP_DAC_OVERRIDE"))
}

fn permission(may: bool, read_only: bool, who: &Who, why: &'static str) -> Finding {
    let user = who.user;
    if read_only {
        return Finding::new(ID, State::Missing, "resctrl is mounted read-only", why)
            .remedy("mount -o remount,rw /sys/fs/resctrl");
    }
    if !may {
        let found = format!("user {user} may not write to it");
        return Finding::new(ID, State::Missing, found, why)
            .remedy("run it as root, or give it CAP_DAC_OVERRIDE");
    }
    // rdtgroup_task_write_permission: euid 0, or the task's own user.
    if user != 0 {
        let found = format!("user {user} may write to it, and may move only tasks of its own");
        return Finding::new(ID, State::Limited, found, why).remedy("run it as root");
    }
    Finding::new(ID, State::Ok, "root may write to it and move every task", why)
}

fn capabilities(who: Option<&Who>) -> Finding {
    let why = "what each is for: files of others, arrivals at once, counting, CPU time";
    let Some(who) = who else {
        let found = "/proc/self/status cannot be read";
        return Finding::new("capabilities", State::Unknown, found, why);
    };
    let wanted = [
        ("CAP_DAC_OVERRIDE", who.can(Capability::DacOverride)),
        ("CAP_NET_ADMIN", who.can(Capability::NetAdmin)),
        ("CAP_PERFMON", who.can(Capability::Perfmon) || who.can(Capability::SysAdmin)),
        ("CAP_SYS_NICE", who.can(Capability::SysNice)),
    ];
    let list = |has: bool| {
        let names = wanted.iter().filter(|(_, is)| *is == has).map(|&(name, _)| name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (has, lacks) = (list(true), list(false));
    if lacks.is_empty() {
        return Finding::new("capabilities", State::Ok, has, why);
    }
    let found = format!("without {lacks}");
    Finding::new("capabilities", State::Limited, found, why)
        .remedy(format!("run it as root, or add {lacks} (systemd: AmbientCapabilities=)"))
}

//! The kernel's configuration and command line.

use super::facts::Facts;
use super::files::unzipped;
use super::{Finding, FindingState};

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let release = facts.files.line("proc/sys/kernel/osrelease");
    findings.push(version(release.as_deref(), facts.kernel));
    findings.push(options(facts, release.as_deref().unwrap_or_default()));
    findings.push(file_system(facts));
    findings.push(command_line(facts));
}

fn version(release: Option<&str>, numbers: Option<(u32, u32)>) -> Finding {
    let why = "resctrl came with Linux 4.10, and MON groups that can be renamed with 6.5";
    let Some(release) = release else {
        let found = "/proc/sys/kernel/osrelease cannot be read";
        return Finding::new("kernel", FindingState::Unknown, found, why);
    };
    let Some(version) = numbers else {
        return Finding::new("kernel", FindingState::Unknown, format!("release {release}"), why);
    };
    let found = format!("Linux {release}");
    if version < (4, 10) {
        Finding::new("kernel", FindingState::Missing, found, why)
            .remedy("Linux 4.10 or later; better 6.5")
    } else if version < (6, 5) {
        let remedy = "Linux 6.5 or later keeps a program's RMID when its cluster changes";
        Finding::new("kernel", FindingState::Limited, found, why).remedy(remedy)
    } else {
        Finding::new("kernel", FindingState::Ok, found, why)
    }
}

/// The words of every `rdt=` on the kernel's command line.
pub(super) fn rdt_words(command_line: &str) -> Vec<&str> {
    let options = command_line.split_whitespace().filter_map(|word| word.strip_prefix("rdt="));
    options.flat_map(|options| options.split(',')).filter(|word| !word.is_empty()).collect()
}

/// An option that a kernel must be built with.
struct ConfigOption {
    /// What needs it.
    purpose: &'static str,
    /// Its names, as they changed over time.
    names: &'static [&'static str],
    /// Whether no program can be managed without it.
    needed: bool,
}

impl ConfigOption {
    /// Whether a kernel's configuration sets it.
    fn is_set(&self, configuration: &str) -> bool {
        configuration
            .lines()
            .filter_map(|line| line.split_once('='))
            .any(|(name, _)| self.names.contains(&name))
    }
}

const X86: ConfigOption = ConfigOption {
    purpose: "resctrl",
    names: &["CONFIG_X86_CPU_RESCTRL", "CONFIG_X86_RESCTRL", "CONFIG_RESCTRL", "CONFIG_INTEL_RDT"],
    needed: true,
};
const ARM: ConfigOption =
    ConfigOption { purpose: "MPAM", names: &["CONFIG_ARM64_MPAM"], needed: true };
const ANY: [ConfigOption; 6] = [
    ConfigOption { purpose: "cgroups", names: &["CONFIG_CGROUPS"], needed: true },
    ConfigOption { purpose: "perf", names: &["CONFIG_PERF_EVENTS"], needed: true },
    ConfigOption {
        purpose: "/proc/PID/cpu_resctrl_groups",
        names: &["CONFIG_PROC_CPU_RESCTRL"],
        needed: false,
    },
    ConfigOption { purpose: "found at once", names: &["CONFIG_PROC_EVENTS"], needed: false },
    ConfigOption { purpose: "sched_ext", names: &["CONFIG_SCHED_CLASS_EXT"], needed: false },
    ConfigOption { purpose: "BPF's types", names: &["CONFIG_DEBUG_INFO_BTF"], needed: false },
];

/// The options that the kernel was built with, and where they stand.
pub(super) fn configuration(facts: &Facts) -> Option<(String, &'static str)> {
    let zipped =
        unzipped(&facts.files.path("proc/config.gz")).map(|text| (text, "/proc/config.gz"));
    let release = facts.files.line("proc/sys/kernel/osrelease").unwrap_or_default();
    let boot = format!("boot/config-{release}");
    zipped.or_else(|| facts.files.text(&boot).map(|text| (text, "/boot")))
}

fn options(facts: &Facts, release: &str) -> Finding {
    let (id, why) =
        ("kernel-configuration", "a feature that the kernel was built without cannot be used");
    let Some((text, from)) = configuration(facts) else {
        let found = format!("neither /proc/config.gz nor /boot/config-{release} can be read");
        return Finding::new(id, FindingState::Unknown, found, why);
    };
    let of_the_machine: &[ConfigOption] = match facts.is_x86() {
        Some(true) => &[X86],
        Some(false) => &[ARM],
        None => &[],
    };
    let wanted = of_the_machine.iter().chain(&ANY);
    let absent: Vec<&ConfigOption> = wanted.filter(|wanted| !wanted.is_set(&text)).collect();
    let names: Vec<&str> = absent.iter().map(|wanted| wanted.names[0]).collect();
    let found = match names.as_slice() {
        [] => format!("{from}: all options that Fairways uses"),
        names => format!("{from}: without {}", names.join(", ")),
    };
    let needed: Vec<&&ConfigOption> = absent.iter().filter(|wanted| wanted.needed).collect();
    if needed.is_empty() {
        let state = if absent.is_empty() { FindingState::Ok } else { FindingState::Limited };
        let finding = Finding::new(id, state, found, why);
        let lost = absent.iter().map(|wanted| wanted.purpose).collect::<Vec<_>>().join(", ");
        let remedy = format!("a kernel built with them, if you want: {lost}");
        return if absent.is_empty() { finding } else { finding.remedy(remedy) };
    }
    let names = needed.iter().map(|wanted| format!("{}=y", wanted.names[0]));
    let remedy = format!("a kernel built with {}", names.collect::<Vec<_>>().join(", "));
    Finding::new(id, FindingState::Missing, found, why).remedy(remedy)
}

fn file_system(facts: &Facts) -> Finding {
    let (id, why) =
        ("kernel-file-system", "a kernel registers resctrl only if it found the hardware");
    match facts.registered {
        None => {
            return Finding::new(
                id,
                FindingState::Unknown,
                "/proc/filesystems cannot be read",
                why,
            );
        }
        Some(true) => {
            return Finding::new(id, FindingState::Ok, "/proc/filesystems has resctrl", why);
        }
        Some(false) => {}
    }
    let remedy =
        "see cpu-allocation, kernel-configuration, and `dmesg | grep -i -e resctrl -e mpam`";
    Finding::new(id, FindingState::Missing, "/proc/filesystems has no resctrl", why).remedy(remedy)
}

/// Turns MPAM off.
const NO_MPAM: &str = "arm64.nompam";

/// `rdt=!l3cat,mba` and `arm64.nompam`: kernel-parameters.txt.
fn command_line(facts: &Facts) -> Finding {
    let why = "rdt= and arm64.nompam turn off features of the hardware";
    let id = "kernel-command-line";
    let Some(text) = facts.files.line("proc/cmdline") else {
        return Finding::new(id, FindingState::Unknown, "/proc/cmdline cannot be read", why);
    };
    if text.split_whitespace().any(|word| word == NO_MPAM) {
        let remedy = format!("take {NO_MPAM} off the boot loader's configuration, and reboot");
        return Finding::new(id, FindingState::Missing, NO_MPAM, why).remedy(remedy);
    }
    let options = rdt_words(&text);
    let off = options.iter().filter_map(|option| option.strip_prefix('!'));
    // Of `l3cat` and `!l3cat` the first holds.
    let off: Vec<&str> = off.filter(|name| !options.contains(name)).collect();
    if options.is_empty() {
        return Finding::new(id, FindingState::Ok, "it turns nothing off", why);
    }
    let found = format!("rdt={}", options.join(","));
    if off.is_empty() {
        return Finding::new(id, FindingState::Ok, found, why);
    }
    let state = if off.contains(&"l3cat") { FindingState::Missing } else { FindingState::Limited };
    let marked = off.iter().map(|name| format!("!{name}")).collect::<Vec<_>>().join(",");
    let remedy = format!("take {marked} off rdt= in the boot loader's configuration, and reboot");
    Finding::new(id, state, found, why).remedy(remedy)
}

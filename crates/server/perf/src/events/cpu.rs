//! Which processor this is.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// The processor's maker and model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Intel: `cpu family` and `model`.
    Intel {
        /// `cpu family`.
        family: u32,
        /// `model`.
        model: u32,
    },
    /// AMD, likewise.
    Amd {
        /// `cpu family`.
        family: u32,
        /// `model`.
        model: u32,
    },
    /// Arm's architecture: `CPU implementer` and `CPU part`.
    Arm {
        /// `CPU implementer`.
        implementer: u32,
        /// `CPU part`.
        part: u32,
    },
    /// Another maker, as named in /proc/cpuinfo; empty if the file names none.
    Other(String),
}

/// A processor, as described in /proc/cpuinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its maker and model.
    pub vendor: Vendor,
    /// Whether its cores are of several kinds, each with its own counters.
    pub hybrid: bool,
}

impl Cpu {
    /// Reads `cpuinfo` (/proc/cpuinfo), and learns from `devices` (/sys/bus/event_source/devices)
    /// whether the cores are of several kinds: Intel's two counter devices are `cpu_core` and
    /// `cpu_atom`; Arm's parts differ within `cpuinfo`.
    ///
    /// # Errors
    /// If `cpuinfo` can't be read.
    pub fn read(cpuinfo: &Path, devices: &Path) -> io::Result<Self> {
        let bytes = fs::read(cpuinfo)?;
        let mut cpu = Self::parse(&String::from_utf8_lossy(&bytes));
        cpu.hybrid |= devices.join("cpu_core").exists() && devices.join("cpu_atom").exists();
        Ok(cpu)
    }

    fn parse(cpuinfo: &str) -> Self {
        let vendor = match values(cpuinfo, "vendor_id").next() {
            Some(name @ ("GenuineIntel" | "AuthenticAMD")) => {
                match (number(cpuinfo, "cpu family"), number(cpuinfo, "model")) {
                    (Some(family), Some(model)) if name == "GenuineIntel" => {
                        Vendor::Intel { family, model }
                    }
                    (Some(family), Some(model)) => Vendor::Amd { family, model },
                    _ => Vendor::Other(name.to_owned()),
                }
            }
            Some(name) => Vendor::Other(name.to_owned()),
            None => match (number(cpuinfo, "CPU implementer"), number(cpuinfo, "CPU part")) {
                (Some(implementer), Some(part)) => Vendor::Arm { implementer, part },
                _ => Vendor::Other(
                    values(cpuinfo, "model name").next().unwrap_or_default().to_owned(),
                ),
            },
        };
        let mut parts = values(cpuinfo, "CPU part");
        let first = parts.next();
        Self { vendor, hybrid: parts.any(|other| Some(other) != first) }
    }
}

/// The values of a key, in the file's order.
fn values<'a>(cpuinfo: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.filter(move |(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// A key's first value: decimal, as x86 writes numbers, or hexadecimal with `0x`, as Arm does.
fn number(cpuinfo: &str, key: &str) -> Option<u32> {
    let text = values(cpuinfo, key).next()?;
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.vendor {
            Vendor::Intel { family, model } => {
                write!(f, "Intel family {family} model {model:#04x}")
            }
            Vendor::Amd { family, model } => {
                write!(f, "AMD family {family:#04x} model {model:#04x}")
            }
            Vendor::Arm { implementer, part } => {
                write!(f, "Arm implementer {implementer:#04x} part {part:#05x}")
            }
            Vendor::Other(name) if name.is_empty() => f.write_str("an unknown processor"),
            Vendor::Other(name) => f.write_str(name),
        }?;
        f.write_str(if self.hybrid { ", with cores of several kinds" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::super::for_cpu;
    use super::*;

    fn x86(vendor: &str, family: u32, model: u32) -> Cpu {
        let text = format!(
            "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: X\n"
        );
        Cpu::parse(&format!("{text}\n{text}"))
    }

    fn arm(parts: &[u32]) -> Cpu {
        Cpu::parse(
            &parts
                .iter()
                .map(|part| {
                    format!("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: {part:#x}\n\n")
                })
                .collect::<String>(),
        )
    }

    #[test]
    fn each_generation_finds_its_table() {
        fn of(cpu: Cpu) -> &'static str {
            for_cpu(&cpu).name
        }
        assert_eq!(of(x86("GenuineIntel", 6, 63)), "Haswell");
        assert_eq!(of(x86("GenuineIntel", 6, 79)), "Broadwell");
        assert_eq!(of(x86("GenuineIntel", 6, 85)), "Skylake, Cascade Lake");
        assert_eq!(of(x86("GenuineIntel", 6, 106)), "Ice Lake, Rocket Lake, Tiger Lake");
        assert_eq!(of(x86("GenuineIntel", 6, 143)), "Sapphire Rapids, Emerald Rapids");
        assert_eq!(of(x86("GenuineIntel", 6, 173)), "Granite Rapids");
        assert_eq!(of(x86("GenuineIntel", 6, 175)), "Sierra Forest");
        assert_eq!(of(x86("AuthenticAMD", 23, 1)), "Zen 1");
        assert_eq!(of(x86("AuthenticAMD", 23, 49)), "Zen 2");
        assert_eq!(of(x86("AuthenticAMD", 25, 1)), "Zen 3");
        assert_eq!(of(x86("AuthenticAMD", 25, 17)), "Zen 4, Zen 5");
        assert_eq!(of(x86("AuthenticAMD", 26, 2)), "Zen 4, Zen 5");
        assert_eq!(of(arm(&[0xd0c, 0xd0c])), "Neoverse N1");
        assert_eq!(of(arm(&[0xd4f])), "Neoverse V1, N2, V2");
        assert_eq!(of(arm(&[0xd84])), "Neoverse V3");
    }

    #[test]
    fn an_unknown_processor_is_counted_by_generic_events() {
        for cpu in [
            x86("GenuineIntel", 19, 1),
            x86("AuthenticAMD", 16, 2),
            x86("CentaurHauls", 7, 59),
            arm(&[0xd8e]),
            Cpu::parse(""),
        ] {
            assert_eq!(for_cpu(&cpu).name, "generic events", "{cpu}");
        }
    }

    #[test]
    fn cores_of_several_kinds_count_nothing_rather_than_too_little() {
        let folder = tempfile::tempdir().unwrap();
        let (cpuinfo, devices) = (folder.path().join("cpuinfo"), folder.path().join("devices"));
        fs::write(&cpuinfo, "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 151\n").unwrap();
        assert!(!Cpu::read(&cpuinfo, &devices).unwrap().hybrid);
        fs::create_dir_all(devices.join("cpu_core")).unwrap();
        fs::create_dir_all(devices.join("cpu_atom")).unwrap();
        let cpu = Cpu::read(&cpuinfo, &devices).unwrap();
        let chosen = for_cpu(&cpu);
        assert!(chosen.events.is_empty() && chosen.lost.len() == 8, "{chosen:?}");
        assert!(for_cpu(&arm(&[0xd05, 0xd0b])).events.is_empty());
        assert_eq!(cpu.to_string(), "Intel family 6 model 0x97, with cores of several kinds");
    }
}

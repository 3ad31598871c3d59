//! The command line of the kernel lab.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use fairways_kernel_lab::{Counters, Error, Guest, Kernel, Lab, Processor, Topology, Vendor};

/// Boots a real Linux kernel under software emulation and runs a script in it.
///
/// Prints the script's output and exits with its code. The first time, fetches the kernel and, as
/// root, installs what is missing (QEMU, gdb, busybox): half a minute. Kernels are kept in
/// target/kernel-lab, or in FAIRWAYS_KERNEL_LAB.
///
///   cargo run -p fairways-kernel-lab -- --rdt JOB.sh target/debug/fairways:/bin/fairways
#[derive(Debug, Parser)]
#[command(name = "fairways-kernel-lab", verbatim_doc_comment)]
struct Args {
    /// The script for busybox's shell, run as root in /root; or `prepare`, which only fetches, or
    /// `newest`, which only names the kernel's package
    job: PathBuf,

    /// Files and directories to put in, programs with the libraries that they load
    #[arg(value_name = "FILE[:DEST]")]
    files: Vec<String>,

    /// Which kernel: the newest of Debian sid, Debian 13's (6.12), or Debian 12's (6.1)
    #[arg(long, value_enum, default_value = "sid")]
    kernel: KernelName,

    /// A processor with cache and bandwidth allocation and monitoring (counters read zero)
    #[arg(long)]
    rdt: bool,

    /// Monitoring counters grow, and writes to registers of masks and bandwidths are listed at the
    /// end; slower
    #[arg(long, requires = "rdt")]
    mon: bool,

    /// AMD's processor: masks with holes, bandwidths in 1/8 GB/s
    #[arg(long, requires = "rdt")]
    amd: bool,

    /// Bits of an L3 mask
    #[arg(long, requires = "rdt", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=32))]
    bits: u32,

    /// Bits of the L3 mask that others may fill, too, hexadecimal [default: the two highest]
    #[arg(long, requires = "rdt", value_parser = hexadecimal)]
    shareable: Option<u32>,

    /// L3 masks may have holes
    #[arg(long, requires = "rdt")]
    sparse: bool,

    /// No code and data prioritisation
    #[arg(long, requires = "rdt")]
    no_cdp: bool,

    /// L2 allocation, with 8 bits
    #[arg(long, requires = "rdt")]
    l2: bool,

    /// No memory bandwidth allocation
    #[arg(long, requires = "rdt")]
    no_mba: bool,

    /// Classes of service
    #[arg(long, requires = "rdt", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=32))]
    closids: u32,

    /// Resource monitoring ids
    #[arg(long, requires = "rdt", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=8192))]
    rmids: u32,

    /// Sockets (L3 domains), cores of each, threads of each
    #[arg(long, default_value = "2,2,1", value_parser = topology)]
    topology: Topology,

    /// Memory in MiB
    #[arg(long, default_value_t = 1024)]
    memory: u32,

    /// How long it may take
    #[arg(long, default_value_t = 240)]
    seconds: u64,

    /// More for the kernel's command line
    #[arg(long, default_value = "")]
    parameters: String,

    /// Files to bring out, into the current directory
    #[arg(long, value_name = "FILE")]
    take: Vec<PathBuf>,

    /// The kernel's messages, too
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KernelName {
    Sid,
    Trixie,
    Bookworm,
}

fn hexadecimal(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16).map_err(|_| "a hexadecimal number was expected".into())
}

fn topology(text: &str) -> Result<Topology, String> {
    let numbers: Vec<u32> = text.split(',').filter_map(|n| n.parse().ok()).collect();
    match numbers[..] {
        [sockets @ 1..=8, cores @ 1..=16, threads @ 1..=2] => {
            Ok(Topology { sockets, cores, threads })
        }
        _ => Err("SOCKETS,CORES,THREADS was expected, at most 8,16,2".into()),
    }
}

impl Args {
    fn processor(&self) -> Processor {
        let mut p = Processor { topology: self.topology, ..Processor::default() };
        if self.amd {
            p.vendor = Vendor::Amd;
        }
        if let Some(l3) = &mut p.l3 {
            l3.bits = self.bits;
            // A mask of one bit has none left to share.
            let highest = if self.bits > 2 { 0b11 << (self.bits - 2) } else { 0 };
            l3.shareable = self.shareable.unwrap_or(highest);
            (l3.sparse, l3.cdp, l3.closids) = (self.sparse, !self.no_cdp, self.closids);
        }
        if self.l2 {
            p.l2 = p.l3.map(|l3| fairways_kernel_lab::Cache { bits: 8, shareable: 0, ..l3 });
        }
        if let Some(bandwidth) = &mut p.bandwidth {
            bandwidth.closids = self.closids;
        }
        if self.no_mba {
            p.bandwidth = None;
        }
        if let Some(monitoring) = &mut p.monitoring {
            monitoring.rmids = self.rmids;
        }
        if self.mon {
            (p.counters, p.registers) = (Counters::Growing, true);
        }
        p
    }

    fn run(&self) -> Result<u8, Error> {
        let kernel = match self.kernel {
            KernelName::Sid => Kernel::Sid,
            KernelName::Trixie => Kernel::Trixie,
            KernelName::Bookworm => Kernel::Bookworm,
        };
        if self.job.as_os_str() == "newest" {
            print(&kernel.newest()?);
            return Ok(0);
        }
        let lab = Lab::prepare(kernel)?;
        if self.job.as_os_str() == "prepare" {
            print(lab.version());
            return Ok(0);
        }
        let job = fs::read_to_string(&self.job)
            .map_err(|source| Error::File { path: self.job.clone(), source })?;
        let mut guest = Guest::new()
            .job(job)
            .megabytes(self.memory)
            .seconds(self.seconds)
            .parameters(&self.parameters)
            .echo(print, self.verbose);
        if self.rdt || self.mon {
            guest = guest.processor(self.processor());
        }
        for file in &self.files {
            let (from, to) = file.split_once(':').unwrap_or((file, file));
            guest = guest.file(from, to);
        }
        for file in &self.take {
            guest = guest.take(file);
        }
        let outcome = guest.run(&lab)?;
        for write in &outcome.registers {
            print(&format!("register {:x} = {:x} (cpu {})", write.number, write.value, write.cpu));
        }
        for (name, data) in &outcome.files {
            let name = name.rsplit('/').next().unwrap_or(name);
            fs::write(name, data).map_err(|source| Error::File { path: name.into(), source })?;
        }
        Ok(u8::try_from(outcome.code).unwrap_or(1))
    }
}

fn print(line: &str) {
    let mut output = std::io::stdout().lock();
    // A reader that has gone needs no error.
    let _ = writeln!(output, "{line}");
}

fn main() -> ExitCode {
    match Args::parse().run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fairways-kernel-lab: {error}");
            ExitCode::FAILURE
        }
    }
}

//! Compiles the BPF programs of src/bpf into objects that the crate includes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's packages that this needs.
const PACKAGES: &str = "clang-19 libelf-dev zlib1g-dev pkg-config";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-changed=tests/bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_SCHED_EXT").is_none() {
        return Ok(());
    }
    let clang = clang()?;
    let headers = env::var_os("DEP_BPF_INCLUDE").ok_or("libbpf-sys names no folder of headers")?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    // The program that judges the scheduler in tests is not part of it.
    let folders = [Path::new("src/bpf").read_dir()?, Path::new("tests/bpf").read_dir()?];
    for entry in folders.into_iter().flatten() {
        let source = entry?.path();
        let Some(name) = source.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(name) = name.strip_suffix(".bpf.c") else { continue };
        let object = out.join(format!("{name}.bpf.o"));
        let status = Command::new(&clang)
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"])
            .arg("-I")
            .arg(&headers)
            .arg("-Isrc/bpf")
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status()?;
        if !status.success() {
            return Err(format!("{} does not compile {}", clang.display(), source.display()).into());
        }
    }
    Ok(())
}

fn works(clang: &PathBuf) -> bool {
    let version = Command::new(clang).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// The compiler: `CLANG`, clang 19, or any that exists.
fn clang() -> Result<PathBuf, String> {
    let named = env::var_os("CLANG").map(PathBuf::from);
    let usual = ["clang-19", "clang-20", "clang-21", "clang"].map(PathBuf::from);
    let found = match named {
        Some(named) => works(&named).then_some(named),
        None => usual.into_iter().find(works),
    };
    found.ok_or_else(|| {
        format!("feature sched-ext needs clang: apt-get install {PACKAGES}, or set CLANG")
    })
}

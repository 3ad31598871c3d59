//! Builds the plugin, which the launcher includes: an installed program is one file.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

const PLUGIN: &str = "libfairways_tracer_plugin.so";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The plugin is built with this crate, without the launcher.
    if env::var_os("CARGO_FEATURE_LAUNCH").is_none() {
        return Ok(());
    }
    let plugin = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../tracer-plugin");
    for part in ["src", "../tracer-plugin/src", "../tracer-plugin/Cargo.toml"] {
        println!("cargo::rerun-if-changed={part}");
    }
    let out = env::var("OUT_DIR")?;
    let (folder, target) = (Path::new(&out).join("plugin"), env::var("TARGET")?);
    // Without the lints and coverage of the rest: this is loaded into another program.
    let status = Command::new(env::var("CARGO")?)
        .args(["build", "--release", "--quiet", "--target", &target, "--manifest-path"])
        .arg(plugin.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        // As fast in a program that is shipped as in one that is not.
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
        .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "false")
        // Across crates: each reference calls the ring's code, which takes a fifth less then.
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_STRIP", "true")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env_remove("CARGO_FEATURE_LAUNCH")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status()?;
    if !status.success() {
        return Err("the plugin could not be built".into());
    }
    fs::copy(folder.join(target).join("release").join(PLUGIN), Path::new(&out).join(PLUGIN))?;
    Ok(())
}

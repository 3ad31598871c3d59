//! dCat's Table 4 with a real redis-server, on the paper's chip.
//!
//! `cargo run --release -p fairways-experiments --example redis [-- ROUNDS [TIME-SCALE]]` needs
//! redis-server and qemu-user. 24 rounds of dCat at a tenth of their time, three times, take some
//! minutes.
#![allow(clippy::print_stdout)]

use fairways_chip::{Settings, preset};
use fairways_experiments::redis::{Table4, speed};
use fairways_policy::by_name;

/// Runs of each policy: they differ, because real clients differ.
const RUNS: u32 = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    fn argument(place: usize, default: u32) -> Result<u32, std::num::ParseIntError> {
        std::env::args().nth(place).map_or(Ok(default), |text| text.parse::<u32>())
    }
    let (rounds, time_scale) = (argument(1, 24)?, argument(2, 10)?);
    let chip = preset::preset("xeon-e5").ok_or("a preset")?;
    let settings = Settings { time_scale, ..Settings::new(chip) };
    let table = Table4::published(7000);
    let folder = tempfile::tempdir()?;
    table.fill(folder.path())?;
    println!(
        "policy,run,ways_at_end,most_ways,ipc,mpki,speed,ways_of_all,ways_by_round,ipc_by_round"
    );
    let policies = [("stock", rounds / 2), ("static", rounds / 2), ("dcat", rounds)];
    for (run, (name, rounds)) in (1..=RUNS).flat_map(|run| policies.map(|one| (run, one))) {
        let mut policy = by_name(name).ok_or("a policy")?;
        let all = table.run(folder.path(), settings, policy.as_mut(), rounds)?;
        let server = &all[0];
        let counted = &server[server.len() - 5..];
        let (mut instructions, mut cycles, mut misses) = (0, 0.0, 0);
        for moment in counted {
            instructions += moment.counted.instructions;
            cycles += moment.counted.cycles();
            misses += moment.counted.llc_misses;
        }
        let ways: Vec<String> = server.iter().map(|moment| moment.ways.to_string()).collect();
        let ipc = server.iter().map(|moment| format!("{:.3}", moment.ipc().unwrap_or(0.0)));
        let ipc: Vec<String> = ipc.collect();
        let ends = all.iter().map(|moments| moments.last().map_or(0, |m| m.ways).to_string());
        println!(
            "{name},{run},{},{},{:.3},{:.2},{:.4},{},{},{}",
            server.last().map_or(0, |moment| moment.ways),
            server.iter().map(|moment| moment.ways).max().unwrap_or(0),
            instructions as f64 / cycles,
            1000.0 * misses as f64 / instructions as f64,
            speed(&settings, server, 5),
            ends.collect::<Vec<_>>().join(" "),
            ways.join(" "),
            ipc.join(" "),
        );
    }
    Ok(())
}

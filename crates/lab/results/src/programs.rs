//! The list of programs that can be named, for people and for programs.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_core::Q32;
use fairways_experiments::classes;
use fairways_policy::{Reference, slowdown_table};
use fairways_profiles::ProgramCatalog;
use serde::Serialize;

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;

/// Which other programs there are.
const ON_CHIPS: &str = "A chip (--machine chip:PRESET) also runs models (mlr:8M, mload:60M, silo-like), streams \
     (stream:FILE) and real programs (live:COMMAND): docs/chip.md.";

#[derive(Serialize)]
struct Listed<'a> {
    schema: u32,
    profiles: &'a str,
    ways: u32,
    programs: Vec<CatalogRow<'a>>,
}

/// A program, as its profile has it.
#[derive(Serialize)]
struct CatalogRow<'a> {
    program: &'a str,
    /// LFOC's class; `null` for a program with phases, whose class changes.
    class: Option<&'static str>,
    ipc: Option<f64>,
    llcmpki: Option<[f64; 2]>,
    slowdown: Option<f64>,
    phases: usize,
    what: Option<String>,
    stands_for: Option<&'static str>,
}

/// Lists the programs of a catalog. `profiles` is its name; where `is_corpus`, its programs are
/// those of the corpus, of which more is known.
///
/// # Errors
/// If that can't be printed.
pub fn print(
    catalog: &ProgramCatalog,
    profiles: &str,
    is_corpus: bool,
    is_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let programs = listed(catalog, is_corpus);
    let ways = catalog.table().ways().get();
    if is_json {
        serde_json::to_writer(&mut *out, &Listed { schema: SCHEMA, profiles, ways, programs })?;
        return Ok(writeln!(out)?);
    }
    let mut table = Table::new();
    let header = ["program", "class", "IPC", "MPKI", "slowdown", "what it is", "stands for"];
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(2).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for of in programs {
        let phased = format!("{} phases", of.phases);
        table.add_row([
            of.program.to_owned(),
            of.class.unwrap_or_default().to_owned(),
            of.ipc.map_or_else(String::new, |ipc| format!("{ipc:.2}")),
            of.llcmpki.map_or_else(String::new, |[most, least]| format!("{most:.1} to {least:.1}")),
            of.slowdown.map_or_else(String::new, |slowdown| format!("{slowdown:.2}")),
            of.what.unwrap_or(if of.phases > 0 { phased } else { String::new() }),
            of.stands_for.unwrap_or_default().to_owned(),
        ]);
    }
    writeln!(out, "{}", fit(table, &["stands for", "what it is"]))?;
    let legend = format!(
        "Profiles {profiles}, {ways} ways. class: LFOC's. IPC: with all ways. MPKI: LLC misses per \
         1000 instructions with one way and with all. slowdown: with one way."
    );
    writeln!(out, "{}\n{}", fold(&legend, 0), fold(ON_CHIPS, 0))?;
    Ok(())
}

fn listed(catalog: &ProgramCatalog, is_corpus: bool) -> Vec<CatalogRow<'_>> {
    let table = catalog.table();
    let classes = classes(table, table.ways());
    let measured = table.names().iter().zip(classes).enumerate().map(|(place, (name, class))| {
        let profile = table.profile(place);
        let slowdowns = slowdown_table(&profile.ipc, table.ways(), Reference::WholeCache);
        let [most, least] = [1, table.ways().get()];
        let described = if is_corpus { fairways_profiles::corpus::described(name) } else { None };
        let (what, stands_for) = described.map_or((None, None), |(what, of)| (Some(what), of));
        CatalogRow {
            program: name,
            class: Some(class.name()),
            ipc: Some(to_f64(profile.ipc.at(least))),
            llcmpki: Some([most, least].map(|ways| to_f64(profile.llcmpki.at(ways)))),
            slowdown: Some(to_f64(slowdowns.at(1))),
            phases: 0,
            what,
            stands_for,
        }
    });
    let phased = (table.names().len()..catalog.len()).map(|place| CatalogRow {
        program: catalog.name(place),
        class: None,
        ipc: None,
        llcmpki: None,
        slowdown: None,
        phases: catalog.phases(place).len(),
        what: None,
        stands_for: None,
    });
    measured.chain(phased).collect()
}

fn to_f64(value: Q32) -> f64 {
    value.raw() as f64 / (1_u64 << 32) as f64
}

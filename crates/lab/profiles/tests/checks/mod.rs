//! Properties of the parsers for every input; used by the fuzz targets and the test of their
//! corpora.

#![allow(dead_code)] // A fuzz target uses one of them.

use fairways_core::WayMask;
use fairways_profiles::{
    InputError, PhasedProgram, ProgramCatalog, Scorer, embedded, embedded_programs, read_mixes,
    read_phased, read_table, write_table,
};

/// A profile file is refused in one line, or read into a table that can be written, passed to a
/// policy and scored.
pub(crate) fn profiles(bytes: &[u8]) {
    match read_table(bytes, "p.csv") {
        Err(error) => one_line(&error, bytes),
        Ok(table) => {
            assert_eq!(read_table(write_table(&table).as_bytes(), "again").as_ref(), Ok(&table));
            let programs: Vec<usize> = (0..table.names().len().min(40)).collect();
            for &program in &programs {
                assert_eq!(table.find(&table.names()[program]), Some(program));
                let profile = table.profile(program);
                assert!(profile.ipc.values().iter().all(|ipc| ipc.raw() > 0));
            }
            let mut scorer = Scorer::new(&table, &programs, table.ways(), None);
            let masks = vec![WayMask::full(table.ways()); programs.len()];
            let slowdowns = scorer.score(&masks).expect("memory has no limit");
            assert!(slowdowns.iter().all(|slowdown| slowdown.is_finite() && *slowdown > 0.0));
        }
    }
}

/// A mixes file is refused in one line, or read into named mixes of known programs.
pub(crate) fn mixes(bytes: &[u8]) {
    let programs = embedded_programs();
    let find = |name: &str| programs.find(name);
    match read_mixes(bytes, "m.csv", find) {
        Err(error) => one_line(&error, bytes),
        Ok(mixes) => {
            assert!(!mixes.is_empty());
            let mut text = String::new();
            for mix in &mixes {
                assert!(!mix.programs.is_empty());
                let names = mix.programs.iter().map(|&program| programs.name(program));
                text += &format!("{},{}\n", mix.name, names.collect::<Vec<_>>().join(","));
            }
            // A mix may be named like a header or a comment only where it can't be taken for one.
            if !text.starts_with("mix,") && !mixes.iter().any(|mix| mix.name.starts_with('#')) {
                assert_eq!(read_mixes(text.as_bytes(), "again", find).as_ref(), Ok(&mixes));
            }
        }
    }
}

/// A file of phased programs is refused in one line, or read into programs that can be written,
/// found and averaged.
pub(crate) fn phased(bytes: &[u8]) {
    match read_phased(bytes, "ph.csv", embedded()) {
        Err(error) => one_line(&error, bytes),
        Ok(phased) => {
            // The names are not first, so that none reads as a comment.
            let mut text = String::from("INSTRUCTIONS,PROGRAM,PROFILE\n");
            for PhasedProgram { name, phases } in &phased {
                for phase in phases {
                    let instructions = match phase.instructions {
                        Some(number) => number.to_string(),
                        None => "rest".into(),
                    };
                    let profile = &embedded().names()[phase.program];
                    text += &format!("{instructions},{name},{profile}\n");
                }
            }
            assert_eq!(read_phased(text.as_bytes(), "again", embedded()).as_ref(), Ok(&phased));
            let first = embedded().names().len();
            let programs = ProgramCatalog::new(embedded().clone(), phased);
            assert!(programs.len() > first);
            for index in first..programs.len().min(first + 40) {
                assert_eq!(programs.find(programs.name(index)), Some(index));
                for run in [1, 150_000_000_000, u64::MAX] {
                    let profile = programs.profile(index, run);
                    assert!(profile.ipc.values().iter().all(|ipc| ipc.raw() > 0));
                }
            }
        }
    }
}

fn one_line(error: &InputError, bytes: &[u8]) {
    let text = error.to_string();
    assert!(!text.contains(['\n', '\r']), "{text:?}");
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    assert!((1..=lines + 1).contains(&error.line), "line {} of {lines}: {text}", error.line);
}

//! Properties of any text that is read as one of resctrl's files, which the fuzz target `language`
//! checks, too.

use fairways_core::CpuSet;
use fairways_resctrl::language::{BitUsage, Info, Mode, Reading, Schemata, Status};

/// Reads the bytes as every kind of file. Accepted ones are written, and read as the same.
pub(crate) fn language(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for parse in [Schemata::parse, Schemata::parse_sizes] {
        match parse(&text) {
            Ok(schemata) => {
                let written = schemata.to_string();
                let with_values =
                    schemata.lines.iter().filter(|line| !line.domains.is_empty()).count();
                let again = parse(&written).expect("what was written");
                assert_eq!(again.lines.len(), with_values, "{written:?}");
                assert_eq!(again.to_string(), written);
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
    if let Ok(usage) = BitUsage::parse(&text) {
        assert_eq!(BitUsage::parse(&usage.to_string()), Ok(usage));
    }
    if let Ok(reading) = Reading::parse(&text) {
        assert_eq!(Reading::parse(&reading.to_string()), Ok(reading));
    }
    if let Ok(mode) = text.parse::<Mode>() {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    for cpus in [1, 40, 1000] {
        for set in
            [CpuSet::parse_list(&text, cpus), CpuSet::parse_mask(&text, cpus)].into_iter().flatten()
        {
            assert_eq!(CpuSet::parse_list(&set.to_list(), cpus).as_ref(), Ok(&set));
            assert_eq!(CpuSet::parse_mask(&set.to_mask(cpus), cpus), Ok(set));
        }
    }
    assert!(Status::parse(&text).lines.iter().all(|line| !line.contains('\n')));
    let _ = Info::read(["L3", "MB", "L3_MON"], |_| Some(text.to_string()));
}

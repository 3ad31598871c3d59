//! A client reads exactly what the kernel's side writes, on every machine, kernel and mount.

#![allow(clippy::unwrap_used)]

use fairways_core::CpuSet;
use fairways_resctrl::language::{BitUsage, Info, Mode, Reading, Schemata, Status, Value};
use fairways_resctrl_rules::platform::{Kernel, Platform};
use fairways_resctrl_rules::rules::Resctrl;

use crate::shell::{Fake, Shell};

#[test]
fn a_client_reads_what_every_machine_writes() {
    let mut read = 0;
    for platform in Platform::all() {
        for kernel in Kernel::all() {
            for options in ["", "cdp", "mba_MBps"] {
                let platform = platform.clone().with_kernel(kernel.clone());
                if Resctrl::new(platform.clone()).mount(options, &mut Fake::default()).is_ok() {
                    check(&mut Shell::on(platform.clone(), options), &platform, options);
                    read += 1;
                }
            }
        }
    }
    assert!(read > 50, "{read} mounts");
}

fn check(shell: &mut Shell, platform: &Platform, options: &str) {
    let entries = shell.ls("info");
    let entries = entries.iter().map(String::as_str);
    let info = Info::read(entries, |path| {
        let path = format!("info/{path}");
        shell.resctrl.at(&path).is_some().then(|| shell.cat(&path))
    })
    .unwrap();
    let last = platform.last_shared_cache();
    let cache = platform.cache(last).unwrap();
    let halves = if options == "cdp" { 2 } else { 1 };
    let caches: Vec<_> =
        info.caches.iter().filter(|cache| cache.resource.starts_with(last.name())).collect();
    assert_eq!(caches.len(), halves);
    for found in caches {
        assert_eq!(found.mask.bits(), cache.full());
        assert_eq!(found.shareable.bits(), cache.shareable_bits);
        assert_eq!(found.closids as usize, cache.closids as usize / halves);
        let usage = shell.cat(&format!("info/{}/bit_usage", found.resource));
        for (_, ways) in BitUsage::parse(&usage).unwrap().domains {
            assert_eq!(ways.len(), cache.cbm_len as usize);
        }
    }
    assert_eq!(info.bandwidths.iter().any(|of| of.resource == "MB"), platform.mb.is_some());
    let schemata = Schemata::parse(&shell.cat("schemata")).unwrap();
    let sizes = Schemata::parse_sizes(&shell.cat("size")).unwrap();
    for (line, size) in schemata.lines.iter().zip(&sizes.lines) {
        assert_eq!(line.resource, size.resource);
        assert_eq!(line.domains.len(), size.domains.len());
        assert_eq!(line.is_cache(), matches!(line.domains[0].1, Value::Mask(_)));
    }
    shell.mkdir("g").unwrap();
    // Everything that was read can be written unchanged.
    let of_group = Schemata::parse(&shell.cat("g/schemata")).unwrap().to_string();
    shell.write(&of_group, "g/schemata").unwrap();
    assert!(Status::parse(&shell.cat("info/last_cmd_status")).lines.is_empty());
    assert_eq!(shell.cat("g/mode").parse(), Ok(Mode::Shareable));
    let limit = u32::try_from(platform.cpus.len()).unwrap();
    let (list, mask) = (shell.cat("cpus_list"), shell.cat("cpus"));
    assert_eq!(CpuSet::parse_list(&list, limit), CpuSet::parse_mask(&mask, limit));
    let Some(monitoring) = info.monitoring else {
        return assert!(platform.monitoring.is_none());
    };
    assert_eq!(monitoring.rmids, platform.rmids());
    for domain in shell.ls("g/mon_data") {
        if domain.starts_with("mon_PERF_PKG_") {
            assert_eq!(shell.ls(&format!("g/mon_data/{domain}")).len(), info.package_events.len());
            for event in &info.package_events {
                let text = shell.cat(&format!("g/mon_data/{domain}/{event}"));
                Reading::parse_millionths(&text).unwrap();
            }
            continue;
        }
        let names = shell.ls(&format!("g/mon_data/{domain}"));
        let events = names.iter().filter(|name| !name.starts_with("mon_sub_L3_")).count();
        assert_eq!(events, monitoring.events.len());
        for event in &monitoring.events {
            Reading::parse(&shell.cat(&format!("g/mon_data/{domain}/{event}"))).unwrap();
        }
    }
    for event in &monitoring.configurable {
        assert!(shell.cat(&format!("info/L3_MON/{event}_config")).starts_with("0="));
    }
}

//! The memory transactions that a bandwidth event can count (resctrl.rst, `event_filter` and
//! `mbm_total_bytes_config`).

/// Their names in `event_filter`, by their bit in `mbm_*_bytes_config`.
pub const TRANSACTIONS: [&str; 7] = [
    "local_reads",
    "remote_reads",
    "local_non_temporal_writes",
    "remote_non_temporal_writes",
    "local_reads_slow_memory",
    "remote_reads_slow_memory",
    "dirty_victim_writes_all",
];

/// Those with the memory of the own node, which `mbm_local_bytes` counts by default.
pub const LOCAL_TRANSACTIONS: u32 = 0b1_0101;

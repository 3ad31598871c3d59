//! Profiles that describe programs, in place of a processor's counters.

/// The behaviour of a program with a given number of ways.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) ipc: f64,
    /// References and misses per 1000 cycles.
    pub(crate) references: f64,
    pub(crate) misses: f64,
    /// The share of cycles stalled for memory.
    pub(crate) stalls: f64,
}

/// A table: each program with a row for each number of ways.
pub(crate) fn table<'a>(programs: impl IntoIterator<Item = (&'a str, Vec<Row>)>) -> String {
    let mut text = "BENCH,NR_WAYS,ipc,llcrpki,llcmpki,llcrpkc,llcmpkc,llc_usage_kb,bandwidth_mbps,\
                    llcm_bandwidth,stalls_l2_miss,stalls_l3_miss,stalls_total,stalls_store_buf\n"
        .to_owned();
    for (name, rows) in programs {
        for (row, ways) in rows.iter().zip(1..) {
            let Row { ipc, references, misses, stalls } = *row;
            let (rpki, mpki) = (references / ipc, misses / ipc);
            // 64 bytes a miss, at 2 GHz.
            let mbps = misses * 128.0;
            text += &format!(
                "{name},{ways},{ipc},{rpki},{mpki},{references},{misses},{},{mbps},{mbps},{stalls},{stalls},\
                 {stalls},0\n",
                ways * 64
            );
        }
    }
    text
}

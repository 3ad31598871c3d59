//! The claims of LFOC's paper (claims/lfoc.csv).

use crate::paper::claim_name::claims;

claims! {
    "§2.2" {
        PARTITIONINGS_8_ON_11 = "partitionings of 8 programs on 11 ways";
        PARTITIONINGS_8_ON_20 = "partitionings of 8 programs on 20 ways";
        CLUSTERINGS_8_ON_20 = "clusterings of 8 programs on 20 ways";
        CLUSTERINGS_11_ON_20 = "clusterings of 11 programs on 20 ways";
    }
    "Table 1" {
        STREAMING_SLOWDOWN = "streaming: slowdown at most, in one allocation";
        STREAMING_LLCMPKC = "streaming: LLCMPKC at least, same allocation";
        STREAMING_BOUND = "streaming: slowdown below, in all allocations";
        SENSITIVE_SLOWDOWN = "sensitive: slowdown at least";
        SENSITIVE_FROM_WAYS = "sensitive: from this many ways";
        CLASS_COUNTS = "class counts of the 55 profiled programs (streaming/sensitive/light)";
    }
    "Figure 1" {
        CLASSES_OF_TWO = "lbm meets the streaming rule; xalancbmk the sensitive rule";
        XALANCBMK_RISES = "xalancbmk slowdown never rises with ways (violations)";
    }
    "Figure 2" {
        STREAMING_IN_1_WAY = "streaming instances in 1-way clusters, 20 mixes of 10";
        STREAMING_IN_2_WAYS = "streaming instances in clusters of 1 or 2 ways";
        SENSITIVE_IN_4_WAYS = "sensitive instances in clusters of 4 ways or more";
        LIGHT_IN_1_WAY = "light instances in 1-way clusters";
        MIXES = "mixes, programs per mix";
    }
    "§3" {
        MOST_STREAMING_WAYS = "most ways given to streaming clusters in any mix";
        _ = "profiled prefix";
    }
    "Figure 3" {
        PARTITIONING_OVER_CLUSTERING_4 = "optimal partitioning over optimal clustering, 4 programs";
        GROWTH_TO_11 = "the same, 11 programs on 11 ways, over the 4-program value";
        RATIO_BELOW_1 = "ratio never below 1";
    }
    "Algorithm 1" {
        MAX_STREAMING_WAY = "max_streaming_way";
        GAPS_PER_STREAMING = "gaps_per_streaming";
        MAX_WAYS_STREAMING = "ways reserved for streaming at most";
    }
    "§4.1" {
        WARM_UP = "warm-up";
    }
    "§4.2" {
        HIGH_THRESHOLD = "high_threshold";
        LOW_THRESHOLD = "low_threshold over high_threshold";
        STALL_FRACTION = "long-latency stall fraction";
        AVERAGING_WINDOW = "averaging window (light rule)";
        CRITICAL_SLOWDOWN = "critical size: slowdown below";
    }
    "§5.2" {
        NORMAL_WINDOW = "sampling window, normal mode";
        SAMPLING_WINDOW = "sampling window, sampling mode";
        DECISION_PERIOD = "decision period, LFOC and Dunn";
    }
    "§5" {
        INSTRUCTIONS = "instructions per run";
        COMPLETIONS = "completions of the longest program";
        WORKLOADS = "workloads in all";
        WORKLOAD_SIZES = "workload sizes";
        LLC_WAYS = "LLC ways";
        LLC_SIZE = "LLC size";
        CORE_CLOCK = "core clock";
        _ = "private L2";
        SMALLEST_PARTITION = "smallest partition";
    }
    "Figure 4" {
        FOTONIK3D_PHASES = "fotonik3d: light at first, then LLCMPKC above 10 for the rest";
    }
    "Figure 6" {
        DUNN_BEST = "Dunn, best mix, unfairness over stock";
        DUNN_WORST = "Dunn, worst mix, unfairness over stock";
        KPART_MEAN = "KPart, mean unfairness over stock";
        KPART_BEST_STP = "KPart, best STP over stock";
        LFOC_MEAN = "LFOC, mean unfairness over stock";
        LFOC_BEST = "LFOC, best mix, unfairness over stock";
        STP_OVER_KPART = "mixes where LFOC STP is at least KPart STP";
        FAIRER_THAN_KPART = "mixes where LFOC unfairness is below KPart";
        LFOC_GAP = "LFOC against Best-Static, mean gap (state metric: STP and unfairness both)";
        BEST_STATIC_BEATEN = "Best-Static unfairness never above any static policy (violations)";
    }
    "Figure 7" {
        OVER_DUNN_BEST = "LFOC over Dunn, best (P4), unfairness reduction";
        OVER_DUNN_MEAN = "LFOC over Dunn, mean unfairness reduction, S and P";
        FAIRER_THAN_DUNN = "mixes where LFOC unfairness is below Dunn";
        OVER_STOCK_MEAN = "LFOC over stock, mean unfairness reduction, S and P";
        STP_OVER_DUNN = "LFOC mean STP over Dunn mean STP";
        DUNN_ON_P_LESS_S = "Dunn mean unfairness over stock on P minus the same on S";
        KPART_ONLINE = "KPart-DynaWay online";
    }
    "§5.1 note 2" {
        _ = "KPart in its own paper, throughput gain";
    }
    "Table 2" {
        LFOC_4 = "LFOC, 4 programs";
        KPART_4 = "KPart, 4 programs";
        LFOC_5 = "LFOC, 5 programs";
        KPART_5 = "KPart, 5 programs";
        LFOC_6 = "LFOC, 6 programs";
        KPART_6 = "KPart, 6 programs";
        LFOC_7 = "LFOC, 7 programs";
        KPART_7 = "KPart, 7 programs";
        LFOC_8 = "LFOC, 8 programs";
        KPART_8 = "KPart, 8 programs";
        LFOC_9 = "LFOC, 9 programs";
        KPART_9 = "KPart, 9 programs";
        LFOC_10 = "LFOC, 10 programs";
        KPART_10 = "KPart, 10 programs";
        LFOC_11 = "LFOC, 11 programs";
        KPART_11 = "KPart, 11 programs";
        KPART_OVER_LFOC_4 = "KPart over LFOC, 4 programs";
        KPART_OVER_LFOC_11 = "KPart over LFOC, 11 programs";
        KPART_GROWTH = "KPart growth 4 to 11 programs";
        LFOC_GROWTH = "LFOC growth 4 to 11 programs";
    }
}

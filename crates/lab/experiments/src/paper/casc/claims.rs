//! The claims of CASC's paper (claims/casc.csv).

use crate::paper::claim_name::claims;

claims! {
    "Figure 1" {
        IPC_OF_ONE = "single-threaded IPC at 20 % running";
        IPC_OF_FOUR = "four threads";
    }
    "Figure 2" {
        IPC_OVER_L1_SIZES = "IPC over L1 sizes, min over max, one core";
        L1_MISS_RATES = "L1 miss rate, max over min";
    }
    "Figure 3" {
        IPC_RISES = "IPC never rises as the L2 miss rate grows (violations over sizes)";
        IPC_OVER_L2_SIZES = "IPC, smallest over largest L2";
    }
    "Figure 4" {
        AVERAGE_MAX_PCMR = "average of MAX_PCMR";
        ALLOWED_CPUS = "threads t4 t5 t6 allowed on";
        UNREACHABLE_THRESHOLD = "threshold 3 is reported unreachable";
    }
    "§4.3.1" {
        GREEDY_ASSIGNMENT = "assignment 1,1,1,17 meets threshold";
        REFUSED_ASSIGNMENT = "that assignment is refused: two threads for three CPUs";
        MOST_STEPS = "steps at most, INITIAL_MAX_PCMR x CPUs";
        M = "m, CPU-bound load";
    }
    "§4.2" {
        ROWS = "rows of the initial system on 8 contexts";
        WORST_ESTIMATE = "estimate of group miss rate, worst error";
        _ = "the same by the Berg-Hagersten model, mean error";
    }
    "§4.2.2" {
        MIN_RUNLENGTH = "MIN_RUNLENGTH";
    }
    "§5.3.2" {
        DELAY = "delay before measuring a thread";
        SHORTEST_INTERVAL = "shortest interval kept, as printed";
        LEAST_RIGHT = "threads classified right, least over sizes, of 18";
        MOST_RIGHT = "threads classified right, most over sizes";
        ART_GREEDY = "art threads found greedy at 768 KB, of 6";
        SECONDARY_ERRORS = "share of errors made in secondary measurement";
    }
    "§4.3.3" {
        INITIAL_THRESHOLD = "initial threshold";
    }
    "§4.2.2.2" {
        NEW_THREADS_CPU = "new threads measured on";
        SECONDARY_MEASUREMENT = "secondary measurement per thread";
    }
    "§5.1" {
        CORES = "cores x contexts, clock";
        L1_SIZES = "L1D / L1I";
        BASE_L2 = "base L2, ways";
        OTHER_L2_SIZES = "other L2 sizes";
    }
    "§5.2" {
        THREADS = "threads: art, twolf, Berkeley DB";
        DATABASE = "database, hot set";
    }
    "§5.3.1" {
        MEASURED_RUN = "measured run";
    }
    "Figure 5" {
        LEAST_REDUCTION = "L2 miss-rate reduction, least over sizes";
        MOST_REDUCTION = "L2 miss-rate reduction, most over sizes";
        REDUCTION_AT_768_KB = "L2 miss-rate reduction at 768 KB";
        AS_TWICE_THE_CACHE = "sizes where CASC misses no more than the default with twice the cache";
    }
    "Figure 6" {
        LEAST_GAIN = "throughput gain, least over sizes";
        MOST_GAIN = "throughput gain, most over sizes";
        GAIN_AT_768_KB = "throughput gain at 768 KB";
    }
    "§1" {
        _ = "reduction promised by the earlier study";
    }
    "§3" {
        _ = "overhead of the Berg-Hagersten tool";
    }
    "§4.2.2.1" {
        INITIAL_MEAN = "initial measurement, mean";
        INITIAL_MEDIAN = "initial measurement, median";
    }
    "Figure 7" {
        UNEVENNESS_CASC = "sd of run time over mean, CASC, worst";
        UNEVENNESS_DEFAULT = "sd of run time over mean, default";
        LESS_EVEN = "CASC less even than default";
    }
    "§5.3.3" {
        STARVED = "threads that receive no time in two seconds";
    }
    "§5.3.4" {
        LINEAR_SOLVE = "linear solve";
        BUCKETIZATION = "bucketization";
        REMEASURED_RUN_TIME = "run time with periodic re-measurement over default";
        WORKLOAD_MINUTES = "workload, both schedulers";
    }
    "§5.4.1" {
        MISS_RATE_SPREAD = "sd of per-thread miss rate over mean";
        _ = "the same for SPECjbb, SPECWeb, TPC-W";
    }
    "§2" {
        _ = "pipeline use below 20 %; multithreading gains 9-65 %; 5 % transistors";
    }
}

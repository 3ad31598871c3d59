//! The claims of dCat's paper (claims/dcat.csv).

use crate::paper::claim_name::claims;

claims! {
    "Figure 1" {
        SIX_MB_CAT = "MLR-6MB: CAT with noise over shared without";
        SIX_MB_SHARED = "MLR-6MB: shared with noise over shared without";
        SIXTEEN_MB_CAT = "MLR-16MB: CAT (6 ways) with noise over shared without";
        CAT_WAYS = "ways and MB of the CAT case";
    }
    "Figure 2" {
        XEON_D_SMALL_PAGES = "Xeon-D 2MB, 2 ways, 4KB pages over full cache";
        XEON_D_HUGE_PAGE = "Xeon-D 2MB, 2 ways, 2MB page over full cache";
        XEON_E5_HUGE_PAGES = "Xeon-E5 4.5MB, 2 ways, 2MB pages over full cache";
    }
    "Figure 3" {
        XEON_D_SMALL_CONFLICTS = "Xeon-D, 4KB pages, sets with 3 or more lines";
        XEON_D_HUGE_CONFLICTS = "Xeon-D, 2MB page";
        XEON_E5_SMALL_CONFLICTS = "Xeon-E5, 4KB pages";
        XEON_E5_HUGE_PROBABILITY = "Xeon-E5, 2MB pages, probability of the 11.1 % placement";
        XEON_E5_HUGE_CONFLICTS = "Xeon-E5, 2MB pages, that placement";
    }
    "Figure 5" {
        L1_REFERENCES = "spread of L1 references per instruction over 1 to 8 ways, MLR and MLOAD";
    }
    "§3.3" {
        PHASE_CHANGE = "phase change threshold";
    }
    "§4" {
        PERIOD = "period";
    }
    "§5.1" {
        LLC_MISS_RATE_THR = "llc_miss_rate_thr";
        IPC_IMP_THR = "ipc_imp_thr";
        EIGHT_MB_SETTLES = "MLR-8MB settles at";
        SIXTEEN_MB_SETTLES = "MLR-16MB settles at (not printed in text)";
        DAEMON_CPU = "dCat daemon CPU";
        MLR_EXPERIMENTS = "MLR experiments: VMs x baseline";
    }
    "§3.4" {
        STREAMING_THRESHOLD = "streaming threshold over baseline";
        SMALLEST_ALLOCATION = "smallest allocation";
    }
    "§3.5" {
        STEP = "step";
        FAIR_SPLIT = "fair split of 4 spare ways between 2 workloads";
        MAX_PERFORMANCE = "max-performance example, 10 ways: A, B, C";
        SUM_OF_A_AND_B = "the same, sum for A and B";
        SUM_WITH_C = "the same, sum with C";
    }
    "Table 1" {
        PREFERRED_WAYS = "preferred ways of the example table";
    }
    "§4, §6" {
        CLASSES_OF_SERVICE = "classes of service";
    }
    "Figure 8" {
        WAYS_BY_MISSES = "fewer ways as the miss threshold grows (violations)";
        LATENCY_BY_MISSES = "higher latency as the miss threshold grows (violations)";
    }
    "Figure 9" {
        WAYS_AT_3_PERCENT = "MLR-8MB, baseline 2, threshold 3 %";
        WAYS_BY_IPC = "fewer ways from 3 % to 40 % (violations)";
    }
    "Figure 10" {
        LOOKBUSY_WAYS = "lookbusy ends at";
        EIGHT_MB_TIME = "MLR-8MB, time to enough ways";
        SIXTEEN_MB_TIME = "MLR-16MB, time to enough ways";
    }
    "Figure 11" {
        OVER_FULL_CACHE = "dCat over full cache, latency, worst of 4 to 16 MB";
        STATIC_OVER_DCAT = "static (3 ways) over dCat, MLR-8MB and larger";
    }
    "Figure 12" {
        SCHEDULE = "first run ends; second starts; second ends";
        SECOND_RUN_WAYS = "second run jumps to";
        SECOND_RUN_ROUNDS = "rounds to reach it in the second run";
    }
    "Figure 13" {
        STREAMING_AT = "MLOAD declared streaming at, baseline 3";
        STREAMING_AFTERWARDS = "MLOAD afterwards";
        STREAMING_IPC_CHANGE = "MLOAD IPC change from 3 to 9 ways";
        WAYS_SAVED = "ways saved against static";
    }
    "Figure 14" {
        BOTH_BEFORE_14_S = "both MLRs before 14 s";
        LEFT_FOR_BOTH = "ways left for both after 4 VMs start";
        EIGHT_MB_AFTER = "MLR-8MB after";
        TWELVE_MB_AFTER = "MLR-12MB after";
    }
    "Figure 15" {
        BOTH_AT_6_S = "both at 6 s";
        MLOAD_TAKES = "MLOAD takes the last way (Unknown first)";
        MLOAD_RELEASES = "MLOAD releases";
        EIGHT_MB_AT_THE_END = "MLR-8MB at the end";
    }
    "Figure 16" {
        MLR_IMPROVEMENT = "MLR-8MB improvement by dCat";
        MLOAD_CHANGE = "MLOAD change by dCat";
    }
    "Figure 17" {
        MEAN_OVER_SHARED = "geometric mean over shared, 20 rows";
        MEAN_OVER_STATIC = "geometric mean over static";
        LARGEST_OVER_STATIC = "largest gain over static (omnetpp, astar)";
        LARGEST_OVER_SHARED = "largest gain over shared";
        BELOW_STATIC = "rows where dCat is below static by more than 2 %";
    }
    "Table 3" {
        MCF = "mcf, ceiling of ways (both)";
        BZIP2 = "bzip2, ceiling of ways (interference)";
        SPHINX3 = "sphinx3, ceiling of ways (capacity)";
        SOPLEX = "soplex, ceiling of ways (both)";
        LBM = "lbm, ceiling of ways (capacity)";
        BWAVES = "bwaves, ceiling of ways (both)";
        GAMESS = "gamess, ceiling of ways (capacity)";
        MILC = "milc, ceiling of ways (capacity)";
        ZEUSMP = "zeusmp, ceiling of ways (capacity)";
        GROMACS = "gromacs, ceiling of ways (interference)";
        CACTUS_ADM = "cactusADM, ceiling of ways (capacity)";
        LESLIE3D = "leslie3d, ceiling of ways (both)";
        OMNETPP = "omnetpp, ceiling of ways (capacity)";
        LIBQUANTUM = "libquantum, ceiling of ways (capacity)";
        GEMS_FDTD = "GemsFDTD, ceiling of ways (both)";
        XALANCBMK = "xalancbmk, ceiling of ways (both)";
        GCC_166 = "gcc 166, ceiling of ways (both)";
        GCC_G23 = "gcc g23, ceiling of ways (both)";
        GCC_SCILAB = "gcc scilab, ceiling of ways (interference)";
        ASTAR = "astar biglake2048, ceiling of ways (both)";
    }
    "Table 4" {
        REDIS_SHARED = "Redis shared";
        REDIS_STATIC = "Redis static";
        REDIS_DCAT = "Redis dCat";
        REDIS_SHARED_LATENCY = "Redis shared latency";
        REDIS_STATIC_LATENCY = "Redis static latency";
        REDIS_DCAT_LATENCY = "Redis dCat latency";
        REDIS_OVER_SHARED = "Redis dCat over shared, throughput";
        REDIS_OVER_STATIC = "Redis dCat over static";
        REDIS_STATIC_OVER_SHARED = "Redis static over shared";
        REDIS_CEILING = "Redis ceiling";
    }
    "Table 5" {
        POSTGRESQL_SHARED = "PostgreSQL shared";
        POSTGRESQL_STATIC = "PostgreSQL static";
        POSTGRESQL_DCAT = "PostgreSQL dCat";
        POSTGRESQL_SHARED_LATENCY = "PostgreSQL shared latency";
        POSTGRESQL_STATIC_LATENCY = "PostgreSQL static latency";
        POSTGRESQL_DCAT_LATENCY = "PostgreSQL dCat latency";
        POSTGRESQL_OVER_SHARED = "PostgreSQL dCat over shared, tps";
        POSTGRESQL_LATENCY_REDUCTION = "PostgreSQL dCat over static, latency reduction";
        POSTGRESQL_STATIC_OVER_SHARED = "PostgreSQL static over shared, tps";
        POSTGRESQL_CEILING = "PostgreSQL ceiling";
    }
    "Table 6" {
        ELASTICSEARCH_SHARED_MEAN = "Elasticsearch shared mean";
        ELASTICSEARCH_STATIC_MEAN = "Elasticsearch static mean";
        ELASTICSEARCH_DCAT_MEAN = "Elasticsearch dCat mean";
        ELASTICSEARCH_SHARED_P95 = "Elasticsearch shared p95";
        ELASTICSEARCH_STATIC_P95 = "Elasticsearch static p95";
        ELASTICSEARCH_DCAT_P95 = "Elasticsearch dCat p95";
        ELASTICSEARCH_SHARED_P99 = "Elasticsearch shared p99";
        ELASTICSEARCH_STATIC_P99 = "Elasticsearch static p99";
        ELASTICSEARCH_DCAT_P99 = "Elasticsearch dCat p99";
        ELASTICSEARCH_MEAN_OVER_STATIC = "mean latency reduction over static";
        ELASTICSEARCH_MEAN_OVER_SHARED = "mean latency reduction over shared";
        ELASTICSEARCH_P99_OVER_STATIC = "p99 reduction over static";
        ELASTICSEARCH_P99_OVER_SHARED = "p99 reduction over shared";
        ELASTICSEARCH_CEILING = "Elasticsearch ceiling";
    }
    "Abstract" {
        _ = "Elasticsearch improvement over both";
    }
    "§5.2" {
        THREE_POSTGRESQL = "three PostgreSQL instances: gain of each against one instance's gain";
        SPEC_BASELINE = "SPEC and server experiments: baseline";
    }
    "Table 2" {
        LLC_MISSES = "LLC misses";
        LLC_REFERENCES = "LLC references";
        L1_MISSES = "L1 misses";
        L1_HITS = "L1 hits";
        FIXED_COUNTERS = "retired instructions, unhalted cycles (MSR)";
    }
    "§5" {
        MACHINE = "machine";
    }
    "Figures 8 and 9" {
        SWEEPS_BASELINE = "baseline";
    }
}

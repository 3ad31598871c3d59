//! The claims of cache-fair's paper (claims/cache-fair.csv).

use crate::paper::claim_name::claims;

claims! {
    "Table 1" {
        CORES = "cores";
        L1 = "L1I / L1D, ways";
        L2 = "L2, ways, banks";
        BUS = "bus";
    }
    "§4.1" {
        DATA_POINTS = "data points";
    }
    "§4.3" {
        RECONNAISSANCE = "reconnaissance";
        CALIBRATION_PERIOD = "calibration period";
        REPETITION = "repeat of reconnaissance";
        STABLE_PATTERNS = "programs with stable patterns, of 9";
    }
    "§5.1" {
        SEGMENT = "measured segment in calibration phase";
        THREADS = "application threads in a schedule";
        BEST_EFFORT_THREADS = "of them best-effort";
    }
    "Table 2" {
        SCHEDULES_OF_ART = "art: fast / slow schedule";
        SCHEDULES_OF_CRAFTY = "crafty: fast / slow schedule";
        SCHEDULES_OF_GCC = "gcc: fast / slow schedule";
        SCHEDULES_OF_GZIP = "gzip: fast / slow schedule";
        SCHEDULES_OF_MCF = "mcf: fast / slow schedule";
        SCHEDULES_OF_PARSER = "parser: fast / slow schedule";
        SCHEDULES_OF_TWOLF = "twolf: fast / slow schedule";
        SCHEDULES_OF_VORTEX = "vortex: fast / slow schedule";
        SCHEDULES_OF_VPR = "vpr: fast / slow schedule";
    }
    "§3.1" {
        BANK_IMBALANCE = "L2 bank imbalance, most programs, at most";
        _ = "L2 bank imbalance of gzip, twolf, vpr";
    }
    "Figure 4" {
        ESTIMATE_ERROR = "estimated over actual fair miss rate, median error of nine";
        RANK_CORRELATION = "rank correlation of estimate and truth";
    }
    "Figure 6" {
        VORTEX_CONVENTIONAL = "vortex, slow over fast, conventional";
        GZIP_CONVENTIONAL = "gzip, conventional";
        CRAFTY_CONVENTIONAL = "crafty, conventional";
        OTHERS_CONVENTIONAL = "the other programs, least";
    }
    "§5.2" {
        VORTEX_MISS_RATE = "vortex L2 miss rate, slow over fast, increase";
    }
    "Figure 7" {
        VORTEX_FAIR = "vortex, cache-fair";
        GZIP_FAIR = "gzip, cache-fair";
        CRAFTY_FAIR = "crafty, cache-fair";
        VORTEX_FACTOR = "vortex, reduction factor";
        GZIP_FACTOR = "gzip, reduction factor";
        LEAST_FACTOR = "least reduction factor of programs at 8 % or more";
    }
    "Figure 8" {
        MCF_AND_ART = "mcf and art: mean completion time, cache-fair over conventional";
        GZIP_AND_VPR = "gzip and vpr: the same";
    }
    "§5.4" {
        LARGEST_LOSS = "largest loss of a best-effort thread";
        GAINING_THREADS = "best-effort threads that gain";
    }
    "§5.5" {
        REDUCED_BY_PARTITIONING = "programs whose variability equal partitioning reduces, of 9";
        UNCHANGED_BY_PARTITIONING = "programs for which it makes no difference";
        UNLIMITED_VARIABILITY = "variability with equal partitioning and unlimited bandwidth, largest";
    }
    "§5.6" {
        REGRESSION_STEPS = "regression steps";
    }
    "§1" {
        _ = "gzip slower with art than with apsi";
        _ = "yearly growth of the cost of a memory access";
    }
}

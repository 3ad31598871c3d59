//! The claims of Locpart's paper (claims/locpart.csv).

use crate::paper::claim_name::claims;

claims! {
    "§III-B" {
        STEP = "step w";
        UTIL_TH = "Util_th";
        INITIAL_SPLIT = "initial split";
    }
    "§III-C" {
        DEFAULT_INTERVAL = "default interval";
        _ = "size of the implementation";
    }
    "§IV-A" {
        INTERVAL = "interval in the evaluation";
    }
    "§III-A" {
        SILO_SLO = "silo SLO, 99th percentile";
    }
    "Table I" {
        LLC = "LLC";
        CORES = "cores per socket, clock";
        L2 = "L2";
    }
    "Figure 2" {
        EXAMPLE_CLOS = "CLOS[0] and CLOS[3] of the example";
    }
    "Figure 1" {
        RISING_TAILS = "tail latency falls as ways grow, five services (violations over 20 ways, 5 % noise)";
        MCF_WITH_1_WAY = "mcf performance at 1 way over 20 ways";
    }
    "Figure 1(d)" {
        SILO_P99 = "silo p99 with all ways";
    }
    "Figure 4" {
        IMG_DNN_UNCONTROLLED = "img-dnn, loss uncontrolled (least of five)";
        SPHINX_UNCONTROLLED = "sphinx, loss uncontrolled (most of five)";
        LEAST_AND_MOST_HURT = "least-hurt service is img-dnn; most-hurt is sphinx";
        IMG_DNN_LOCPART = "img-dnn, loss with Locpart (least)";
        SILO_LOCPART = "silo, loss with Locpart (most)";
        MEAN_LOCPART = "mean loss of five with Locpart";
        SERVICES_HELPED = "services where Locpart loses less than uncontrolled";
        MEAN_RATIO = "Locpart mean loss over uncontrolled mean loss";
    }
    "Figure 5" {
        GLOBAL_UNCONTROLLED = "global loss uncontrolled";
        GLOBAL_LOCPART = "global loss with Locpart";
        GLOBAL_RATIO = "global loss, Locpart over uncontrolled";
    }
    "Figure 6" {
        SPHINX_LONG_INTERVAL = "sphinx, performance at the longest interval over 50 ms";
        XAPIAN_LONG_INTERVAL = "xapian, the same";
    }
    "§IV-B" {
        SPHINX_TAIL = "sphinx tail";
        XAPIAN_TAIL = "xapian tail";
    }
    "§I" {
        _ = "cluster utilisation 6 to 12 %; §II no more than 20 %";
    }
}

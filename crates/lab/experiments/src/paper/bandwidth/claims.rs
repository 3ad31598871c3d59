//! What was measured of memory bandwidth, and the aims of policies on it (claims/bandwidth.csv).

use crate::paper::claim_name::claims;

claims! {
    "self-test, machine 1" {
        MACHINE_1_AT_40 = "one stream at 40 % over 100 %";
        MACHINE_1_AT_30 = "one stream at 30 % over 100 %";
        MACHINE_1_AT_20 = "one stream at 20 % over 100 %";
        MACHINE_1_AT_10 = "one stream at 10 % over 100 %";
    }
    "self-test, machine 3" {
        MACHINE_3_AT_40 = "one stream at 40 % over 100 %";
        MACHINE_3_AT_30 = "one stream at 30 % over 100 %";
        MACHINE_3_AT_20 = "one stream at 20 % over 100 %";
        MACHINE_3_AT_10 = "one stream at 10 % over 100 %";
    }
    "self-test, machine 2" {
        MACHINE_2_AT_90 = "one stream at 90 % over 100 %";
        MACHINE_2_AT_60 = "one stream at 60 % over 100 %";
        MACHINE_2_AT_40 = "one stream at 40 % over 100 %";
        MACHINE_2_AT_30 = "one stream at 30 % over 100 %";
        MACHINE_2_AT_20 = "one stream at 20 % over 100 %";
        MACHINE_2_AT_10 = "one stream at 10 % over 100 %";
    }
    "intel-cmt-cat, issue 277" {
        SIX_CORES = "6 cores at 10 %";
    }
    "intel-cmt-cat, issue 285" {
        TWENTY_CORES = "20 cores at 10 %";
    }
    "loaded latency, Cascade Lake" {
        CASCADE_LAKE_AT_50 = "a chase at 50 % of the bandwidth over idle";
        CASCADE_LAKE_AT_82 = "a chase at 82 % of the bandwidth over idle";
        CASCADE_LAKE_AT_98 = "a chase at 98 % of the bandwidth over idle";
    }
    "loaded latency, Ice Lake" {
        ICE_LAKE_AT_50 = "a chase at 50 % of the bandwidth over idle";
        ICE_LAKE_AT_82 = "a chase at 82 % of the bandwidth over idle";
        ICE_LAKE_AT_93 = "a chase at 93 % of the bandwidth over idle";
    }
    "policies on a full bus" {
        UNFAIRNESS_ON_FULL_BUS = "fairways, unfairness over ways only, mean";
        STP_ON_FULL_BUS = "fairways, STP over ways only, mean";
    }
    "policies on a bus with room" {
        LIMITS_WITH_ROOM = "plans of fairways with a limit";
    }
    "an objective beside streams" {
        WINDOWS_WAYS_ONLY = "fairways, ways only, windows within it";
        WINDOWS_WITH_LIMITS = "fairways, windows within it";
    }
}

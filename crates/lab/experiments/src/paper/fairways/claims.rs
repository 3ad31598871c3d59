//! The aims of the policy `fairways` (claims/fairways.csv).

use crate::paper::claim_name::claims;

claims! {
    "static, 11 ways" {
        MEAN_ON_11_WAYS = "fairways, unfairness over the optimum, mean";
        WORST_ON_11_WAYS = "fairways, unfairness over the optimum, worst mix";
        STP_ON_11_WAYS = "fairways, STP over that of lfoc-plus, mean";
        OPTIMUM_STP_ON_11_WAYS = "objective=stp, STP of the optimum over it, worst mix";
    }
    "static, 20 ways" {
        MEAN_ON_20_WAYS = "fairways, unfairness over the optimum, mean";
        WORST_ON_20_WAYS = "fairways, unfairness over the optimum, worst mix";
        STP_ON_20_WAYS = "fairways, STP over that of lfoc-plus, mean";
        OPTIMUM_STP_ON_20_WAYS = "objective=stp, STP of the optimum over it, worst mix";
    }
    "memory of 12,000 MB/s" {
        LIMITED_SIMPLE = "fairways, unfairness over the optimum, mean, simple";
        LIMITED_STALLS = "fairways, unfairness over the optimum, mean, stalls";
    }
}

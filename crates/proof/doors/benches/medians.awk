# Medians over the rounds of a case, from the raw rows of `daemon`.
# A case is what its row says before the round; system calls were counted once.

BEGIN { FS = "," }
NR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    for (i = 1; i < at["round"]; i++) head = head $i ","
    next
}
{
    case_ = ""
    for (i = 1; i < at["round"]; i++) case_ = case_ (i > 1 ? "," : "") $i
    if (!(case_ in rounds)) order[++cases] = case_
    if ($at["calls_per_workload_and_tick"] != "") calls[case_] = $at["calls_per_workload_and_tick"]
    n = ++rounds[case_]; micros[case_, n] = $at["us_per_workload_and_tick"]
    percent[case_, n] = $at["percent_of_a_core"]; kib[case_, n] = $at["rss_kib"]
}
function median(of, case_,    values, n, i, j, held) {
    n = rounds[case_]
    for (i = 1; i <= n; i++) {
        held = of[case_, i] + 0
        for (j = i - 1; j > 0 && values[j] > held; j--) values[j + 1] = values[j]
        values[j + 1] = held
    }
    return values[int((n + 1) / 2)]
}
END {
    print head "us,calls,percent_of_a_core,rss_kib"
    for (i = 1; i <= cases; i++) {
        c = order[i]
        printf "%s,%.2f,%s,%.3f,%d\n", c, median(micros, c), calls[c], median(percent, c), median(kib, c)
    }
}

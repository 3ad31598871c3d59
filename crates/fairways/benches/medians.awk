# Medians over the rounds of a case, from the raw rows of `daemon`.
# A case is what its row says before the round; system calls were counted once.

BEGIN { FS = "," }
NR == 1 { next }
{
    case_ = $1 "," $2 "," $3 "," $4 "," $5 "," $6
    if (!(case_ in rounds)) { order[++cases] = case_; calls[case_] = $9 }
    n = ++rounds[case_]; micros[case_, n] = $8; percent[case_, n] = $10; kib[case_, n] = $11
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
    print "client,workloads,tick_ms,groups,cpus,threads,us,calls,percent_of_a_core,rss_kib"
    for (i = 1; i <= cases; i++) {
        c = order[i]
        printf "%s,%.2f,%s,%.3f,%d\n", c, median(micros, c), calls[c], median(percent, c), median(kib, c)
    }
}

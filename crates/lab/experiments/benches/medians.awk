# The median of each case's rounds: awk -f medians.awk FILE.csv
# A case is all columns but the last two, which are the round and the value.
BEGIN { FS = OFS = "," }
NR == 1 { NF -= 2; print $0, "median"; next }
{
    value = $NF
    NF -= 2
    if (!($0 in count)) order[++cases] = $0
    values[$0, ++count[$0]] = value
}
END {
    for (c = 1; c <= cases; c++) {
        key = order[c]
        n = count[key]
        for (i = 2; i <= n; i++) {
            v = values[key, i]
            for (j = i - 1; j >= 1 && values[key, j] + 0 > v + 0; j--) values[key, j + 1] = values[key, j]
            values[key, j + 1] = v
        }
        print key, values[key, int((n + 1) / 2)]
    }
}

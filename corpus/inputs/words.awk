{ for (i = 1; i <= NF; i++) { count[$i]++; if (length($i) > longest[NR % 100]) longest[NR % 100] = length($i) } }
END { for (word in count) { total += count[word] * length(word) } print total }

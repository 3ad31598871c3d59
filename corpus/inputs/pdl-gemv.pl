use PDL; set_autopthread_targ(0);
my $a = ones(3200, 3200); my $x = ones(3200);
for (1 .. 120) { $x = inner($a, $x); $x /= sqrt(sum($x * $x)) }
print sum($x), "\n";

use PDL; set_autopthread_targ(0);
my $x = ones(12_000_000); my $y = $x->copy;
for (1 .. 200) { $y *= 0.5; $y += $x }
print sum($y), "\n";

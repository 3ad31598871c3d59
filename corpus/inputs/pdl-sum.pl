use PDL; set_autopthread_targ(0);
my $x = sequence(12_000_000);
my $s = 0; for (1 .. 200) { $s += sum($x) }
print "$s\n";

# What CREATE INDEX does to its processes: one thread, memory within the limit,
# and an end as soon as it is cancelled.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use VxTest;

plan skip_all => 'needs /proc of Linux' unless -r '/proc/self/status';

my $dims = 256;
my $work_mb = 16;
my $node = new_server('memory', $dims, conf => qq{
autovacuum = off
maintenance_work_mem = ${work_mb}MB
max_parallel_maintenance_workers = 2
});
# 45,000 rows, 46 MB of vectors: sums of two of 300.
$node->safe_psql('postgres', qq{
	CREATE TABLE part AS SELECT id, vec(id)::vector($dims) AS v FROM generate_series(1, 300) id;
	CREATE TABLE item AS SELECT a.id * 1000 + b.id AS id, (a.v + b.v)::vector($dims) AS v
	FROM part a, part b WHERE a.id <= 150;});

# A session that stays: what it is sent, and what it has said.
my ($in, $out, $err) = ('', '', '');
my $session = IPC::Run::start(
	[ 'psql', '-XAtq', '-h', $node->host, '-p', $node->port, 'postgres' ],
	'<', \$in, '>', \$out, '2>', \$err);
sub send_sql
{
	($out, $err) = ('', '');
	$in .= "$_[0]\n\\echo done\n";
	$session->pump_nb;
}
sub finished
{
	$session->pump_nb;
	return $out =~ /^done$/m;
}
sub run_sql
{
	send_sql($_[0]);
	wait_for(\&finished, $_[0]);
	return $out =~ s/^done\n//mr;
}
my ($pid) = run_sql('SELECT pg_backend_pid();') =~ /(\d+)/;
sub status_of
{
	my ($field) = @_;
	my ($value) = slurp_file("/proc/$pid/status") =~ /^$field:\s+(\d+)/m;
	return $value;
}

# Kilobytes of the session's segments of dynamic shared memory.
sub segments
{
	my $bytes = 0;
	for (split /\n/, slurp_file("/proc/$pid/maps"))
	{
		$bytes += hex($2) - hex($1) if m{^(\w+)-(\w+) .*/PostgreSQL\.\d+};
	}
	return $bytes / 1024;
}

# Private memory of the session's parallel workers.
sub workers_memory
{
	my $sum = 0;
	for my $process (glob '/proc/[0-9]*')
	{
		# It may be gone at any time.
		my $command = eval { slurp_file("$process/cmdline") } // '';
		next if $command !~ /parallel worker for PID $pid\b/;
		my $status = eval { slurp_file("$process/status") } // '';
		$sum += $1 if $status =~ /^RssAnon:\s+(\d+)/m;
	}
	return $sum;
}

for my $case ([ 'lists = 0', 0 ], [ 'lists = 300', 0 ], [ 'lists = 2000', 0 ],
	[ 'lists = 2000', 2 ])
{
	my ($options, $workers) = @$case;
	my $peak = 0;
	my $shared = 0;
	run_sql("ALTER TABLE item SET (parallel_workers = $workers);");
	send_sql("CREATE INDEX item_v ON item USING ann (v) WITH ($options);");
	wait_for(
		sub {
			for (1 .. 20)
			{
				my $segments = segments();
				my $now = status_of('RssAnon') + $segments + workers_memory();
				$peak = $now if $now > $peak;
				$shared = $segments if $segments > $shared;
				usleep(5000);
			}
			return finished();
		},
		"CREATE INDEX with $options, $workers workers");
	$options .= ", $workers workers";
	is($err, '', "$options: built");
	cmp_ok($peak, '<', ($work_mb + 64) * 1024,
		"$options: memory within maintenance_work_mem + 64 MB");
	# The sample, most of the memory there is, is shared.
	cmp_ok($shared, '>', $work_mb * 1024 / 2, "$options: a shared sample")
	  if $workers > 0;
	is(status_of('Threads'), 1, "$options: one thread");
	run_sql('SET enable_seqscan = off;
		SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> vec(1) LIMIT 100) a;');
	is(status_of('Threads'), 1, "$options: one thread after a scan");
	run_sql('DROP INDEX item_v;');
}
run_sql('ALTER TABLE item SET (parallel_workers = 0);');
my $before = status_of('RssAnon');
run_sql('INSERT INTO part SELECT id, v FROM item LIMIT 10;');
cmp_ok($before, '<', 64 * 1024, 'memory is given back after a build');

# A cancel in each phase.  The build runs again until the phase is seen.
for my $phase ('sampling rows', 'clustering', 'assigning rows to lists')
{
	send_sql('CREATE INDEX item_v ON item USING ann (v) WITH (lists = 2000);');
	wait_for(
		sub {
			if (finished())
			{
				run_sql('DROP INDEX item_v;');
				send_sql('CREATE INDEX item_v ON item USING ann (v) WITH (lists = 2000);');
			}
			return $node->safe_psql('postgres',
				"SELECT count(*) FROM pg_stat_progress_create_index
				 WHERE phase = 'building index: $phase'");
		},
		$phase);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	# Ten seconds, where one is promised: the machine may be busy.
	my $polls = 0;
	while (!finished() && $polls < 100)
	{
		$polls++;
		usleep(100_000);
	}
	cmp_ok($polls, '<', 100, "$phase: cancelled soon");
	like($err, qr/canceling statement due to user request/, "$phase: cancelled");
	is($node->safe_psql('postgres', q{SELECT to_regclass('item_v') IS NULL}),
		't', "$phase: no index is left");
}
$in .= "\\q\n";
$session->finish;
$node->stop;
done_testing();

# What CREATE INDEX does to its process: one thread, private memory within the
# limit, and an end as soon as it is cancelled.
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

for my $options ('lists = 0', 'lists = 300', 'lists = 2000')
{
	my $peak = 0;
	send_sql("CREATE INDEX item_v ON item USING ann (v) WITH ($options);");
	wait_for(
		sub {
			for (1 .. 20)
			{
				my $now = status_of('RssAnon');
				$peak = $now if $now > $peak;
				usleep(5000);
			}
			return finished();
		},
		"CREATE INDEX with $options");
	is($err, '', "$options: built");
	cmp_ok($peak, '<', ($work_mb + 64) * 1024,
		"$options: private memory within maintenance_work_mem + 64 MB");
	is(status_of('Threads'), 1, "$options: one thread");
	run_sql('SET enable_seqscan = off;
		SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> vec(1) LIMIT 100) a;');
	is(status_of('Threads'), 1, "$options: one thread after a scan");
	run_sql('DROP INDEX item_v;');
}
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

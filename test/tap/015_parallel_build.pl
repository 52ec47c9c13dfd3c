# Builds with parallel workers: the same index, page by page, whatever their
# number; cancelled, killed, and concurrent with writers.
use strict;
use warnings;
use Digest::MD5;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 48;
my $rows = 12000;
my $node = new_server('build', $dims, conf => qq{
autovacuum = off
max_worker_processes = 8
log_min_messages = debug1
});
$node->safe_psql('postgres', qq{
	CREATE TABLE item (id int, v vector($dims));}
	  . add_rows('item', $dims, 1, $rows) . q{
	INSERT INTO item SELECT -id, NULL FROM generate_series(1, 50) id;
	INSERT INTO item SELECT -50 - id, (SELECT array_agg(0)::real[]
		FROM generate_series(1, 48))::vector FROM generate_series(1, 30) id;
	DELETE FROM item WHERE id % 97 = 0;
	VACUUM ANALYZE item;});
my $count = $node->safe_psql('postgres', 'SELECT count(*) FROM item');

# Names of the building processes in the log tell how many workers there were.
my $workers_seen = 0;

sub workers_started
{
	my $log = slurp_file($node->logfile);
	my $count = () = $log =~ /starting background worker process "parallel worker/g;
	my $new = $count - $workers_seen;
	$workers_seen = $count;
	return $new;
}

# MD5 of an index's pages, log position and checksum left out.
sub digest
{
	my ($index) = @_;
	my $file = slurp_file($node->data_dir . '/'
		  . $node->safe_psql('postgres',
			"CHECKPOINT; SELECT pg_relation_filepath('$index')"));
	my $md5 = Digest::MD5->new;
	for (my $at = 0; $at < length $file; $at += 8192)
	{
		$md5->add(substr($file, $at + 10, 8192 - 10));
	}
	return length($file) . ' ' . $md5->hexdigest;
}

# Workers are launched for the clustering and for the rows; a flat index has no
# clustering.  Up to 170 lists it has one level, and with little memory smaller
# blocks the more processes there are.
for my $case (
	[ 'cosine', '(v vector_cosine_ops)' ],
	[ 'L2, many lists', '(v) WITH (lists = 700)' ],
	[ 'inner product, 8 bits', '(v vector_ip_ops) WITH (bits = 8, seed = 7)' ],
	[ 'flat', '(v) WITH (lists = 0)' ],
	[ 'two lists', '(v) WITH (lists = 2)' ],
	[ 'one level', '(v) WITH (lists = 170)' ],
	[ 'two levels', '(v) WITH (lists = 171)' ],
	[ 'little memory', '(v) WITH (lists = 300)', '1MB' ],
	[ 'few distinct rows', '((ARRAY[id % 60, id % 7, 1]::real[]::vector(3))) WITH (lists = 700)' ],
	[ 'filter columns', '(v, id, (id % 5 = 0), (id::text)) WITH (lists = 200)' ],
	[ 'partial, expression', '((v + v)) WHERE id % 2 = 0' ])
{
	my ($name, $definition, $memory) = (@$case, '128MB');
	my @digests;
	for my $workers (0, 1, 2)
	{
		workers_started();
		$node->safe_psql('postgres', qq{
			SET client_min_messages = error;
			ALTER TABLE item SET (parallel_workers = $workers);
			SET maintenance_work_mem = '$memory';
			DROP INDEX IF EXISTS item_v;
			CREATE INDEX item_v ON item USING ann $definition;});
		my $launches = $node->safe_psql('postgres',
			q{SELECT CASE WHEN lists > 1 THEN 2 ELSE 1 END FROM ann_info('item_v')});
		is(workers_started(), $launches * $workers, "$name: $workers workers");
		push @digests, digest('item_v');
	}
	is($digests[1], $digests[0], "$name: one worker, the same pages");
	is($digests[2], $digests[0], "$name: two workers, the same pages");
	check_ok($node, 'item_v', $name);
}

# REINDEX CONCURRENTLY beside writers.
my ($out, $err) = ('', '');
my $file = PostgreSQL::Test::Utils::tempdir() . '/write.sql';
append_to_file($file, qq{
\\set id random(1, $rows)
UPDATE item SET v = v WHERE id = :id;
INSERT INTO item SELECT 100000 + :id, v FROM item WHERE id = :id;
});
my $writers = IPC::Run::start(
	[ 'pgbench', '-n', '-T', 600, '-c', 2, '-f', $file, '-h', $node->host, '-p',
		$node->port, 'postgres' ], '>', \$out, '2>', \$err);
workers_started();
for my $round (1 .. 3)
{
	$node->safe_psql('postgres', q{
		SET maintenance_work_mem = '128MB';
		REINDEX INDEX CONCURRENTLY item_v;});
}
cmp_ok(workers_started(), '>=', 2, 'workers of a concurrent build');
$writers->kill_kill;
check_ok($node, 'item_v', 'concurrent build');

# A worker that is killed, a build that is cancelled: no index, no files left.
$node->safe_psql('postgres', q{
	INSERT INTO item SELECT id, v FROM item; INSERT INTO item SELECT id, v FROM item;
	DROP INDEX item_v;});
my $temporary = sub {
	return scalar grep { /pgsql_tmp\d/ } glob($node->data_dir . '/base/pgsql_tmp/*');
};
for my $case (
	[ 'clustering', 'parallel worker' ],
	[ 'clustering', 'client backend' ],
	[ 'assigning rows to lists', 'parallel worker' ],
	[ 'assigning rows to lists', 'client backend' ],
	[ 'calibrating', 'parallel worker' ],
	[ 'calibrating', 'client backend' ])
{
	my ($phase, $victim) = @$case;
	# Again, where the build was through before it was seen.
	for (1 .. 20)
	{
		$node->safe_psql('postgres', 'DROP INDEX IF EXISTS item_v');
		my $builder = IPC::Run::start(
			[ 'psql', '-Xq', '-h', $node->host, '-p', $node->port, '-d', 'postgres',
				'-c', q{SET maintenance_work_mem = '128MB'}, '-c',
				'CREATE INDEX item_v ON item USING ann (v) WITH (lists = 20000)' ],
			'>', \$out, '2>', \$err);
		$node->safe_psql('postgres', qq{
			DO \$\$
			BEGIN
				FOR i IN 1 .. 3000 LOOP
					PERFORM pg_stat_clear_snapshot();
					PERFORM pg_cancel_backend(a.pid)
					FROM pg_stat_activity a, pg_stat_activity w,
						pg_stat_progress_create_index p
					WHERE a.backend_type = '$victim' AND a.query LIKE 'CREATE INDEX%'
					AND w.backend_type = 'parallel worker'
					AND w.query LIKE 'CREATE INDEX%'
					AND p.phase = 'building index: $phase';
					EXIT WHEN FOUND;
					PERFORM pg_sleep(0.002);
				END LOOP;
			END \$\$});
		$builder->finish;
		last if $err ne '';
	}
	like($err, qr/cancel/, "$phase, $victim cancelled: the build ends with an error");
	is($node->safe_psql('postgres', q{SELECT to_regclass('item_v') IS NULL}),
		't', "$phase, $victim cancelled: no index");
	is($temporary->(), 0, "$phase, $victim cancelled: no temporary file");
	$err = '';
}
$node->safe_psql('postgres', q{
	SET maintenance_work_mem = '128MB';
	CREATE INDEX item_v ON item USING ann (v) WITH (lists = 500);});
check_ok($node, 'item_v', 'after cancelled builds');

# Shared memory for the sample that the system does not have: new processes may
# not write files, nor segments, of more than 17 MB, one WAL segment and a bit.
SKIP:
{
	skip 'needs prlimit', 3 if system('command -v prlimit >/dev/null') != 0;
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	$node->safe_psql('postgres', q{
		INSERT INTO item SELECT id, v FROM item;
		DROP INDEX item_v;});
	my @digests;
	for my $limit ('unlimited', 17 * 1024 * 1024)
	{
		IPC::Run::run([ 'prlimit', "--fsize=$limit:", '--pid', $postmaster ]);
		my ($code, $stdout, $stderr) = $node->psql('postgres', q{
			SET maintenance_work_mem = '128MB';
			DROP INDEX IF EXISTS item_v;
			CREATE INDEX item_v ON item USING ann (v) WITH (lists = 1000);});
		push @digests, digest('item_v');
		like($stderr, qr/NOTICE:  clustering is done without parallel workers/,
			'no room for the sample: a notice') if $limit ne 'unlimited';
	}
	IPC::Run::run([ 'prlimit', '--fsize=unlimited:', '--pid', $postmaster ]);
	is($digests[1], $digests[0], 'no room for the sample: the same pages');
	check_ok($node, 'item_v', 'no room for the sample');
}
$node->stop;
done_testing();

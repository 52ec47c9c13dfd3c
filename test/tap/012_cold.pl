# A server with cold caches, and a backend after many queries: the first query
# reads only what it needs, ann_prewarm reads the rest, and nothing is kept.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 64;
my $node = new_server('cold', $dims, conf => "autovacuum = off\nshared_buffers = 64MB\n");
# 20,000 rows: sums of two of 200.  A TOAST table is not needed for 64 values.
$node->safe_psql('postgres', qq{
	CREATE TABLE part AS SELECT id, vec(id)::vector($dims) AS v FROM generate_series(1, 200) id;
	CREATE TABLE item AS SELECT a.id * 1000 + b.id AS id, (a.v + b.v)::vector($dims) AS v
	FROM part a, part b WHERE a.id <= 100;
	CREATE INDEX item_v ON item USING ann (v) WITH (lists = 200, seed = 1);
	VACUUM ANALYZE item;});
my $pages = $node->safe_psql('postgres', q{SELECT pages FROM ann_info('item_v')});
my $path = $node->data_dir . '/'
  . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('item_v')});

# The server starts anew, and the system forgets the file where dd can ask so.
sub cool
{
	$node->restart;
	system_log('dd', "if=$path", 'iflag=nocache', 'count=0');
}

# The rows are hard to cluster: a low recall, so that some lists are left.
my $query = q{SET enable_seqscan = off; SET enable_sort = off; SET vector_ext.recall = 0.5;
	SELECT string_agg(id::text, ' ' ORDER BY n) FROM
		(SELECT id, row_number() OVER () AS n FROM
			(SELECT id FROM item ORDER BY v <-> vec(500) LIMIT 10) a) b;};
my $work = q{SELECT probed, lists, buffers_hit, buffers_read, stop FROM ann_last_scan();};

my $warm = $node->safe_psql('postgres', $query);
my $of_directory;
for my $depth (0, 1, 16, 1000)
{
	cool();
	my ($ids, $counts) = split /\n/, $node->safe_psql('postgres',
		"SET effective_io_concurrency = $depth; $query $work");
	my ($probed, $lists, $hit, $read, $stop) = split /\|/, $counts;
	is($ids, $warm, "depth $depth: the rows of a warm query");
	is($stop, 'budget', "depth $depth: stopped by the rule");
	cmp_ok($probed, '<', $lists / 2, "depth $depth: some of the lists");
	cmp_ok($read, '>', $probed, "depth $depth: pages were read");
	cmp_ok($read, '<', $pages * $probed / $lists + 150,
		"depth $depth: pages of other lists were not");
}

# A bitmap scan and a drain, cold.
for my $sql ('SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> vec(500)) a;')
{
	cool();
	is($node->safe_psql('postgres',
		"SET effective_io_concurrency = 16; SET enable_seqscan = off;
		 SET enable_sort = off; $sql"), 20000, 'a cold scan of all rows');
}

# ann_prewarm leaves nothing of the index to be read.
cool();
is($node->safe_psql('postgres', q{SELECT ann_prewarm('item_v', 'directory') > 3}),
	't', 'the directory');
is($node->safe_psql('postgres', q{SELECT ann_prewarm('item_v')}), $pages,
	'every page');
$node->safe_psql('postgres', 'SELECT pg_stat_reset()');
$node->safe_psql('postgres', "$query SELECT pg_stat_force_next_flush(); SELECT 1;");
is( $node->safe_psql('postgres',
		q{SELECT idx_blks_read, idx_blks_hit > 20 FROM pg_statio_user_indexes
		  WHERE indexrelname = 'item_v'}),
	'0|t', 'no page of the index is read after ann_prewarm');

# An index larger than three quarters of the buffers is read up to that.
$node->append_conf('postgresql.conf', 'shared_buffers = 1MB');
cool();
is($node->safe_psql('postgres', q{SELECT ann_prewarm('item_v')}), 96,
	'so much as fits');

# What a backend holds after a thousand queries.
SKIP:
{
	skip 'needs /proc of Linux', 1 unless -r '/proc/self/status';
	my $used = $node->safe_psql('postgres', q{
		SET enable_seqscan = off; SET enable_sort = off; SET jit = off;
		CREATE FUNCTION anon() RETURNS int LANGUAGE sql AS $$
			SELECT (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+)'))[1]::int $$;
		CREATE FUNCTION ask(n int) RETURNS int LANGUAGE plpgsql AS $$
		BEGIN
			RETURN (SELECT sum(id) FROM (SELECT id FROM item ORDER BY v <-> vec(n) LIMIT 10) a);
		END $$;
		SELECT anon() AS before \gset
		SELECT count(ask(n)) FROM generate_series(1, 1000) n \g /dev/null
		SELECT anon() - :before;});
	cmp_ok($used, '<', 16 * 1024, "memory after 1,000 queries ($used kB more)");
}
$node->stop;
done_testing();

# What repeated scans of an index larger than shared_buffers do to the pages that
# others use: nothing.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

# 512 buffers; the index has more pages.
my $node = new_server('buffers', 500, conf => qq{
	autovacuum = off
	shared_buffers = 4MB
	max_parallel_workers_per_gather = 0
});
sub value { return $node->safe_psql('postgres', $_[0]); }
sub cached
{
	return value(qq{SELECT count(*) FROM pg_buffercache
		WHERE relfilenode = pg_relation_filenode('$_[0]')
		AND relforknumber = 0});
}

# Vectors of two halves: cheap to make.
value(q{
	CREATE EXTENSION pg_buffercache;
	CREATE TABLE half AS SELECT id, vec(id) AS v FROM generate_series(1, 90) id;
	CREATE TABLE t AS SELECT a.id * 100 + b.id AS id, (a.v || b.v)::vector(1000) AS v
		FROM half a, half b;
	CREATE TABLE hot AS SELECT id, repeat('x', 800) AS filler
		FROM generate_series(1, 500) id;
	CREATE INDEX t_v ON t USING ann (v) WITH (lists = 0);
	CREATE TABLE small AS SELECT id, v FROM t WHERE id < 200;
	CREATE INDEX small_v ON small USING ann (v) WITH (lists = 0, layout = whole);
	VACUUM ANALYZE t;
	CHECKPOINT;});
my $pages = value(q{SELECT pg_relation_size('t_v') / 8192});
cmp_ok($pages, '>', 512, "the index has $pages pages");

sub scan
{
	my ($table, $seed, $settings) = @_;
	return value(qq{
		SET enable_seqscan = off; $settings
		SELECT count(*) FROM (SELECT id FROM $table
			ORDER BY v <-> (SELECT v || v FROM half WHERE id = $seed) LIMIT 3) s});
}

for my $settings ('', 'SET vector_ext.recall = 1;')
{
	$node->restart;
	value('SELECT count(filler) FROM hot') for 1 .. 4;
	my $hot = cached('hot');
	cmp_ok($hot, '>=', 55, "the hot table is cached: $hot pages");
	for my $seed (1 .. 6)
	{
		is(scan('t', $seed, $settings), 3, "scan $seed");
		is(cached('hot'), $hot, 'after which the hot table is cached');
		value('SELECT count(filler) FROM hot');
	}
	cmp_ok(cached('t_v'), '<=', 256, 'the index took few buffers');
}

# A small index stays, and is read from there.
scan('small', 1, '');
cmp_ok(cached('small_v') + 2, '>=',
	value(q{SELECT pg_relation_size('small_v') / 8192}),
	'a small index is cached but for its special lists');

done_testing();

# Parallel scans beside writers and VACUUM, and on a standby: every row once.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 32;
my $forced = q{
	parallel_setup_cost = 0
	parallel_tuple_cost = 0
	min_parallel_index_scan_size = 0
	min_parallel_table_scan_size = 0
	max_parallel_workers_per_gather = 2
};
my $node = new_server('parallel', $dims,
	conf => "autovacuum = off\n$forced", init => { allows_streaming => 1 });
sub value { return $node->safe_psql('postgres', $_[0]); }

value('ALTER FUNCTION vec PARALLEL SAFE');

# Rows 1..2000 stay; the others come and go.
value("CREATE TABLE flat (id int, v vector($dims));" . add_rows('flat', $dims, 1, 4000));
value(q{
	CREATE TABLE lists AS SELECT * FROM flat;
	CREATE INDEX flat_v ON flat USING ann (v) WITH (lists = 0);
	CREATE INDEX lists_v ON lists USING ann (v) WITH (lists = 20);
	VACUUM ANALYZE flat; VACUUM ANALYZE lists;});
$node->backup('base');

# All rows by the index, in parallel, against the table in the same snapshot.
sub check_script
{
	my ($table) = @_;
	return qq{
\\set seed random(1, 1000)
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SET LOCAL enable_sort = off;
		SET LOCAL enable_seqscan = off;
		SELECT count(*) AS n, count(DISTINCT tid) AS d,
			count(*) FILTER (WHERE id <= 2000) AS kept
			FROM (SELECT id, ctid AS tid FROM $table ORDER BY v <-> vec(:seed)) s \\gset
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_indexscan = off;
		SELECT count(*) AS all_rows FROM $table \\gset
		COMMIT;
		SELECT 1 / (:n = :d AND :kept = 2000 AND :n = :all_rows)::int;
		SELECT 1 / (count(*) = 10)::int
			FROM (SELECT id FROM $table ORDER BY v <-> vec(:seed) LIMIT 10) s;
	};
}

for my $table ('flat', 'lists')
{
	like(value(qq{SET enable_sort = off; SET enable_seqscan = off;
		EXPLAIN SELECT id FROM $table ORDER BY v <-> vec(1)}),
		qr/Gather Merge.*Parallel Index Scan/s, "$table: the plan is parallel");
	$node->pgbench(
		'--no-vacuum --client=4 --transactions=25 --jobs=1', 0, [qr/processed/],
		[qr/^$/], "$table: parallel scans beside writers",
		{
			"check_$table\@3" => check_script($table),
			"write_$table\@2" => qq{
				\\set a random(1, 2000)
				DELETE FROM $table WHERE id BETWEEN 2000 + :a AND 2200 + :a;
				INSERT INTO $table SELECT id, vec(id + :a)
					FROM generate_series(2001 + :a, 2001 + :a + 150) id;},
			"vacuum_$table\@1" => "VACUUM $table",
		});
	value("DELETE FROM $table WHERE id > 2000; VACUUM $table");
	is(equal_ok($node, $table, '<->', $table), 2000, "$table: the rows that stay");
	check_ok($node, "${table}_v", $table);
}

# VACUUM takes empty pages away when no parallel scan runs.
value("INSERT INTO flat SELECT id, vec(id) FROM generate_series(5001, 9000) id");
my $leads = q{SELECT sum(pages) FROM ann_lists('flat_v')};
my $before = value($leads);
value("DELETE FROM flat WHERE id > 2000; VACUUM flat");
cmp_ok(value($leads), '<', $before, 'pages are unlinked without a scan');

# A standby: one process takes everything.
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
value('DELETE FROM lists WHERE id % 5 = 0; VACUUM lists');
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
for my $table ('flat', 'lists')
{
	my $set = 'SET enable_sort = off; SET enable_seqscan = off;';
	like($standby->safe_psql('postgres', "$set EXPLAIN SELECT id FROM $table
		ORDER BY v <-> vec(1)"), qr/Gather Merge/, "standby, $table: parallel");
	for my $more ('', ' LIMIT 100')
	{
		my $query = "$set SET vector_ext.recall = 1; SELECT string_agg(id::text, ',')
			FROM (SELECT id FROM $table WHERE v IS NOT NULL AND id % 43 > 0
				ORDER BY v <-> vec(1)$more) s";
		is($standby->safe_psql('postgres', $query),
			value("SET max_parallel_workers_per_gather = 0; $query"),
			"standby, $table: the rows of the primary$more");
	}
}

done_testing();

# What VACUUM gives back, and that it does no harm to writers beside it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 64;
my $node = new_server('vacuum', $dims, conf => "autovacuum = off\n");
sub value { return $node->safe_psql('postgres', $_[0]); }
sub bytes { return value("SELECT pg_relation_size('$_[0]')"); }

$node->safe_psql('postgres', "CREATE TABLE source (id int, v vector($dims));"
	  . add_rows('source', $dims, 1, 8000));

# Delete half and insert as many: the index is at most 1.1 times as large.
for my $case ([ 'scattered', 'id % 2 = 0', 20 ], [ 'half', 'id <= 4000', 20 ],
	[ 'flat', 'id % 2 = 0', 0 ], [ 'flat_half', 'id <= 4000', 0 ],
	[ 'planes', 'id % 2 = 0', 4, 'planes' ], [ 'planes_half', 'id <= 4000', 0, 'planes' ])
{
	my ($table, $condition, $lists, $layout) = @$case;
	$layout ||= 'auto';
	my $index = "${table}_v";
	value(qq{
		CREATE TABLE $table AS SELECT * FROM source;
		CREATE INDEX $index ON $table USING ann (v)
			WITH (lists = $lists, layout = $layout);});
	my $before = bytes($index);
	for my $round (1 .. 3)
	{
		value("DELETE FROM $table WHERE $condition");
		value("VACUUM $table");
		value("INSERT INTO $table SELECT * FROM source WHERE $condition");
	}
	cmp_ok(bytes($index), '<=', 1.1 * $before, "$table: the index does not grow");
	is(equal_ok($node, $table, '<->', $table), 8000, "$table: all rows");
	is(check_ok($node, $index, $table), 8000, "$table: checked");
}

# Pages of deleted rows return to the free space map, and are taken from there
# by other lists.
value('DELETE FROM half WHERE id > 1000');
value('VACUUM half');
value('CREATE EXTENSION pg_freespacemap');
my $free = value(q{SELECT count(*) FROM pg_freespace('half_v') WHERE avail > 0});
my $size = bytes('half_v') / 8192;
cmp_ok($free, '>', $size / 2, 'most pages are free');
value('INSERT INTO half SELECT id, vec(-1) FROM generate_series(1, 3000) id');
is(bytes('half_v') / 8192, $size, 'one list takes the pages of the others');
check_ok($node, 'half_v', 'free pages taken');
equal_ok($node, 'half', '<->', 'free pages taken');

# The code pages of a lead that is unlinked are free as well.
value('DELETE FROM planes_half WHERE id > 100');
value('VACUUM planes_half');
$free = value(q{SELECT count(*) FROM pg_freespace('planes_half_v') WHERE avail > 0});
$size = bytes('planes_half_v') / 8192;
cmp_ok($free, '>=', $size - 8, 'leads and code pages are free');
check_ok($node, 'planes_half_v', 'leads and code pages are free');
value("INSERT INTO planes_half SELECT * FROM source WHERE id > 100");
is(bytes('planes_half_v') / 8192, $size, 'and taken again');
is(check_ok($node, 'planes_half_v', 'taken again'), 8000, 'all rows are there');

# What a pass over an index without rows does.
value(qq{
	CREATE TABLE none (id int, v vector($dims));
	CREATE INDEX none_v ON none USING ann (v);});
value('VACUUM none');
value('VACUUM (FREEZE, ANALYZE) none');
is(check_ok($node, 'none_v', 'empty'), 0, 'empty: vacuum');
value(add_rows('none', $dims, 1, 500));
value('DELETE FROM none');
value('VACUUM none');
is(check_ok($node, 'none_v', 'emptied'), 0, 'emptied: vacuum');
value(add_rows('none', $dims, 1, 500));
is(equal_ok($node, 'none', '<->', 'emptied'), 500, 'emptied: filled again');

# The number of rows that VACUUM reports to the planner.
value('VACUUM flat');
is(value(q{SELECT reltuples FROM pg_class WHERE relname = 'flat_v'}), 8000,
	'reltuples');
is(value(q{SELECT rows FROM ann_info('flat_v')}), 8000, 'rows of ann_info');
is(value('VACUUM (INDEX_CLEANUP off) flat; SELECT 1'), 1, 'without cleanup');
value('VACUUM (PARALLEL 2) flat');
# Small memory for the dead rows: bulk delete runs several times.
value(q{DELETE FROM flat WHERE id % 3 = 0});
value(q{SET maintenance_work_mem = '1MB'; VACUUM flat});
check_ok($node, 'flat_v', 'after all of these');

# Writers beside a VACUUM that never rests.
value(qq{
	CREATE TABLE busy AS SELECT * FROM source WHERE id <= 2000;
	CREATE INDEX busy_flat ON busy USING ann (v) WITH (lists = 0);
	CREATE INDEX busy_lists ON busy USING ann (v, id)
		WITH (lists = 3, layout = planes);});
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/write.sql", qq{
\\set id random(1, 2000)
DELETE FROM busy WHERE id BETWEEN :id AND :id + 9;
INSERT INTO busy SELECT * FROM source WHERE id BETWEEN :id AND :id + 9;
UPDATE busy SET v = vec(:id) WHERE id = :id;
});
# Without truncation: VACUUM waits up to 5 s for that lock when others are busy.
append_to_file("$dir/vacuum.sql", "VACUUM (TRUNCATE off) busy;\n");
append_to_file("$dir/read.sql", qq{
\\set id random(1, 2000)
SET enable_seqscan = off;
SELECT id FROM busy ORDER BY v <-> vec(:id) LIMIT 50;
});
$node->command_ok(
	[ 'pgbench', '-n', '-c', 6, '-t', 150, '--random-seed', 5, '-f',
		"$dir/write.sql\@6", '-f', "$dir/vacuum.sql\@2", '-f',
		"$dir/read.sql\@2", '-h', $node->host, '-p', $node->port,
		'postgres' ],
	'writers, readers and vacuum');
for my $index ('busy_flat', 'busy_lists')
{
	my $other = $index eq 'busy_flat' ? 'busy_lists' : 'busy_flat';
	check_ok($node, $index, $index);
	my $got = $node->safe_psql('postgres', "BEGIN; DROP INDEX $other;"
		  . compare_sql('busy', '<->') . 'ROLLBACK');
	like($got, qr/^[1-9]\d+\|0\|0$/, "$index has the rows of the table");
}
value('VACUUM busy');
is(check_ok($node, $_, $_), value('SELECT count(*) FROM busy'),
	"$_: nothing dead is left") for 'busy_flat', 'busy_lists';
$node->stop;
done_testing();

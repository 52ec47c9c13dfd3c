# SIGKILL of a server during CREATE INDEX: no index is left, and a new build is
# right.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 64;
my $node = new_server('crash', $dims, conf => qq{
autovacuum = off
max_wal_size = 64MB
});
$node->safe_psql('postgres', "CREATE TABLE item (id int, v vector($dims));"
	  . add_rows('item', $dims, 1, 6000));
my $path = $node->data_dir . '/base';

# A build is slow enough to be met in each of its phases: the later ones are
# reached by a table large enough for them.
for my $phase ('clustering', 'assigning rows to lists', 'writing lists')
{
	my ($out, $err) = ('', '');
	# It runs again and again until the phase is seen.
	my $file = PostgreSQL::Test::Utils::tempdir() . '/build.sql';
	append_to_file($file, qq{
CREATE INDEX item_v ON item USING ann (v) WITH (lists = 300, layout = planes);
DROP INDEX item_v;
});
	my $builder = IPC::Run::start(
		[ 'pgbench', '-n', '-T', 600, '-c', 1, '-f', $file, '-h', $node->host,
			'-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err);
	wait_for(
		sub {
			$node->safe_psql('postgres',
				"SELECT count(*) FROM pg_stat_progress_create_index
				 WHERE phase = 'building index: $phase'");
		},
		$phase);
	crash($node);
	$builder->finish;
	$node->start;
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('item_v')
			 AND NOT indisvalid"),
		0, "$phase: no half index");
	$node->safe_psql('postgres', qq{
		DROP INDEX IF EXISTS item_v;
		CREATE INDEX item_v ON item USING ann (v)
			WITH (lists = 300, layout = planes);});
	is(equal_ok($node, 'item', '<->', $phase), 6000, "$phase: all rows");
	is(check_ok($node, 'item_v', $phase), 6000, "$phase: all rows are checked");
	$node->safe_psql('postgres', 'DROP INDEX item_v');
}

# A crash right after the commit of a build: it is all in the WAL.
$node->safe_psql('postgres',
	'CREATE INDEX item_v ON item USING ann (v vector_ip_ops) WITH (lists = 30)');
crash($node);
$node->start;
is(equal_ok($node, 'item', '<#>', 'after commit'), 6000, 'after commit: all rows');
is(check_ok($node, 'item_v', 'after commit'), 6000, 'after commit: all rows are checked');
$node->stop;
done_testing();

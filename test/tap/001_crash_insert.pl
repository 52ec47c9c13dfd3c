# SIGKILL of a whole server under inserts, updates, deletes and vacuum: what the
# restarted server has in its indexes is what it has in its tables.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $rounds = 4;
my $dims = 64;
srand(42);

my $node = new_server('crash', $dims, conf => qq{
autovacuum = off
checkpoint_timeout = 30s
});
my @indexes = ('item_l2 <->', 'item_cosine <=>', 'item_planes <#>', 'born_v <->',
	'born_planes <=>');
$node->safe_psql('postgres', qq{
	CREATE TABLE item (id int, v vector($dims));
	CREATE TABLE born (id int, v vector($dims));
	CREATE SEQUENCE work;
	} . add_rows('item', $dims, 1, 1000) . qq{
	CREATE INDEX item_l2 ON item USING ann (v) WITH (lists = 0);
	CREATE INDEX item_cosine ON item USING ann (v vector_cosine_ops, id)
		WITH (lists = 8);
	CREATE INDEX item_planes ON item USING ann (v vector_ip_ops, id, (id % 7 = 0))
		WITH (lists = 3, layout = planes);
	CREATE INDEX born_planes ON born USING ann (v vector_cosine_ops, (id::text))
		WITH (layout = planes);
	CREATE INDEX born_v ON born USING ann (v);
});

# A transaction of a few statements, some of them rolled back.
my $dir = PostgreSQL::Test::Utils::tempdir();
my $script = "$dir/write.sql";
append_to_file($script, qq{
\\set id random(1, 2000)
\\set op random(1, 10)
BEGIN;
\\if :op <= 4
INSERT INTO item SELECT n, CASE WHEN n % 41 <> 0 THEN vec(n) END FROM generate_series(:id, :id + 5) n;
INSERT INTO born VALUES (:id, vec(:id));
\\elif :op <= 6
UPDATE item SET v = vec(:id + :op) WHERE id BETWEEN :id AND :id + 3;
\\else
DELETE FROM item WHERE id BETWEEN :id AND :id + 15;
DELETE FROM born WHERE id % 100 = :id % 100;
\\endif
SELECT nextval('work');
\\if :op % 5 = 0
ROLLBACK;
\\else
COMMIT;
\\endif
});
my $vacuum = "$dir/vacuum.sql";
append_to_file($vacuum, "VACUUM (TRUNCATE off) item, born;\n");
my $checkpoint = "$dir/checkpoint.sql";
append_to_file($checkpoint, "CHECKPOINT;\n");

for my $round (1 .. $rounds)
{
	my @common = ('pgbench', '-n', '-T', 600, '-h', $node->host, '-p',
		$node->port, '--random-seed', $round);
	my ($out, $err) = ('', '');
	my @clients = map {
		IPC::Run::start([ @common, @$_, 'postgres' ], '>', \$out, '2>', \$err)
	} ([ '-c', 4, '-f', $script ], [ '-c', 1, '-f', $vacuum ],
		[ '-c', 1, '-R', 1, '-f', $checkpoint ]);
	# The moment is a number of transactions, from the seed.
	my $moment = 200 + int(rand(400));
	my $start = $node->safe_psql('postgres', 'SELECT last_value FROM work');
	wait_for(
		sub {
			$node->safe_psql('postgres', 'SELECT last_value FROM work') >=
			  $start + $moment;
		},
		'the moment of the crash');
	crash($node);
	$_->finish for @clients;
	$node->start;

	for (@indexes)
	{
		my ($index, $op) = split ' ';
		my $table = $index =~ s/_.*//r;
		my $name = "round $round, $index";
		cmp_ok(equal_ok($node, $table, $op, $name), '>', 0, "$name: rows");
		check_ok($node, $index, $name);
	}
	$node->safe_psql('postgres', 'VACUUM item, born');
	for (@indexes)
	{
		my ($index, $op) = split ' ';
		my $table = $index =~ s/_.*//r;
		is( check_ok($node, $index, "round $round, $index after VACUUM"),
			$node->safe_psql('postgres', "SELECT count(*) FROM $table"),
			"round $round, $index after VACUUM: nothing dead is left");
	}
}
$node->stop;
done_testing();

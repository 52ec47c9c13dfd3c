# Two-phase commit: prepared transactions over a crash, VACUUM beside them, and
# both of their ends.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 40;
my $node = new_server('prepared', $dims, conf => qq{
autovacuum = off
max_prepared_transactions = 10
});
$node->safe_psql('postgres', "CREATE TABLE item (id int, v vector($dims));"
	  . add_rows('item', $dims, 1, 500)
	  . 'CREATE INDEX item_v ON item USING ann (v) WITH (lists = 4);'
	  . "CREATE TABLE born (id int, v vector($dims));"
	  . 'CREATE INDEX born_v ON born USING ann (v) WITH (layout = planes);');

# Three transactions: rows that come, rows that go, the first rows of an index.
$node->safe_psql('postgres', 'BEGIN;' . add_rows('item', $dims, 1001, 1100)
	  . "PREPARE TRANSACTION 'come';");
$node->safe_psql('postgres', "BEGIN; DELETE FROM item WHERE id <= 100;
	PREPARE TRANSACTION 'go';");
$node->safe_psql('postgres', 'BEGIN;' . add_rows('born', $dims, 1, 60)
	  . "PREPARE TRANSACTION 'first';");

sub state_ok
{
	my ($item, $born, $name) = @_;
	is(equal_ok($node, 'item', '<->', $name), $item, "$name: item has $item rows");
	is(equal_ok($node, 'born', '<->', $name), $born, "$name: born has $born rows");
	check_ok($node, $_, "$name, $_") for 'item_v', 'born_v';
}

state_ok(500, 0, 'prepared');
$node->safe_psql('postgres', 'VACUUM item, born');
state_ok(500, 0, 'vacuumed');
crash($node);
$node->start;
state_ok(500, 0, 'after a crash');
$node->safe_psql('postgres', 'VACUUM item, born');
state_ok(500, 0, 'vacuumed after the crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'come'");
state_ok(600, 0, 'committed');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'first'");
state_ok(600, 0, 'birth rolled back');
$node->safe_psql('postgres', "COMMIT PREPARED 'go'");
state_ok(500, 0, 'deletes committed');
$node->safe_psql('postgres', 'VACUUM item, born');
is(check_ok($node, 'item_v', 'in the end'), 500, 'in the end: nothing dead');
is(check_ok($node, 'born_v', 'in the end'), 0, 'in the end: nothing dead');
$node->safe_psql('postgres', add_rows('born', $dims, 1, 60));
state_ok(500, 60, 'filled');

# An index that is built in a prepared transaction.
$node->safe_psql('postgres', 'BEGIN;
	CREATE INDEX item_ip ON item USING ann (v vector_ip_ops) WITH (lists = 3);'
	  . add_rows('item', $dims, 2001, 2100) . "PREPARE TRANSACTION 'build';");
crash($node);
$node->start;
$node->safe_psql('postgres', "COMMIT PREPARED 'build'");
is(equal_ok($node, 'item', '<#>', 'built'), 600, 'built: all rows');
is(check_ok($node, 'item_ip', 'built'), 600, 'built: all rows are checked');
$node->stop;
done_testing();

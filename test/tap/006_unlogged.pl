# An unlogged table after a crash: its index is empty and usable, and is born
# again.  A shutdown in good order keeps it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 24;
my $node = new_server('unlogged', $dims, conf => "autovacuum = off\n");
my @indexes = ('built_v', 'born_v', 'loose_v');
$node->safe_psql('postgres', qq{
	CREATE UNLOGGED TABLE built (id int, v vector($dims));
	CREATE UNLOGGED TABLE born (id int, v vector($dims));
	CREATE UNLOGGED TABLE loose (id int, v vector);
	} . add_rows('built', $dims, 1, 1000) . qq{
	CREATE INDEX built_v ON built USING ann (v vector_cosine_ops)
		WITH (lists = 5);
	CREATE INDEX born_v ON born USING ann (v vector_cosine_ops)
		WITH (layout = planes);
	CREATE INDEX loose_v ON loose USING ann (v vector_cosine_ops)
		WITH (dimensions = $dims);
	} . add_rows('born', $dims, 1, 1000) . add_rows('loose', $dims, 1, 1000));

sub all_ok
{
	my ($rows, $name) = @_;
	for my $index (@indexes)
	{
		my $table = $index =~ s/_v//r;
		is(equal_ok($node, $table, '<=>', "$name, $index"), $rows,
			"$name, $index: $rows rows");
		is(check_ok($node, $index, "$name, $index"), $rows,
			"$name, $index: $rows rows are checked");
	}
}

all_ok(1000, 'at first');
$node->restart;
all_ok(1000, 'after a restart');
$node->safe_psql('postgres', 'CHECKPOINT');
for my $round (1, 2)
{
	crash($node);
	$node->start;
	all_ok(0, "after crash $round");
	$node->safe_psql('postgres', 'VACUUM ' . (s/_v//r)) for @indexes;
	$node->safe_psql('postgres', add_rows(s/_v//r, $dims, 1, 300)) for @indexes;
	all_ok(300, "born again $round");
	is($node->safe_psql('postgres', "SELECT lists, flat FROM ann_info('$_')"),
		'1|t', "$_ is flat now") for @indexes;
}
$node->safe_psql('postgres', 'ALTER TABLE built SET LOGGED');
crash($node);
$node->start;
is(equal_ok($node, 'built', '<=>', 'logged'), 300, 'a table made logged survives');
is(check_ok($node, 'built_v', 'logged'), 300, 'and its index');
$node->stop;
done_testing();

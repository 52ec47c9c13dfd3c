# pg_dump and restore: into another database, with the extension in a schema of
# its own, and index options kept.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 16;
my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\n");
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir();

for my $schema ('public', 'vectors', '"Odd schema"')
{
	my $base = lc(($schema =~ /(\w+)/)[0]);
	my ($source, $target) = ("source_$base", "target_$base");
	$node->safe_psql('postgres', "CREATE DATABASE $source");
	$node->safe_psql('postgres', "CREATE DATABASE $target");
	$node->safe_psql($source, qq{
		CREATE SCHEMA IF NOT EXISTS $schema;
		CREATE EXTENSION vector_ext SCHEMA $schema;
		CREATE TABLE public.item (id int, v $schema.vector($dims));
		SET search_path = $schema, public;
		INSERT INTO item SELECT n, array_agg(sin(n * d) ORDER BY d)::vector
		FROM generate_series(1, 800) n, generate_series(1, $dims) d GROUP BY n;
		INSERT INTO item VALUES (801, NULL);
		CREATE INDEX item_v ON item USING ann (v vector_cosine_ops)
			WITH (lists = 7, bits = 8, seed = 3);
		CREATE INDEX item_l2 ON item USING ann (v) WHERE id < 100;});
	my $definition = q{SELECT string_agg(pg_get_indexdef(indexrelid), ';'
		ORDER BY indexrelid::regclass::text) FROM pg_index
		WHERE indrelid = 'public.item'::regclass};
	my $lists = qq{SELECT count(*), sum(rows) FROM $schema.ann_lists('public.item_v')};
	my $answer = qq{SET enable_seqscan = off;
		SELECT string_agg(id::text, ' ') FROM (SELECT id FROM public.item
			ORDER BY v OPERATOR($schema.<=>) (SELECT v FROM public.item WHERE id = 5)) a};

	my @connection = ('-h', $node->host, '-p', $node->port);
	my @format = $base eq 'public' ? ('-Fp') : ('-Fc');
	my $file = "$dir/$base.dump";
	command_ok([ 'pg_dump', @connection, @format, '-f', $file, $source ],
		"$schema: pg_dump");
	if ($base eq 'public')
	{
		command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', @connection,
				'-f', $file, $target ], "$schema: psql");
	}
	else
	{
		command_ok([ 'pg_restore', @connection, '-e', '-j', 2, '-d', $target,
				$file ], "$schema: pg_restore");
	}
	for my $sql ($definition, $lists, $answer)
	{
		my $was = $node->safe_psql($source, $sql);
		isnt($was, '', "$schema: there is something to compare");
		is($node->safe_psql($target, $sql), $was,
			"$schema: the restored database is the same");
	}
	is( $node->safe_psql($target,
			"SELECT rows_checked FROM $schema.ann_check('public.item_v', true)"),
		801, "$schema: the restored index has every row");
}

# The extension moves to another schema, and its indexes go on.
$node->safe_psql('target_vectors', qq{
	CREATE SCHEMA other;
	ALTER EXTENSION vector_ext SET SCHEMA other;});
is( $node->safe_psql('target_vectors', q{SET enable_seqscan = off;
		SELECT count(*) FROM (SELECT id FROM item
		ORDER BY v OPERATOR(other.<=>) (SELECT v FROM item WHERE id = 5)) a}),
	801, 'a scan after SET SCHEMA');
$node->safe_psql('target_vectors', 'INSERT INTO item SELECT id + 1000, v FROM item');
is( $node->safe_psql('target_vectors',
		"SELECT rows_checked FROM other.ann_check('item_v', true)"),
	1602, 'inserts after SET SCHEMA');
# It goes with everything that is made of it.
$node->safe_psql('target_vectors', 'DROP EXTENSION vector_ext CASCADE');
is( $node->safe_psql('target_vectors',
		q{SELECT count(*) FROM pg_class WHERE relname LIKE 'item\_%'}),
	0, 'DROP EXTENSION CASCADE');
$node->safe_psql('target_vectors', 'CREATE EXTENSION vector_ext');
$node->stop;
done_testing();

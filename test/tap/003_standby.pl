# A physical standby that checks each page after replaying it: queries give what
# the primary gives, before and after its promotion.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

my $dims = 48;
my $conf = qq{
autovacuum = off
wal_consistency_checking = 'generic'
max_standby_streaming_delay = -1
};
my $primary = new_server('primary', $dims, conf => $conf,
	init => { allows_streaming => 1 });
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

# A standby checks page by page: it cannot hold off the replay of changes.
sub pages_ok
{
	my ($index, $name) = @_;
	my ($status, $out, $err) = $standby->psql('postgres',
		"SET client_min_messages = error;
		 SELECT pages_checked FROM ann_check('$index')");
	is($err, '', "$name: ann_check finds nothing");
	cmp_ok($out, '>', 2, "$name: ann_check looked at pages");
}

sub same
{
	my ($name, @tables) = @_;
	$primary->wait_for_catchup($standby);
	for my $table (@tables)
	{
		my $answer = qq{SET enable_seqscan = off; SET enable_sort = off;
			SELECT array_agg(id || ' ' || d) FROM (
				SELECT id, v <=> vec(0) AS d FROM $table
				ORDER BY v <=> vec(0)) a};
		is( $standby->safe_psql('postgres', $answer),
			$primary->safe_psql('postgres', $answer),
			"$name: $table is the same on the standby");
		equal_ok($standby, $table, '<=>', "$name on the standby");
		pages_ok("${table}_v", "$name on the standby");
	}
}

$primary->safe_psql('postgres', qq{
	CREATE TABLE born (id int, v vector($dims));
	CREATE INDEX born_v ON born USING ann (v vector_cosine_ops, id, (id % 2 = 0))
		WITH (layout = planes);});
same('empty', 'born');
$primary->safe_psql('postgres', add_rows('born', $dims, 1, 1500));
same('birth and inserts', 'born');
$primary->safe_psql('postgres', qq{
	CREATE TABLE built (id int, v vector($dims));
	} . add_rows('built', $dims, 1, 2000) . qq{
	CREATE INDEX built_v ON built USING ann (v vector_cosine_ops)
		WITH (lists = 10);
	CREATE TABLE planes AS SELECT * FROM built;
	CREATE INDEX planes_v ON planes USING ann (v vector_cosine_ops, (id::int8))
		WITH (lists = 3, layout = planes);});
same('a build', 'built', 'planes');
$primary->safe_psql('postgres', 'CREATE INDEX CONCURRENTLY built_too ON built
	USING ann (v vector_cosine_ops) WITH (lists = 0, bits = 8)');
$primary->wait_for_catchup($standby);
pages_ok('built_too', 'a concurrent build on the standby');
$primary->safe_psql('postgres', 'DROP INDEX built_too');
$primary->safe_psql('postgres', add_rows($_, $dims, 2001, 3000))
  for 'built', 'planes';
same('inserts', 'built', 'planes');
for my $table ('born', 'built', 'planes')
{
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE id % 3 <> 0");
	$primary->safe_psql('postgres', "VACUUM $table");
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE id < 700");
	$primary->safe_psql('postgres', "VACUUM $table");
}
same('delete and vacuum', 'born', 'built', 'planes');
$primary->safe_psql('postgres', add_rows($_, $dims, 5000, 6000))
  for 'born', 'built', 'planes';
$primary->safe_psql('postgres', "UPDATE $_ SET v = vec(id + 1) WHERE id < 1000")
  for 'born', 'built', 'planes';
same('pages taken again', 'born', 'built', 'planes');
$primary->safe_psql('postgres', 'DELETE FROM born');
$primary->safe_psql('postgres', 'VACUUM born');
$primary->safe_psql('postgres', 'TRUNCATE built');
$primary->safe_psql('postgres', add_rows('built', $dims, 1, 500));
same('everything deleted or truncated', 'born', 'built');
$primary->safe_psql('postgres', 'REINDEX TABLE built');
same('reindex', 'built');

# On a standby nothing can be written, and unlogged indexes cannot be read.
$primary->safe_psql('postgres', qq{
	CREATE UNLOGGED TABLE fast (v vector($dims));
	CREATE INDEX fast_v ON fast USING ann (v);});
$primary->wait_for_catchup($standby);
is(sqlstate($standby, "SELECT ann_check('fast_v')"), '55000',
	'an unlogged index on a standby');

$primary->stop;
$standby->promote;
$standby->safe_psql('postgres', add_rows($_, $dims, 7000, 8000)
	  . "DELETE FROM $_ WHERE id % 2 = 0") for 'born', 'built', 'planes';
$standby->safe_psql('postgres', 'VACUUM born, built, planes');
for my $table ('born', 'built', 'planes')
{
	equal_ok($standby, $table, '<=>', "$table after promotion");
	check_ok($standby, "${table}_v", "$table after promotion");
}
unlike(slurp_file($standby->logfile), qr/inconsistent page|PANIC|FATAL:  .*redo/,
	'replay was silent');
$standby->stop;
done_testing();

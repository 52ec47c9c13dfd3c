# What the tests of this folder share: servers with the extension, a table of
# vectors, the comparison of an index with its table, and a crash.
package VxTest;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(new_server setup_sql add_rows compare_sql equal_ok check_ok
  crash wait_for sqlstate server_pids);

# Reproducible vectors: vec(seed) has DIMS values from -1 to 1.
sub setup_sql
{
	my ($dims) = @_;
	return qq{
		CREATE EXTENSION IF NOT EXISTS vector_ext;
		CREATE FUNCTION vec(seed int) RETURNS vector LANGUAGE sql IMMUTABLE AS \$\$
			SELECT array_agg((hashint8extended(seed * 100000::bigint + d, 7) & 65535)
							 / 32768.0 - 1 ORDER BY d)::public.vector
			FROM generate_series(1, $dims) d \$\$;
	};
}

# A running server with the extension and vec().
sub new_server
{
	my ($name, $dims, %opts) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%{ $opts{init} || {} });
	my $simd = $ENV{SIMD} || 'auto';
	$node->append_conf('postgresql.conf',
		"jit = off\nvector_ext.simd = $simd\n" . ($opts{conf} || ''));
	$node->start;
	$node->safe_psql('postgres', setup_sql($dims));
	return $node;
}

# Rows FIRST..LAST of a table (id int, v vector): some NULL, some zero.
sub add_rows
{
	my ($table, $dims, $first, $last) = @_;
	return qq{INSERT INTO $table SELECT id,
		CASE WHEN id % 41 = 0 THEN NULL
			 WHEN id % 43 = 0 THEN array_fill(0::real, ARRAY[$dims])::vector
			 ELSE vec(id) END FROM generate_series($first, $last) id;};
}

# Rows by the index, rows that it gives twice, and rows that only one of index
# and table has: "N|0|0" when all is well.
sub compare_sql
{
	my ($table, $op) = @_;
	return qq{
		SET enable_seqscan = off; SET enable_sort = off;
		SELECT count(i.ctid), count(i.ctid) - count(DISTINCT i.ctid),
			   count(*) FILTER (WHERE i.ctid IS NULL OR h.ctid IS NULL)
		FROM (SELECT ctid FROM $table ORDER BY v $op vec(0)) i
			 FULL JOIN (SELECT ctid FROM $table OFFSET 0) h ON i.ctid = h.ctid;
	};
}

sub equal_ok
{
	my ($node, $table, $op, $name) = @_;
	my $plan = $node->safe_psql('postgres',
		"SET enable_seqscan = off; SET enable_sort = off;
		 EXPLAIN SELECT ctid FROM $table ORDER BY v $op vec(0)");
	like($plan, qr/Index Scan using/, "$name: the index is used");
	my $got = $node->safe_psql('postgres', compare_sql($table, $op));
	my ($rows) = split /\|/, $got;
	is($got, "$rows|0|0", "$name: the index has the rows of the table");
	return $rows;
}

sub check_ok
{
	my ($node, $index, $name) = @_;
	my ($status, $out, $err) = $node->psql('postgres',
		"SELECT rows_checked FROM ann_check('$index', true)");
	is($err, '', "$name: ann_check finds nothing");
	return $out;
}

# Polls a condition, for three minutes at most.
sub wait_for
{
	my ($condition, $what) = @_;
	for (1 .. 1800)
	{
		return 1 if $condition->();
		usleep(100_000);
	}
	die "gave up waiting for $what";
}

# The postmaster and the processes it has now.
sub server_pids
{
	my ($node) = @_;
	my @pids = split /\n/,
	  $node->safe_psql('postgres',
		'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
	my ($postmaster) =
	  slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return ($postmaster, @pids);
}

# SIGKILL to all of a server, the postmaster first so that it starts no other.
sub crash
{
	my ($node) = @_;
	my ($postmaster, @pids) = server_pids($node);
	$node->kill9;
	kill 'KILL', @pids;
	wait_for(sub { !grep { kill 0, $_ } @pids }, 'the end of the processes');
}

# The SQLSTATE of a statement, 00000 when there is no error.
sub sqlstate
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "$sql;\n\\echo :SQLSTATE",
		on_error_stop => 0);
	return (split /\n/, $out)[-1];
}

1;

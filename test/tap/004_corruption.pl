# Damaged pages: every path that reads them (scan, insert, VACUUM, ann_check)
# raises the one error, or is right all the same; no backend crashes.
#
# There is a table for each kind of damage.  All are damaged in one stop of the
# server, whose pages have no checksums.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use VxTest;

use constant { META => 1, DIR => 2, CENT => 3, LEAD => 4, CODE => 5, FREE => 6 };
use constant NONE => 0xFFFFFFFF;
srand(42);

my $dims = 64;
my $rows = 900;
# Checksums are the default from version 18 on; earlier ones ignore the word.
my $node = new_server('corrupt', $dims, init => { no_data_checksums => 1 }, conf => qq{
autovacuum = off
restart_after_crash = off
});

# The file of an index: its pages, and where the pages of a kind are.
my @pages;
sub kind { return unpack('S', substr($pages[ $_[0] ], 8184, 2)); }
sub u32 { return unpack('L', substr($pages[ $_[0] ], $_[1], 4)); }
sub blocks
{
	my ($kind) = @_;
	return grep { kind($_) == $kind } 0 .. $#pages;
}
# Heads of ordinary lists, and one of several leads.
sub heads { return grep { u32($_, 24) >= 3 && unpack('S', substr($pages[$_], 36, 2)) & 1 } blocks(LEAD); }
sub chained { return (grep { u32($_, 28) != NONE } heads())[0]; }
sub put
{
	my ($block, $offset, $bytes) = @_;
	substr($pages[$block], $offset, length $bytes) = $bytes;
}
sub put16 { put($_[0], $_[1], pack('S', $_[2])); }
sub put32 { put($_[0], $_[1], pack('L', $_[2])); }
# Offsets of planes of a lead, by docs/format.md.
my $code_bytes = $dims / 2;
my $entry_bytes = 44 + $code_bytes;
sub planes
{
	my $n = unpack('S', substr($pages[ $_[0] ], 32, 2));
	my $w = 8 * int(($n + 63) / 64);
	my ($layout, $signs, $rest) =
	  (unpack('S', substr($pages[0], 40, 2)), unpack('SS', substr($pages[0], 82, 4)));
	my $live = 96 + 8 * int(($signs + $rest + 1) / 2);
	my $p = $layout == 2 ? $n : 0;
	my %at = (slots => $n, table => 96, signs => $signs, live => $live,
		killed => $live + $w, f => $live + 2 * $w);
	$at{n} = $at{f} + 4 * $n;
	$at{sign_f} = $at{n} + 4 * $n;
	$at{sn} = $at{sign_f} + 4 * $p;
	$at{en} = $at{sn} + 2 * $n;
	$at{sign_sn} = $at{en} + 2 * $n;
	$at{sign_en} = $at{sign_sn} + 2 * $p;
	$at{tid} = $at{sign_en} + 2 * $p;
	$at{code} = $at{tid} + 6 * $n;
	return \%at;
}
# Layout P: the code pages of a lead, and the first of the sign and rest plane.
sub code_at { my $p = planes(lead()); return $p->{table} + 4 * ($_[0] ? $p->{signs} : 0); }
sub code { return u32(lead(), code_at($_[0])); }
sub entry { return (blocks(DIR))[0]; }
sub lead { return (heads())[0]; }

# For the damages that follow.
my $layout = 'whole';

# name => [ damage, what ann_check must say ]; XX002 unless told otherwise.
my @damages;
sub damage
{
	my ($name, $code, $expect) = @_;
	push @damages, { name => $name, code => $code, expect => $expect || 'XX002',
		layout => $layout };
}

# Every kind of page, in the same ways.
my %kinds = (META, 'META', DIR, 'DIR', CENT, 'CENT', LEAD, 'LEAD');
for my $kind (sort keys %kinds)
{
	my $name = $kinds{$kind};
	my $at = sub { $kind == LEAD ? lead() : (blocks($kind))[0] };
	damage("$name of zeros", sub { put($at->(), 0, "\0" x 8192) });
	damage("$name of garbage", sub { put($at->(), 24, join '', map { chr int rand 256 } 1 .. 8168) });
	damage("$name of all ones after the header", sub { put($at->(), 24, "\xFF" x 8160) });
	damage("$name with a wrong page id", sub { put16($at->(), 8190, 0xFF84) });
	damage("$name of an unknown kind", sub { put16($at->(), 8184, 77) });
	damage("$name of kind FREE", sub { put16($at->(), 8184, FREE) });
	damage("$name with page flags", sub { put16($at->(), 8188, 4) });
	damage("$name of format 0", sub { put16($at->(), 8186, 0) });
	damage("$name of format 2", sub { put16($at->(), 8186, 2) }, '0A000');
	damage("$name with pd_lower 0", sub { put16($at->(), 12, 0) }, 'XX');
	damage("$name with pd_lower 8190", sub { put16($at->(), 12, 8190) }, 'XX');
	damage("$name that is a copy of another", sub {
		my $from = $kind == LEAD ? 0 : lead();
		put($at->(), 0, $pages[$from]) });
}
damage('META magic', sub { put32(0, 24, 0x12345678) });
damage('META format 9', sub { put32(0, 28, 9) }, '0A000');
damage('META required flag', sub { put32(0, 32, 1) }, '0A000');
damage('META dims 65', sub { put32(0, 36, 65) });
damage('META dims 0', sub { put32(0, 36, 0) });
damage('META dims 4 billion', sub { put32(0, 36, NONE) });
damage('META bits 8', sub { put16(0, 42, 8) });
damage('META metric 1', sub { put16(0, 44, 1) });
damage('META columns 3', sub { put16(0, 46, 3) });
damage('META slots', sub { put16(0, 80, 7) });
damage('META next_list_id', sub { put32(0, 120, 3) });
damage('META dir_head is a lead', sub { put32(0, 128, lead()) });
damage('META dir_head beyond', sub { put32(0, 128, 100000) });
damage('META dir_tail', sub { put32(0, 132, 1) });
damage('META list_count', sub { put32(0, 140, 77) });
damage('META null_head', sub { put32(0, 144, u32(0, 148)) });
damage('META zero_head none', sub { put32(0, 148, NONE) });
damage('META centre_block', sub { put32(0, 152, lead()) });
damage('META centre_slot', sub { put16(0, 156, 5000) });
damage('META t0 NaN', sub { put32(0, 164, 0x7FC00000) });
damage('DIR loop', sub { put32(entry(), 24, entry()) });
damage('DIR next is a lead', sub { put32(entry(), 24, lead()) });
damage('DIR used 0', sub { put16(entry(), 28, 0) });
damage('DIR used 60000', sub { put16(entry(), 28, 60000) });
damage('DIR same id twice', sub { put32(entry(), 40, u32(entry(), 40 + $entry_bytes)) });
damage('DIR list id', sub { put32(entry(), 40, 99999) });
damage('DIR head of another list', sub { put32(entry(), 44, u32(entry(), 44 + $entry_bytes)) });
damage('DIR head beyond', sub { put32(entry(), 44, 77777) });
damage('DIR cent_block', sub { put32(entry(), 48, entry()) });
damage('DIR cent_slot', sub { put16(entry(), 52, 9999) });
damage('DIR flags', sub { put16(entry(), 54, 0x8000) });
damage('CENT owner', sub { put32((blocks(CENT))[0], 40, 12345) });
damage('CENT NaN', sub { put32((blocks(CENT))[0], 48, 0x7FC00000) });
damage('LEAD list id', sub { put32(lead(), 24, 88888) });
damage('LEAD loop', sub { my $b = chained(); put32($b, 28, $b) });
damage('LEAD next of another list', sub { put32(chained(), 28, (heads())[-1]) });
damage('LEAD next beyond', sub { put32(chained(), 28, 66666) });
damage('LEAD next none, chain cut', sub { put32(chained(), 28, NONE) });
damage('LEAD slots', sub { put16(lead(), 32, 3) });
damage('LEAD slots 60000', sub { put16(lead(), 32, 60000) });
damage('LEAD live', sub { put16(lead(), 34, 0) });
damage('LEAD live 60000', sub { put16(lead(), 34, 60000) });
damage('LEAD used', sub { put16(lead(), 12, 100) });
damage('LEAD flags', sub { put16(lead(), 36, 0x4001) });
damage('LEAD not head', sub { put16(lead(), 36, 0) });
damage('LEAD insert_block of another list', sub { put32(lead(), 56, (heads())[-1]) });
damage('LEAD insert_block beyond', sub { put32(lead(), 56, 55555) });
damage('LEAD tail_block', sub { my $b = chained(); put32($b, 60, $b) });
damage('LEAD lead_pages', sub { put32(lead(), 64, 1000) });
damage('LEAD lead_pages 0', sub { put32(lead(), 64, 0) });
damage('LEAD lead_run', sub { put32(lead(), 68, 1000) });
damage('LEAD cent_block', sub { put32(lead(), 80, 44444) });
damage('LEAD live bit beyond the rows', sub { my $p = planes(lead()); put(lead(), $p->{killed} - 8, "\xFF" x 8) });
damage('LEAD live bit lost', sub { put(lead(), 96, chr(ord(substr($pages[ lead() ], 96, 1)) & 0xFE)) });
damage('LEAD killed bits beyond the slots', sub { my $p = planes(lead()); put(lead(), $p->{f} - 8, "\xFF" x 8) });
damage('heap pointer of zeros', sub { my $p = planes(lead()); put(lead(), $p->{tid}, "\0" x 6) });
damage('heap pointer beyond the table', sub { my $p = planes(lead()); put(lead(), $p->{tid}, pack('SSS', 3, 3, 1)) });
damage('heap pointer of another slot', sub {
	my $p = planes(lead()); put(lead(), $p->{tid}, substr($pages[ lead() ], $p->{tid} + 6, 6)) });
damage('factor f NaN', sub { my $p = planes(lead()); put32(lead(), $p->{f}, 0x7FC00000) });
damage('factor n infinite', sub { my $p = planes(lead()); put32(lead(), $p->{n}, 0x7F800000) });
damage('factor n changed', sub { my $p = planes(lead()); put32(lead(), $p->{n}, 0x42000000) });
damage('factor sn NaN', sub { my $p = planes(lead()); put16(lead(), $p->{sn}, 0x7E00) });
damage('code byte', sub { my $p = planes(lead()); put(lead(), $p->{code} + 3, chr(0xFF ^ ord substr($pages[ lead() ], $p->{code} + 3, 1))) });
# Layout P.
$layout = 'planes';
for my $plane (0, 1)
{
	my $name = $plane ? 'rest page' : 'sign page';
	damage("$name of zeros", sub { put(code($plane), 0, "\0" x 8192) });
	damage("$name of all ones", sub { put(code($plane), 24, "\xFF" x 8160) });
	damage("$name of kind FREE", sub { put16(code($plane), 8184, FREE) });
	damage("$name with a wrong page id", sub { put16(code($plane), 8190, 0xFF84) });
	damage("$name with pd_lower 64", sub { put16(code($plane), 12, 64) });
	damage("$name with an odd pd_lower", sub { put16(code($plane), 12, 8183) });
	damage("$name that is a copy of another", sub { put(code($plane), 0, $pages[ code(1 - $plane) ]) });
	damage("$name of another list", sub { put32(code($plane), 24, 77777) });
	damage("$name of another lead", sub { put32(code($plane), 28, 1) });
	damage("$name of itself", sub { put32(code($plane), 28, code($plane)) });
	damage("$name at another place", sub { put16(code($plane), 32, 63) });
	damage("$name of the other plane", sub { put16(code($plane), 34, 2 - $plane) });
	damage("$name of plane 9", sub { put16(code($plane), 34, 9) });
	damage("$name with another byte", sub { put(code($plane), 70, chr(0xFF ^ ord substr($pages[ code($plane) ], 70, 1))) });
	damage("$name not attached", sub { put32(lead(), code_at($plane), 0) });
	damage("$name beyond the file", sub { put32(lead(), code_at($plane), 88888) });
	damage("$name is the lead", sub { put32(lead(), code_at($plane), lead()) });
	damage("$name is META", sub { put32(lead(), code_at($plane), 0xFFFFFFFF) });
	damage("$name is the other plane's", sub { put32(lead(), code_at($plane), code(1 - $plane)) });
}
damage('lead counts 9 code pages', sub { put16(lead(), 38, 9) });
damage('META layout 1', sub { put16(0, 40, 1) });
damage('META layout 3', sub { put16(0, 40, 3) });
damage('META sign_pages', sub { put16(0, 82, 2) });
damage('META rest_pages 0', sub { put16(0, 84, 0) });
damage('factor f1 NaN', sub { my $p = planes(lead()); put32(lead(), $p->{sign_f}, 0x7FC00000) });
damage('factor s1n NaN', sub { my $p = planes(lead()); put16(lead(), $p->{sign_sn}, 0x7E00) });
damage('factor e1n negative', sub { my $p = planes(lead()); put16(lead(), $p->{sign_en}, 0x8001) });
damage('factor e1n changed', sub { my $p = planes(lead()); put16(lead(), $p->{sign_en}, 0x3C00) });
damage("bit $_ of layout P", sub {
	my $block = int rand @pages;
	my $offset = 8 + int rand 8184;
	put($block, $offset, chr(ord(substr($pages[$block], $offset, 1)) ^ (1 << int rand 8)));
}, 'any') for 1 .. 30;
$layout = 'whole';
damage('file cut in half', sub { splice @pages, @pages / 2 });
damage('file of one page', sub { splice @pages, 1 });
damage('file of no page', sub { @pages = () });
# One bit anywhere: maybe without meaning, then all must be right.
damage("bit $_", sub {
	my $block = int rand @pages;
	my $offset = 8 + int rand 8184;
	put($block, $offset, chr(ord(substr($pages[$block], $offset, 1)) ^ (1 << int rand 8)));
}, 'any') for 1 .. 60;

# --- the tables, and their damage -------------------------------------------

my $layouts = join ',', map { $_->{layout} } @damages;
my $sql = "CREATE TABLE origin (id int, v vector($dims));"
  . add_rows('origin', $dims, 1, $rows);
$node->safe_psql('postgres', $sql);
$node->safe_psql('postgres', qq{
	DO \$\$ BEGIN
	FOR i IN 0 .. $#damages LOOP
		EXECUTE format('CREATE TABLE t%s (LIKE origin)', i);
		EXECUTE format('INSERT INTO t%s SELECT * FROM origin', i);
		EXECUTE format('CREATE INDEX t%s_v ON t%1\$s USING ann '
					   '(v vector_cosine_ops) WITH (lists = 3, layout = %s)', i,
					   ('{$layouts}'::text[])[i + 1]);
	END LOOP;
	END \$\$;
	CHECKPOINT;});
my %path = split /[|\n]/, $node->safe_psql('postgres',
	"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^t[0-9]+_v\$'");
is($node->safe_psql('postgres', 'SHOW data_checksums'), 'off', 'no checksums');
$node->stop;

for my $i (0 .. $#damages)
{
	my $file = $node->data_dir . '/' . $path{"t${i}_v"};
	@pages = unpack '(a8192)*', slurp_file($file);
	my $before = join '', @pages;
	$damages[$i]{code}->();
	my $after = join '', @pages;
	die "no damage: $damages[$i]{name}" if $before eq $after;
	open my $handle, '>:raw', $file or die "$file: $!";
	print $handle $after;
	close $handle or die "$file: $!";
}
$node->start;

# --- every path --------------------------------------------------------------

my $answer = $node->safe_psql('postgres', qq{
	SELECT md5(string_agg(id::text, ' ' ORDER BY v <=> vec(0), ctid)) FROM origin});

# What may come out of a path: the error, or 00000.  A page header that is no
# header is refused by the server when it reads the page (XX001).
my %allowed = (XX002 => 'XX002|00000', '0A000' => '0A000|00000',
	XX => 'XX002|XX001|00000', any => 'XX002|XX001|0A000|00000');

for my $i (0 .. $#damages)
{
	my ($name, $expect) = @{ $damages[$i] }{ 'name', 'expect' };
	my ($status, $out, $err) = $node->psql('postgres', qq{
SET enable_seqscan = off;
SET enable_sort = off;
SET statement_timeout = '60s';
SET vector_ext.recall = 1;
SELECT 'rows ' || count(*) || ' ' || count(DISTINCT id) FROM (SELECT id FROM t$i ORDER BY v <=> vec(0)) a;
\\echo scan :SQLSTATE
SELECT count(*) FROM (SELECT id FROM t$i ORDER BY v <=> vec(0) LIMIT 10) a;
\\echo limit :SQLSTATE
SELECT count(*) FROM ann_info('t${i}_v');
\\echo info :SQLSTATE
SELECT count(*) FROM ann_lists('t${i}_v');
\\echo lists :SQLSTATE
SELECT ann_check('t${i}_v');
\\echo pages :SQLSTATE
SELECT ann_check('t${i}_v', true);
\\echo check :SQLSTATE
BEGIN;
INSERT INTO t$i SELECT id, v FROM origin WHERE id <= 300;
\\echo insert :SQLSTATE
ROLLBACK;
INSERT INTO t$i VALUES (-1, NULL);
\\echo null :SQLSTATE
DELETE FROM t$i WHERE id % 2 = 0;
VACUUM t$i;
\\echo vacuum :SQLSTATE
REINDEX INDEX t${i}_v;
\\echo reindex :SQLSTATE
SELECT 'checked ' || (SELECT count(*) FROM t$i) - rows_checked FROM ann_check('t${i}_v', true);
}, on_error_stop => 0);
	my %state = $out =~ /^(\w+) ([0-9A-Z]{5})$/mg;
	# What ann_check says of it.
	my $found = $state{check} || '';
	$found = $state{pages} if ($state{pages} || '') ne '00000';
	if ($expect eq 'any' || $expect eq 'XX')
	{
		like($found, qr/^($allowed{$expect})$/, "$name: ann_check ($found)");
	}
	else
	{
		is($found, $expect, "$name: ann_check finds it");
	}
	my @wrong = grep { ($state{$_} || 'nothing') !~ /^($allowed{$expect})$/ }
	  qw(scan limit info lists insert null vacuum);
	is(join(' ', map { "$_ " . ($state{$_} || 'nothing') } @wrong), '',
		"$name: the one error, or none");
	# A scan that ends has all rows, unless the damage was found by the check.
	my ($got, $distinct) = $out =~ /^rows (\d+) (\d+)/m;
	is("$got $distinct", "$rows $rows", "$name: a scan without error is right")
	  if defined $got && $found eq '00000';
	unlike($err, qr/server closed|connection to server/, "$name: no crash");
	like($out, qr/^reindex 00000\nchecked 0$/m, "$name: REINDEX repairs it");
	last if $err =~ /server closed/;
}
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no crash');
$node->stop;
done_testing();

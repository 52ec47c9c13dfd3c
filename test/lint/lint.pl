#!/usr/bin/perl
# Checks that a compiler does not make: which layer may include and call what.
# Run from the top of the checkout.  Prints one line a rule, the offending
# lines below it, and "N passed, N failed" at the end.
use strict;
use warnings;

# Include rule.  A layer may include its own headers and those named here: a
# folder of src/ or a file.
my $root = 'compat.h vector_ext.h';
my %may_include = (
	kernel => '',
	quant => 'kernel',
	type => "kernel $root",
	page => 'kernel/base.h compat.h',
	ann => "page quant kernel type $root",
	plan => "ann/ann.h ann/gate.h page kernel/base.h $root",
	inspect => "plan ann page quant kernel type $root");

my @c = glob('src/*.[ch] src/*/*.[ch]');
my @text = grep { -T } split /\n/,
  `find * .ci -type f -not -path 'build/*' -not -path 'results/*'`;
my ($passed, $failed) = (0, 0);

sub report
{
	my ($rule, @offences) = @_;
	print @offences ? 'not ok' : 'ok', " - $rule\n";
	print "    $_\n" for @offences;
	@offences ? $failed++ : $passed++;
}

# The lines of FILE as [number, text], comments blanked out for code.
sub lines_of
{
	my ($file, $code) = @_;
	open my $in, '<', $file or die "$file: $!\n";
	my $text = do { local $/; <$in> };
	$text =~ s{/\*.*?\*/}{$& =~ tr/\n//cdr}gse if $code;
	my $n = 0;
	return map { [ ++$n, $_ ] } split /\n/, $text;
}

# Lines of FILES that match PATTERN.
sub matches
{
	my ($pattern, $code, @files) = @_;
	my @found;
	for my $file (@files)
	{
		push @found, map { "$file:$_->[0]: $_->[1]" }
		  grep { $_->[1] =~ $pattern } lines_of($file, $code);
	}
	return @found;
}

sub outside { my $in = shift; return grep { !m{$in} } @c }
sub inside { my $in = shift; return grep { m{$in} } @c }

for my $layer (sort keys %may_include)
{
	my @offences;
	my @allowed = ($layer, split ' ', $may_include{$layer});
	for my $file (inside("^src/$layer/"))
	{
		for (lines_of($file, 1))
		{
			my ($header) = $_->[1] =~ /^\s*#\s*include\s*"([^"]+)"/ or next;
			# A header that is not ours is the server's.
			next unless -f "src/$header" || -f "src/$layer/$header";
			next if -f "src/$layer/$header";
			next if grep { $header eq $_ || $header =~ m{^\Q$_\E/} } @allowed;
			push @offences, "$file:$_->[0]: $header";
		}
	}
	report("$layer includes only what it may", @offences);
}

report('kernel and quant do not know PostgreSQL',
	matches(
		qr/"(postgres|fmgr|c)\.h"|\b(palloc|pfree|ereport|elog|Datum)\b/,
		1, inside('^src/(kernel|quant)/')));
report('buffers and WAL records only in src/page',
	matches(
		qr/\b(GenericXLog\w*|(Conditional)?LockBuffer\w*|ReadBuffer\w*)\b/,
		1, outside('^src/page/')));
report('versions of PostgreSQL only in src/compat.h',
	matches(qr/PG_VERSION_NUM/, 1, outside('^src/compat\.h$')));
report('every source file says at its head what it is for',
	grep { (lines_of($_))[0]->[1] ne '/*' } @c);
report('no work left for later',
	matches(qr/\b(TO[D]O|FIX[M]E|X[X]X)\b(?!0)/, 0, @c));
report('no flags that make codes depend on the machine',
	matches(qr/-march=nativ[e]|-ffast-mat[h]/, 0, 'Makefile'));
report('no path of a home folder',
	matches(qr{/(home|Users)/\w|/roo[t]/}, 0, @text));

# The layout of the code, where the formatter is installed.
my $clang = 'clang-format-14';
if (system("command -v $clang >/dev/null") == 0)
{
	my @source = grep { m{^(src|test|bench)/.*\.[ch]$} } @text;
	report("$clang would change nothing",
		@source
		? map { s/\s+$//r } grep { /: (error|warning):/ }
		  `$clang --dry-run @source 2>&1`
		: ());
}
else
{
	print "ok - $clang: skipped, not installed\n";
}
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);

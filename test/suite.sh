#!/bin/sh
# Runs one kind of tests on the installed extension, in a cluster of its own,
# and ends with the line "N passed, N failed".
#
#   test/suite.sh regress|isolation|tap [NAME...]
#
# regress: sql/NAME.sql against expected/NAME.out; isolation: specs below
# test/isolation; tap: test/tap/NAME.pl.  Without names, all.  The output of a
# run, with the differences and the server's log, is left in build/test/KIND.
set -eu

kind=${1:?regress, isolation or tap}
shift
PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}")
export PG_CONFIG
bindir=$("$PG_CONFIG" --bindir)
pgxs=$(cd "$(dirname "$("$PG_CONFIG" --pgxs)")/.." && pwd)
export VX_KEEP="$PWD/build/test/$kind"
rm -rf "$VX_KEEP"
mkdir -p "$VX_KEEP"
log=$VX_KEEP/log

# The names in FOLDER with the SUFFIX.
names() # FOLDER SUFFIX
{
	for file in "$1"/*"$2"; do
		[ ! -f "$file" ] || basename "$file" "$2"
	done
}

# sql/ holds the install scripts as well: a test is what has an answer.
regress_names()
{
	for name in $(names sql .sql); do
		[ ! -f "expected/$name.out" ] || echo "$name"
	done
}

# Counts what pg_regress says of each test, in the words of version 15
# ("test a ... ok") and of later ones ("ok 1 - a").
count_regress()
{
	awk '/^ok [0-9]|\.\.\. ok/ { ok++ }
		END { n = '"$1"' - ok; printf "%d passed, %d failed\n", ok, n
			exit n != 0 }' "$log"
}

count_tap() # STATUS of prove: a file may die without a failed test
{
	awk '/^ok [0-9]/ { ok++ }
		/^not ok [0-9]/ && !/# TODO/ { bad++ }
		END { if ('"$1"' && !bad) bad = 1
			printf "%d passed, %d failed\n", ok, bad; exit bad != 0 }' "$log"
}

# Runs a command, its output on the terminal and in the log.
status=0
logged()
{
	{ "$@" 2>&1 || echo $? >"$VX_KEEP/status"; } | tee "$log"
	[ ! -f "$VX_KEEP/status" ] || status=$(cat "$VX_KEEP/status")
	rm -f "$VX_KEEP/status"
}

case $kind in
regress)
	[ $# -gt 0 ] || set -- $(regress_names)
	tool=$pgxs/test/regress/pg_regress input=. paths="--copy sql --copy expected"
	;;
isolation)
	[ $# -gt 0 ] || set -- $(names test/isolation/specs .spec)
	tool=$pgxs/test/isolation/pg_isolation_regress
	input=test/isolation paths="--copy test/isolation"
	;;
tap)
	[ $# -gt 0 ] || set -- $(names test/tap .pl)
	;;
*)
	echo "unknown kind of tests: $kind" >&2
	exit 2
	;;
esac
if [ $# = 0 ]; then
	echo "0 passed, 0 failed"
	exit 0
fi

case $kind in
regress | isolation)
	# No autovacuum: its snapshot would keep rows that a test's VACUUM removes.
	# shellcheck disable=SC2086 # a list of options
	logged test/cluster.sh run $paths --conf "autovacuum = off" \
		--conf "vector_ext.simd = ${SIMD:-auto}" -- "$tool" --bindir="$bindir" \
		--inputdir=$input --outputdir=../out --dbname="vx_$kind" \
		--load-extension=vector_ext "$@"
	if [ -f "$VX_KEEP/regression.diffs" ]; then
		head -n 200 "$VX_KEEP/regression.diffs"
	fi
	count_regress $#
	;;
tap)
	# PostgreSQL::Test wants to know pg_regress and where to work (TESTDIR up to
	# version 15, TESTDATADIR and TESTLOGDIR from 16 on).
	# shellcheck disable=SC2016 # $HOME is the folder of the run
	logged test/cluster.sh user --copy test/tap -- sh -c '
		PG_REGRESS=$1/test/regress/pg_regress perl=$1/test/perl
		shift
		export PG_REGRESS TESTDIR="$HOME" TESTDATADIR="$HOME/tmp_check"
		export TESTLOGDIR="$HOME/tmp_check/log" top_builddir="$HOME"
		prove -v -I "$perl" -I test/tap ${PROVE_FLAGS:-} \
			$(printf "test/tap/%s.pl " "$@") || status=$?
		cp -R ../tmp_check/log/. ../out/ 2>/dev/null
		exit ${status:-0}' sh "$pgxs" "$@"
	count_tap $status
	;;
esac

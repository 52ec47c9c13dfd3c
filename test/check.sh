#!/bin/sh
# Runs every part of the test suite through make, then prints what each counted
# and, last, the sum.  Exits 1 when anything failed.
set -eu

make=${1:?make}
shift
logs=build/check
mkdir -p $logs
for part in "$@"; do
	echo "== $part"
	{ $make --no-print-directory "$part" 2>&1 ||
		echo "$part: make failed"; } | tee "$logs/$part"
done
echo "== summary"
# A part that ends without its count has failed as a whole.
for part in "$@"; do
	count=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$logs/$part" | tail -n 1)
	printf '%-10s %s\n' "$part" "${count:-0 passed, 1 failed}"
done | tee $logs/summary
for part in "$@"; do
	grep -E '(^| )skipped' "$logs/$part" | sed "s/^/$part: /" || true
done
awk '{ passed += $2; failed += $4 }
	END { printf "%d passed, %d failed\n", passed, failed }' \
	$logs/summary | tee $logs/total
grep -q ', 0 failed' $logs/total

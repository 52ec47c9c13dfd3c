#!/bin/sh
# Installs the Debian packages that a build, the tests or the demo need, and
# only those that are missing: nothing is run as root when nothing is.
#
#   test/packages.sh build|test|demo [PG_CONFIG]
#
# What is there is judged by what it provides (a header, a program), not by a
# package name, so a PostgreSQL built from source is as good as Debian's.
set -eu

group=${1:?build, test or demo}
pg_config=${2:-pg_config}
missing=

need() # PACKAGE COMMAND...: the package, unless the command succeeds
{
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# Major version of the server: of pg_config, of its path, or Debian's default
# (empty where apt has no lists yet).
major()
{
	"$pg_config" --version 2>/dev/null |
		sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p' | grep . ||
		expr "$pg_config" : '.*/postgresql/\([0-9]*\)/' | grep . ||
		apt-cache show postgresql 2>/dev/null |
		sed -n 's/^Depends:.*postgresql-\([0-9][0-9]*\).*/\1/p' | head -n 1
}

has_server() { [ -x "$("$pg_config" --bindir)/postgres" ]; }
# Debian's server package has pgxs.mk, but not the headers.
has_headers()
{
	[ -f "$("$pg_config" --pgxs)" ] &&
		[ -f "$("$pg_config" --includedir-server)/postgres.h" ]
}
has_blas()
{
	for f in /usr/lib/*/openblas-serial/libopenblas.so; do
		[ -e "$f" ] && return 0
	done
	return 1
}
has_format()
{
	# Debian releases without this version: format-check says skipped.
	command -v clang-format-14 || ! apt-cache show clang-format-14
}

find_missing()
{
	missing=
	version=$(major) || version=
	need gcc command -v gcc
	need make command -v make
	need libc6-dev test -e /usr/include/stdio.h
	need "postgresql-$version" has_server
	need "postgresql-server-dev-$version" has_headers
	need libopenblas-serial-dev has_blas
	case $group in
	test)
		need perl command -v prove
		need libipc-run-perl perl -MIPC::Run -e 1
		need clang-format-14 has_format
		;;
	demo)
		need python3-sklearn /usr/bin/python3 -c 'import sklearn'
		need python3-numpy /usr/bin/python3 -c 'import numpy'
		;;
	esac
}

find_missing
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "missing:$missing (this is not Debian: install their like)" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
	echo "missing:$missing (not root and no sudo: install them as root)" >&2
	exit 1
fi
echo "apt-get update"
as_root apt-get -qq update || echo "apt-get update failed; going on" >&2
find_missing
[ -n "$missing" ] || exit 0
echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # a list of names
if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
	--no-install-recommends install $missing >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	exit 1
fi

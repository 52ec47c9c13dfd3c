#!/bin/sh
# Installs what make has built into the server that PG_CONFIG names: as the
# caller who may write there, else with sudo, and not at all where the very
# same files are there already.
#
#   test/install.sh MAKE
set -eu

make=${1:?make}
libdir=$("$PG_CONFIG" --pkglibdir)
stage=$PWD/build/stage

install_with() # COMMAND...
{
	"$@" "$make" --no-print-directory -s VX_BUILD=1 PG_CONFIG="$PG_CONFIG" \
		DESTDIR="${destdir:-}" install
}

is_installed()
{
	rm -rf "$stage"
	destdir=$stage install_with env || return 1
	(cd "$stage" && find . -type f) | {
		while read -r file; do
			cmp -s "$stage/$file" "/$file" || exit 1
		done
	}
}

if [ -w "$libdir" ]; then
	install_with env
elif is_installed; then
	echo "it is installed already"
elif command -v sudo >/dev/null; then
	install_with sudo
else
	echo "$(id -un) may not write to $libdir and has no sudo:" \
		"as root, run make install here" >&2
	exit 1
fi
rm -rf "$stage"

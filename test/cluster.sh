#!/bin/sh
# Throwaway PostgreSQL servers, run as an ordinary user, reached by a unix
# socket in a folder of their own and by nothing else.
#
#   test/cluster.sh run [--copy PATH]... [--conf 'NAME = VALUE']... -- COMMAND...
#       makes a cluster in a new folder below /tmp, runs COMMAND there, stops
#       the server, removes the folder, and exits as COMMAND did
#   test/cluster.sh user [--copy PATH]... -- COMMAND...
#       the same without a server
#   test/cluster.sh start DIR   starts the cluster in DIR, making it first
#   test/cluster.sh exec DIR -- COMMAND...
#       runs COMMAND in DIR with that cluster, as the owner of DIR
#   test/cluster.sh stop DIR
#
# COMMAND finds PGHOST, PGPORT, PGUSER and PGDATABASE set, PATH with the
# server's programs first, and PG_CONFIG.  It runs as the caller or, since
# PostgreSQL refuses root, as the user postgres (else nobody).  --copy puts a
# copy of PATH (same path, relative to the caller's folder) where that user can
# read and write.  The environment names the server: PG_CONFIG.
#
# VX_KEEP=FOLDER: run and user put what COMMAND leaves in its folder out/ there.
# VX_SHARED is set to the folder ../shared of the checkout where there is one.
set -eu

PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}")
bindir=$("$PG_CONFIG" --bindir)
port=5432

# as_user: what makes a command run as the ordinary user.  (runuser changes
# HOME, so commands are given it again.)
if [ "$(id -u)" != 0 ]; then
	user= as_user=
elif id postgres >/dev/null 2>&1; then
	user=postgres as_user="runuser -u postgres --"
else
	user=nobody as_user="runuser -u nobody --"
fi

environment() # DIR
{
	unset PGSERVICE PGPASSWORD PGOPTIONS PGDATA PGHOSTADDR PGSSLMODE
	export PG_CONFIG PGHOST="$1" PGPORT="$port" PGDATABASE=postgres
	export PGUSER=postgres PGTZ=UTC PSQLRC=/dev/null HOME="$1" TMPDIR="$1"
	export PATH="$bindir:$PATH"
}

# Makes the cluster DIR/data.  Durability of the files is not wanted: the
# folder goes away with the server.  The settings are the caller's, one a line.
create() # DIR SETTINGS
{
	$as_user "$bindir/initdb" -D "$1/data" -U postgres -A trust --no-sync \
		--no-locale -E UTF8 >"$1/initdb.log" 2>&1 ||
		{ cat "$1/initdb.log" >&2; return 1; }
	$as_user sh -c 'cat >>"$0/data/postgresql.conf"' "$1" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$1'
		port = $port
		fsync = off
		$2
	CONF
}

running() # DIR: is its server up?
{
	[ -f "$1/data/postmaster.pid" ] &&
		kill -0 "$(head -n 1 "$1/data/postmaster.pid")" 2>/dev/null
}

start() # DIR
{
	$as_user "$bindir/pg_ctl" -D "$1/data" -l "$1/server.log" -w -s start ||
		{ tail -n 20 "$1/server.log" >&2; return 1; }
}

# Stops the server of DIR and those that a test left below it: politely for
# ten seconds, then not.
stop() # DIR
{
	for file in $(find "$1" -name postmaster.pid 2>/dev/null); do
		pid=$(head -n 1 "$file")
		kill -INT "$pid" 2>/dev/null || continue
		i=0
		while kill -0 "$pid" 2>/dev/null; do
			i=$((i + 1))
			[ $i -lt 100 ] || { kill -QUIT "$pid" 2>/dev/null || true; break; }
			sleep 0.1
		done
	done
}

remove() # DIR
{
	stop "$1"
	rm -rf "$1" 2>/dev/null || { sleep 1; rm -rf "$1"; }
}

copy() # DIR PATH...: into DIR/work
{
	target=$1
	shift
	for path; do
		mkdir -p "$target/work/$(dirname "$path")"
		cp -R "$path" "$target/work/$path"
	done
	mkdir -p "$target/work" "$target/out"
}

# The folder beside the checkout, or a copy where the user cannot reach it.
shared() # DIR
{
	[ -d ../shared/data ] || return 0
	VX_SHARED=$(cd ../shared && pwd)
	if ! $as_user test -r "$VX_SHARED/data"; then
		mkdir -p "$1/shared"
		cp -R "$VX_SHARED/data" "$1/shared/"
		VX_SHARED=$1/shared
	fi
	export VX_SHARED
}

throwaway() # run|user OPTIONS -- COMMAND...
{
	what=$1
	shift
	settings= paths=
	while [ $# -gt 0 ]; do
		case $1 in
		--conf) settings="$settings
$2"; shift 2 ;;
		--copy) paths="$paths $2"; shift 2 ;;
		--) shift; break ;;
		*) echo "unknown option: $1" >&2; exit 2 ;;
		esac
	done
	# Short and not below TMPDIR: a socket's path is limited to 107 bytes.
	dir=$(mktemp -d /tmp/vx.XXXXXX)
	child=
	trap '[ -z "$child" ] || kill "$child" 2>/dev/null; remove "$dir"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	# shellcheck disable=SC2086 # a list of paths
	copy "$dir" $paths
	shared "$dir"
	[ -z "$user" ] || chown -R "$user" "$dir"
	environment "$dir"
	cd "$dir/work"
	if [ "$what" = run ]; then
		create "$dir" "$settings"
		start "$dir"
	fi
	# In the background, because a trap has to wait for a foreground command;
	# the copy of stdin, because a background command gets /dev/null.
	status=0
	exec 3<&0
	$as_user env HOME="$HOME" "$@" <&3 3<&- &
	child=$!
	wait $child || status=$?
	child=
	if [ -n "${VX_KEEP:-}" ]; then
		mkdir -p "$VX_KEEP"
		cp -R "$dir/out/." "$VX_KEEP/"
		[ ! -f "$dir/server.log" ] || cp "$dir/server.log" "$VX_KEEP/"
	fi
	exit $status
}

command=${1:-help}
case $command in
run | user)
	shift
	throwaway "$command" "$@"
	;;
start)
	dir=${2:?folder}
	[ -z "$user" ] || chown "$user" "$dir"
	environment "$dir"
	cd "$dir"
	[ -d "$dir/data" ] || create "$dir" "shared_buffers = 512MB"
	running "$dir" || start "$dir"
	;;
exec)
	dir=${2:?folder}
	shift 3
	environment "$dir"
	cd "$dir"
	$as_user env HOME="$HOME" "$@"
	;;
stop)
	stop "${2:?folder}"
	;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
	;;
esac

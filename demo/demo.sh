#!/bin/sh
# The demo's server and programs: demo/demo.sh run|ask|clean.
#
# Everything is in one folder, DEMO_DIR, owned by the ordinary user that runs
# the server.  The server stays up after `run`, on a unix socket there.
set -eu
cd "$(dirname "$0")/.."

dir=${DEMO_DIR:-/tmp/vector_ext-demo-$(id -un)}
python=/usr/bin/python3

run()
{
	clean
	# For its owner alone: the server trusts whoever reaches the socket.
	mkdir -m 700 "$dir"
	cp demo/*.py "$dir/"
	test/cluster.sh start "$dir"
	if ! test/cluster.sh exec "$dir" -- $python demo.py run; then
		test/cluster.sh stop "$dir"
		exit 1
	fi
	psql=$("${PG_CONFIG:-pg_config}" --bindir)/psql
	cat <<-END

		Ask it something of your own:
		  make ask Q="play music in a terminal"
		Open psql on it (table packages):
		  $psql -h $dir -U postgres
		Stop the server and remove everything:
		  make demo-clean
	END
}

ask()
{
	if [ ! -f "$dir/ready" ]; then
		echo "there is no demo yet: run make demo first" >&2
		exit 1
	fi
	if [ -z "${Q:-}" ]; then
		echo 'ask what? make ask Q="play music in a terminal"' >&2
		exit 1
	fi
	test/cluster.sh start "$dir"
	test/cluster.sh exec "$dir" -- $python demo.py ask "$Q"
}

clean()
{
	[ ! -d "$dir" ] || test/cluster.sh stop "$dir"
	rm -rf "$dir"
}

case ${1:-} in
run | ask | clean) "$1" ;;
*) sed -n '2,5s/^# //p' "$0"; exit 2 ;;
esac

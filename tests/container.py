"""Build the image, and run what `compose.yaml` describes, as docs/container.md says: ``python -m tests.container``.

Nothing of this machine is changed: Podman stands in a Debian of its own, in name spaces of its own, without a network
but for the loopback. No registry is asked, so the base is a Debian that debootstrap makes, and PostgreSQL is Debian's,
behind an entry point that is given what that of the official image is given. Needs root, debootstrap and 3 GB; the
first run makes two trees of Debian in `/var/tmp/grader-container`, which takes minutes, and later ones use them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_PLACE = Path(os.environ.get("CONTAINER_TREES", "/var/tmp/grader-container"))
_SUITE = "trixie"
_PYTHON = "3.13"
_TREES = {
    "base": "ca-certificates,python3,python3-venv,postgresql",
    "builder": "podman,buildah,podman-compose,crun,netavark,aardvark-dns,nftables,catatonit,iproute2,python3",
}
"""What stands in each tree: that of the images, and that of what makes and runs them."""

_ENTER = """
set -e
ip link set lo up
mount --make-rprivate /
mount --bind "$1/builder" "$1/builder"
cd "$1/builder"
mkdir -p given/base given/source given/wheels given/store
mount --bind "$1/base" given/base
mount --bind "$2" given/source
mount --bind "$1/wheels" given/wheels
mount --bind "$1/store" given/store
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
pivot_root . mnt
umount -l /mnt
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash -euc "$3"
"""

_SET_UP = r"""
cat > /etc/containers/storage.conf <<'END'
[storage]
driver = "overlay"
runroot = "/run/containers"
graphroot = "/given/store"
END
cat > /etc/containers/containers.conf <<'END'
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
END
printf '[global]\nno-index = true\nfind-links = /given/wheels\n' > /tmp/pip.conf
"""

_BASE = r"""
cat > /given/base/entry.sh <<'END'
#!/bin/bash -eu
data=/var/lib/postgresql/data programs=$(echo /usr/lib/postgresql/*/bin)
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
mkdir -p "$data" /var/run/postgresql
chown -R postgres /var/lib/postgresql /var/run/postgresql
if [ ! -e /var/lib/postgresql/made ]; then
  rm -rf "$data"/*
  echo "$POSTGRES_PASSWORD" > /tmp/password
  chown postgres /tmp/password
  as "$programs/initdb" -D "$data" --username=postgres $POSTGRES_INITDB_ARGS --pwfile=/tmp/password
  as "$programs/pg_ctl" -D "$data" -w -o "-h ''" start
  PGPASSWORD=$POSTGRES_PASSWORD "$programs/createdb" --username=postgres "$POSTGRES_DB"
  as "$programs/pg_ctl" -D "$data" -w stop
  touch /var/lib/postgresql/made
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups "$programs/postgres" -D "$data" -h '*'
END
chmod +x /given/base/entry.sh
made=$(buildah from scratch)
buildah add -q "$made" /given/base /
buildah commit -q "$made" localhost/base
buildah config --entrypoint '["/entry.sh"]' "$made"
buildah commit -q "$made" postgres:18
buildah rm "$made"
"""

_BUILD = r"""
buildah build --isolation chroot --volume /given/wheels:/given/wheels:ro --volume /tmp/pip.conf:/etc/pip.conf:ro \
  --build-arg BASE=localhost/base -f /given/source/Containerfile -t localhost/grader-daemon /given/source \
  >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }
buildah images
"""

_RUN = r"""
export HOME=/tmp/home FLEET_PASSWORD=secret
sessions=$HOME/.timmy/hermes/sessions database=$HOME/.timmy/uniwizard
mkdir -p "$sessions" "$HOME/.config/grader-daemon" /tmp/project
mkdir -m 700 "$database"
cat > "$sessions/session_20261126_120000_abcdef.json" <<'END'
{"session_id": "20261126_120000_abcdef", "model": "m", "session_start": "2026-11-26T12:00:00",
 "last_updated": "2026-11-26T12:01:00", "message_count": 2, "messages": [
 {"role": "user", "content": "Fix the parser"}, {"role": "assistant", "content": "Done."}]}
END
chown -R 1000:1000 "$HOME"
cp /given/source/compose.yaml /given/source/Containerfile /tmp/project
cd /tmp/project
{ podman pod rm --all --force; podman rm --all --force; podman volume rm --all --force; } >/dev/null 2>&1
up() { podman-compose --profile fleet up -d --no-build --no-deps "$@" >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }; }
healthy() { # by the check that compose.yaml gives it
  for try in $(seq 60); do
    podman healthcheck run "project_$1_1" >/dev/null && { echo "healthy: $1"; return; }
    sleep 1
  done
  podman logs "project_$1_1"
  exit 1
}
in_() { podman exec "project_$1_1" "${@:2}"; }

up daemon page
healthy daemon
healthy page
podman logs project_page_1 2>&1 | grep -q "Open http://127.0.0.1:7654/?token=" && echo "told: the address of the page"
in_ daemon grader-daemon list | grep -q 20261126_120000_abcdef && echo "graded: the session of this home"
in_ page python3 -c "
import os, urllib.request as web
token = open('$database/session_grades.db.token').read().strip()
asked = web.Request('http://127.0.0.1:7654/api/sessions', headers={'Authorization': f'Bearer {token}'})
assert b'20261126_120000_abcdef' in web.urlopen(asked).read()" && echo "shown: on the page"
for place in / "$sessions" "$HOME/.config/grader-daemon" /opt/grader-daemon; do
  in_ daemon sh -c "touch '$place/new'" 2>/dev/null && { echo "$place can be written"; exit 1; }
done
echo "written: nowhere but in the folder of the database"
[ "$(in_ daemon id -u)" = 1000 ]
in_ daemon grep -q 'CapEff:.0000000000000000' /proc/self/status && echo "rights: none"
[ "$(in_ daemon ls /sys/class/net)" = lo ] && echo "network of the daemon: none"

# Elsewhere timers of systemd ask; compose waits for the answer.
while sleep 2; do podman healthcheck run project_postgres_1 || true; done >/dev/null 2>&1 &
up postgres
healthy postgres
up fleet-init
[ "$(podman wait project_fleet-init_1)" = 0 ] || { podman logs project_fleet-init_1; exit 1; }
said=$(podman-compose --profile fleet run --rm fleet-init \
  fleet add-member watch --url postgresql://postgres@127.0.0.1/grader 2>/dev/null)
export FLEET_WATCH_URL=$(grep -o 'postgresql://[^"]*' <<<"$said")
up fleet-watch
healthy fleet-watch
kill %1
podman-compose --profile fleet down -v >/dev/null 2>&1
"""


def main() -> None:
    """Make what is missing, then build and run; what fails ends it with its words."""
    for name, packages in _TREES.items():
        _make_tree(_PLACE / name, packages)
    (_PLACE / "store").mkdir(exist_ok=True)
    _download(_PLACE / "wheels")
    _timed("base", f"{_SET_UP} podman image exists postgres:18 || {{ {_BASE} }}")
    _timed("build", _SET_UP + _BUILD)
    _timed("run", _SET_UP + _RUN)


def _make_tree(tree: Path, packages: str) -> None:
    """Make a Debian; it gets its name when it is whole."""
    if tree.exists():
        return
    unfinished = tree.with_name(f"{tree.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", _SUITE, str(unfinished)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    unfinished.rename(tree)


def _download(wheels: Path) -> None:
    """Get the wheels of our versions for the Python of the tree, with what makes a wheel of the project."""
    wheels.mkdir(exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(wheels), "--only-binary=:all:"]
    wanted = ["--python-version", _PYTHON, "--constraint", str(_ROOT / ".ci" / "constraints.txt")]
    subprocess.run([*pip, *wanted, "hatchling", "psycopg[binary]", *_dependencies()], check=True)


def _dependencies() -> list[str]:
    import tomllib

    found: list[str] = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return found


def _timed(what: str, script: str) -> None:
    started = time.monotonic()
    spaces = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--fork", "--kill-child"]
    ended = subprocess.run([*spaces, "bash", "-c", _ENTER, "-", str(_PLACE), str(_ROOT), script], check=False)
    if ended.returncode:
        sys.exit(f"{what} failed.")
    sys.stdout.write(f"{what}: {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main()

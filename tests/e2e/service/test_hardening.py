"""Every directive of the unit that takes something away is seen to do so, alone and together with the others."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from grader_daemon.fleet.systemd_unit import PUSHER
from grader_daemon.service.daemon_unit import DAEMON
from grader_daemon.service.unit_file import fitted_files, shipped
from grader_daemon.service.unit_value import Fit, Unit
from tests.e2e.service.box import DATABASE, HOME, SESSIONS, UNIT, UNIT_FILE, Box, Ended
from tests.e2e.service.conftest import Installed
from tests.e2e.service.probe import ATTEMPTS, KEY

pytestmark = pytest.mark.timeout(600)

_PROBE = Path("/srv/open/probe.py")
_UNITS = HOME / ".config/systemd/user"
_MOST_EXPOSED = 3.0
_REFUSED_BY: dict[str, tuple[str, ...]] = {
    "PrivateUsers": ("read the environment of another program", "write into another program's memory"),
    "ProtectSystem": ("write where everybody may",),
    "ProtectHome": ("write into the home folder", "write beside the sessions"),
    "NoExecPaths": ("execute what it wrote beside its database", "execute what it wrote as a temporary file"),
    "PrivateTmp": ("see temporary files of others",),
    "TemporaryFileSystem": (
        *("ask the service manager", "use the session bus", "use the system bus"),
        "read what is none of its business",
    ),
    "InaccessiblePaths": ("write into shared memory", "read the keys of ssh"),
    "PrivateDevices": ("use a device",),
    "UMask": ("leave files readable to others",),
    "PrivateNetwork": ("connect to a server",),
    "RestrictAddressFamilies": ("open an internet socket", "open an IPv6 socket", "open a netlink socket"),
    "NoNewPrivileges": ("gain privileges",),
    "CapabilityBoundingSet": ("have capabilities",),
    "SystemCallArchitectures": ("call as a 32-bit program",),
    "SystemCallFilter": tuple(name for name in ATTEMPTS if name.startswith("call ") and "32" not in name),
    "MemoryDenyWriteExecute": ("map memory writable and executable",),
    "LockPersonality": ("change the personality",),
    "RestrictNamespaces": ("make a name space",),
    "RestrictRealtime": ("ask for real time",),
    "RestrictSUIDSGID": ("make a set-uid program",),
    "PrivateIPC": ("use memory of other programs",),
    "ProtectClock": ("do without a further filter",),
    "ProtectControlGroups": ("make a control group",),
    "ProtectHostname": ("share the host's name",),
    "ProtectKernelModules": ("read modules of the kernel",),
    "ProtectKernelTunables": ("read addresses of the kernel",),
    "LimitCORE": ("dump its memory",),
    "Nice": ("run as soon as others",),
    "IOSchedulingClass": ("read as soon as others",),
    "OOMScoreAdjust": ("outlive others",),
}
"""What each directive alone keeps a program from."""

_NEEDS = {
    "IOSchedulingClass": "IOSchedulingPriority",
    "SystemCallFilter": "SystemCallErrorNumber",
    "TemporaryFileSystem": "BindReadOnlyPaths",
}
_GIVES_OR_LIMITS = {"BindPaths", "ReadWritePaths", "CPUWeight", "MemoryHigh", "MemoryMax", "TasksMax", "OOMPolicy"}
"""Other tests look after these."""

_LEFT = {"write beside its database", "read the sessions"}
"""All that the service may do."""

_PRIVATE_USERS = "PrivateUsers=yes"
_WITHOUT_PRIVATE_USERS = ("PrivateUsers", "NoNewPrivileges")
_LOOPBACK = "127.0.0.1"
_NETWORK = {"open an internet socket", "open an IPv6 socket", "connect to a server"}
_FOR_PROGRAMS = {
    "read what is none of its business",
    "open a netlink socket",
    "map memory writable and executable",
    "ask the service manager",
    "use the session bus",
    "use the system bus",
}

_FIT = Fit(
    command=("/bin/true",),
    environment={},
    needed=(SESSIONS,),
    writable=(DATABASE.parent,),
    home=HOME,
    runtime=Path("/run/user/1000"),
    max_file_bytes=1,
)

Told = Mapping[str, str | None]
"""What became of attempts: None, or why one was refused."""


def _restrictions(unit: str) -> list[str]:
    """Give the lines of a unit from the first that makes room for others to the last of its section."""
    return re.findall(r"^\w+=.*$", unit[unit.index("Nice=") : unit.index("[Install]")], re.MULTILINE)


def _fitted(unit: Unit = DAEMON, **needs: tuple[str, ...]) -> list[str]:
    fitted = fitted_files(unit, replace(_FIT, **needs), version="0")  # type: ignore[arg-type]
    return _restrictions(fitted[unit.service])


def _lines_of(*names: str) -> list[str]:
    return [line for line in _restrictions(shipped(DAEMON.service)) if line.partition("=")[0] in names]


class Prober:
    """Runs the probe in units of its own, many at a time."""

    def __init__(self, box: Box, port: int) -> None:
        self._box = box
        told = json.loads(box.sh(f"systemd-run --user --quiet --wait --pipe /usr/bin/python3 -P {_PROBE}"))
        self._environment = [f"Environment=OUTSIDE_{name}={value}" for name, value in {**told, "PORT": port}.items()]

    def tell(self, units: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> dict[str, Told]:
        """Try things under directives; both by the name of the unit."""
        for name, (directives, attempts) in units.items():
            self._box.put(_UNITS / f"probe-{name}.service", self._unit(name, directives, attempts))
        self._box.sh("mkdir -p told && systemctl --user daemon-reload")
        self._box.run(f"systemctl --user start {' '.join(f'probe-{name}' for name in units)}")
        said = self._box.sh("cd told && for name in *; do echo $name $(cat $name); done")
        return {line.split()[0]: json.loads(line.partition(" ")[2]) for line in said.splitlines()}

    def _unit(self, name: str, directives: Sequence[str], attempts: Sequence[str]) -> bytes:
        command = " ".join(["/usr/bin/python3", "-P", str(_PROBE), *(f'"{attempt}"' for attempt in attempts)])
        told = f"StandardOutput=file:{HOME}/told/{name}"
        lines = ["[Service]", "Type=oneshot", *self._environment, told, *directives, f"ExecStart={command}"]
        return "\n".join(lines).encode()


@pytest.fixture(scope="module")
def prober(booted_box: Box) -> Iterator[Prober]:
    """The probe in a box in which everything that it tries is there to be had."""
    box = booted_box
    box.root(
        "mkdir -p /srv/open /usr/lib/modules && chmod 1777 /srv/open && touch /dev/open && chmod 666 /dev/open"
        " && cp /usr/bin/id /usr/local/bin/as_root && chmod 4755 /usr/local/bin/as_root"
    )
    box.sh(f"mkdir -p .ssh {SESSIONS} {DATABASE.parent} && touch /tmp/outside secret")
    box.sh(f"python3 -c 'import ctypes; ctypes.CDLL(None).shmget({KEY}, 4096, 0o1600)'")
    box.put(_PROBE, (Path(__file__).parent / "probe.py").read_bytes())
    with socket.create_server((_LOOPBACK, 0)) as server:  # the box has the network of its host
        yield Prober(box, server.getsockname()[1])
    box.sh("rm -rf told .ssh secret")
    box.clear()


@pytest.fixture(scope="module")
def told(prober: Prober) -> dict[str, Told]:
    """What became of the attempts: with nothing taken away, with one directive of the unit, with all of them."""
    each = {
        name: (
            [*_lines_of(name, _NEEDS.get(name, "")), *([] if name in _WITHOUT_PRIVATE_USERS else [_PRIVATE_USERS])],
            attempts,
        )
        for name, attempts in _REFUSED_BY.items()
    }
    return prober.tell(
        {
            "nothing": ([], tuple(ATTEMPTS)),
            "users": ([_PRIVATE_USERS], tuple(ATTEMPTS)),
            "everything": (_restrictions(shipped(DAEMON.service)), tuple(ATTEMPTS)),
            "webhook": (
                _fitted(network=("a",)),
                tuple(ATTEMPTS),
            ),
            "pusher": (
                _fitted(PUSHER, needed=(), network=("a",)),
                tuple(ATTEMPTS),
            ),
            "command": (
                _fitted(programs=("a",)),
                tuple(ATTEMPTS),
            ),
            **each,
        }
    )


def test_every_restriction_of_the_unit_is_tried() -> None:
    named = {line.partition("=")[0] for line in _restrictions(shipped(DAEMON.service))}
    assert named == {*_REFUSED_BY, *_NEEDS.values(), *_GIVES_OR_LIMITS}


@pytest.mark.parametrize("directive", _REFUSED_BY)
def test_a_directive_takes_away_what_was_there(told: dict[str, Told], directive: str) -> None:
    """The box refuses a few things by itself; those show nothing."""
    before = told["nothing" if directive in _WITHOUT_PRIVATE_USERS else "users"]
    shown = [attempt for attempt in _REFUSED_BY[directive] if before[attempt] is None]
    assert shown
    assert [attempt for attempt in shown if told[directive][attempt] is None] == []


def test_the_service_can_do_nothing_but_its_work(told: dict[str, Told]) -> None:
    assert _done(told["everything"]) == _LEFT


def test_for_a_webhook_it_can_use_the_network(told: dict[str, Told]) -> None:
    assert _done(told["webhook"]) == {*_LEFT, *_NETWORK, "use the system bus"}


def test_what_sends_to_the_fleet_reads_no_session_and_can_use_the_network(told: dict[str, Told]) -> None:
    assert _done(told["pusher"]) == {"write beside its database", *_NETWORK, "use the system bus"}


def test_for_a_command_it_leaves_open_what_programs_need_and_writes_no_more(told: dict[str, Told]) -> None:
    calls = {attempt for attempt in _done(told["command"]) if attempt.startswith("call ")}
    assert _done(told["command"]) == {*_LEFT, *_NETWORK, *_FOR_PROGRAMS, *calls}


def _done(told: Told) -> set[str]:
    return {attempt for attempt, refusal in told.items() if refusal is None}


def test_limits_reach_the_kernel(installed: Installed) -> None:
    box, _ = installed
    shown = box.show("CPUWeight", "MemoryHigh", "MemoryMax", "TasksMax", "OOMPolicy", "ControlGroup")
    group = shown.pop("ControlGroup")
    assert shown == {
        "CPUWeight": "20",
        "MemoryHigh": str(1 << 30),
        "MemoryMax": str(1280 << 20),
        "TasksMax": "64",
        "OOMPolicy": "continue",
    }
    root = box.sh("findmnt --noheadings --output TARGET --types cgroup2 | head -1").strip()
    if "memory" not in box.run(f"cat {root}{Path(group).parent}/cgroup.controllers").said:
        pytest.skip("this kernel has its memory controller elsewhere")
    assert box.read(Path(f"{root}{group}/memory.max")).strip() == shown["MemoryMax"]


def test_the_unit_is_well_protected_in_the_eyes_of_systemd(installed: Installed) -> None:
    box, _ = installed
    assert box.run(f"systemd-analyze --user verify {UNIT_FILE}") == Ended(0, "", "")
    said = box.sh(f"systemd-analyze --user security --no-pager {UNIT}")
    found = re.search(r"exposure level for .*: ([\d.]+)", said)
    assert found is not None
    assert float(found[1]) <= _MOST_EXPOSED

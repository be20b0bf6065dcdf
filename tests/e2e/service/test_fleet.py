"""``fleet install | service-status | uninstall`` with a real systemd and a real PostgreSQL: what sends to the fleet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from grader_daemon.fleet.systemd_unit import PUSHER as UNIT
from grader_daemon.service.unit_file import shipped
from tests.e2e.service.box import CONFIG, DATABASE, HOME, PROGRAM, PUSHER, SERVER, SESSIONS, UNIT_FILE, Box
from tests.e2e.session_files import content, path_of
from tests.postgres import LOOPBACK, Server, free_port, serving
from tests.reference.pages import SCHEMAS
from tests.reference.validation import misfits
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)

_UNIT_FILE = UNIT_FILE.with_name(PUSHER)
_SOON = b"[Service]\nRestartSec=100ms\n"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """A PostgreSQL of this machine, whose network the box has."""
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server, box: Box) -> Server:
    """The server with a fleet that has this box, which has one grade, and sent nothing yet."""
    running.empty()
    box.put(path_of(SESSIONS, "worked"), content("worked"))
    box.grader("grade")
    box.grader(f"fleet init --url {running.url()}")
    box.put(CONFIG, box.grader(f"fleet add-host laptop --url {running.url()}").encode())
    return running


def _told(server: Server) -> list[tuple[bool | None]]:
    """Return what the server says of each session: was its task completed? None: nobody knows."""
    with server.admin() as connection:
        return connection.execute("SELECT task_completed FROM grader.grades WHERE host = 'laptop'").fetchall()


def _wait_until_told(server: Server, *, completed: bool) -> None:
    wait_until(lambda: _told(server) == [(completed,)], f"a grade that says {completed}")


@pytest.fixture
def judge(box: Box) -> Callable[[str], object]:
    """Say by hand whether the task of the session was completed."""
    return lambda said: box.grader(f"label worked --completed {said}")


def _document(printed: str, name: str) -> dict[str, object]:
    """Read a document that is as its schema says."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    read: dict[str, object] = json.loads(printed)
    assert list(misfits(read, schema, root=schema)) == []
    return read


def _status(box: Box) -> dict[str, object]:
    return _document(box.run_grader("fleet service-status --json").said, "fleet-service-status")


def _status_if_sent(box: Box) -> dict[str, object] | None:
    """Return how it stands once nothing waits: it notes what it sent after it is there."""
    told = _status(box)
    return told if told["behind"] == 0 else None


def _doctor(box: Box) -> dict[str, str]:
    checks = json.loads(box.run_grader("doctor --json").said)["checks"]
    found: dict[str, str] = next(check for check in checks if check["name"] == "fleet")
    return found


def test_what_is_judged_gets_there_whatever_is_killed(box: Box, server: Server, judge: Callable[[str], object]) -> None:
    judge("no")

    said = box.grader("fleet install")

    pid = box.show("MainPID", unit=PUSHER)["MainPID"]
    assert said.splitlines() == [
        f"Wrote {_UNIT_FILE}.",
        f"It can write only to {DATABASE.parent}; for fleet_url it may use the network.",
        "Enabled: it starts with your session.",
        f"Started, pid {pid}.",
    ]
    _wait_until_told(server, completed=False)
    password = box.read(CONFIG).split(":")[2].split("@")[0]
    assert password not in box.read(_UNIT_FILE) + box.sh(f"cat /proc/{pid}/cmdline")

    box.put(_UNIT_FILE.with_name(f"{PUSHER}.d") / "soon.conf", _SOON)
    box.sh(f"systemctl --user daemon-reload; kill -KILL {pid}")
    judge("yes")
    _wait_until_told(server, completed=True)
    told = wait_until(lambda: _status_if_sent(box), "all to be noted as sent")
    assert (told["running"], told["restarts"], told["outdated"]) == (True, 1, False)

    server.kill()
    try:
        judge("no")
        box.wait_for_line("tried again in 5 s", unit=PUSHER)
        in_trouble, trouble = _doctor(box), str(_status(box)["trouble"])
    finally:
        server.start()
    assert in_trouble["state"] == "warning"
    assert " not sent yet: PostgreSQL: " in in_trouble["found"]
    assert re.search(r"tried again in \d+ s", trouble), trouble
    _wait_until_told(server, completed=False)

    assert _document(box.grader("fleet uninstall --json"), "fleet-uninstall")["removed"]
    assert box.show("LoadState", "ActiveState", unit=PUSHER) == {"LoadState": "not-found", "ActiveState": "inactive"}
    assert box.sh("find .config/systemd -type f -not -name soon.conf -o -type l") == ""
    assert box.grader("fleet uninstall") == "Nothing to do: no service is installed.\n"
    nothing = box.run_grader("fleet service-status")
    assert (nothing.code, "no: grader-daemon fleet install" in nothing.said) == (3, True)


@pytest.mark.thorough
def test_of_the_home_it_sees_what_libpq_needs_and_no_session(
    box: Box, server: Server, judge: Callable[[str], object]
) -> None:
    """And reads anew what changed: the password moves from the settings to where libpq has it."""
    assert _document(box.grader("fleet install --json"), "fleet-install")["network"] == ["fleet_url"]
    assert box.grader("fleet install").startswith("Nothing to do: ")
    box.sh(rf"sed 's|.*//\([^:]*:[^@]*\)@.*|*:*:*:\1|' {CONFIG} > .pgpass && chmod 600 .pgpass")
    box.sh(rf"sed -i 's|//\([^:]*\):[^@]*@|//\1@|' {CONFIG} && touch -d 'next minute' {CONFIG}")
    box.put(HOME / ".postgresql/root.crt", b"")
    try:
        assert "settings or version changed" in box.run_grader("fleet service-status").said
        assert "Started, pid " in box.grader("fleet install")
        judge("yes")
        _wait_until_told(server, completed=True)
        pid = box.show("MainPID", unit=PUSHER)["MainPID"]
        seen = box.root(f"cd /proc/{pid}/root{HOME} && ls -A . .config .timmy .postgresql").split()
    finally:
        box.sh("rm -r .pgpass .postgresql")
    there = "venv .config .pgpass .postgresql .timmy"
    below = ".config: grader-daemon .timmy: uniwizard .postgresql: root.crt"
    assert sorted(seen) == sorted(f".: {there} {below}".split())
    assert box.run(f"cat /proc/{pid}/root/run/user/1000/bus").code != 0


@pytest.mark.thorough
def test_a_database_behind_a_link_is_the_same_machine(box: Box, server: Server, judge: Callable[[str], object]) -> None:
    """Links end at the edge of the sandbox, and the fleet refuses two databases with one login."""
    box.sh("mv .timmy elsewhere && ln -s elsewhere .timmy")
    try:
        assert box.grader("fleet push") == "Sent 1 session.\n"
        assert _told(server) == [(False,)]
        box.grader("fleet install")
        judge("yes")
        _wait_until_told(server, completed=True)
    finally:
        box.sh(f"systemctl --user stop {PUSHER}; rm -r elsewhere")


@pytest.mark.thorough
def test_the_unit_of_the_repository_can_be_used_by_hand(box: Box, server: Server) -> None:
    """The program lies elsewhere than pipx puts it: a drop-in shows that place."""
    box.put(_UNIT_FILE, shipped(UNIT.service).encode())
    box.put(_UNIT_FILE.with_name(f"{PUSHER}.d") / "place.conf", b"[Service]\nBindReadOnlyPaths=%h/venv\n")
    box.sh(f"mkdir -p .local/bin && ln -s {PROGRAM} .local/bin/")
    box.sh(f"systemctl --user daemon-reload && systemctl --user enable --now {PUSHER}")

    wait_until(lambda: _told(server), "the grade")
    assert box.run(f"systemd-analyze --user verify {_UNIT_FILE}").errors == ""


@pytest.mark.thorough
def test_members_are_served_from_within_the_sandbox(box: Box, server: Server) -> None:
    """Page, commands in processes of their own, and a token that is made while it runs."""
    box.grader("fleet push")
    port = free_port()
    login = box.grader(f"fleet add-member lead --url {server.url()}")
    box.put(CONFIG, f"{login}fleet_serve_port = {port}\n".encode())

    said = box.grader("fleet serve install")

    assert "for fleet_read_url it may use the network" in said
    assert f"Started, pid {box.show('MainPID', unit=SERVER)['MainPID']}." in said
    token = json.loads(box.grader("fleet add-token anna --json"))["token"]

    def ask(address: str, **document: object) -> dict[str, object] | None:
        content = json.dumps(document).encode() if document else None
        asked = Request(f"http://{LOOPBACK}:{port}{address}", content, {"Authorization": f"Bearer {token}"})
        try:
            with urlopen(asked, timeout=60) as answer:
                read: dict[str, object] = json.load(answer)
                return read
        except URLError:  # it is in the future, or has not read the fleet
            return None

    def grades() -> object:
        return (ask("/api/sessions") or {}).get("grades")

    wait_until(grades, "the session to be served")
    assert "laptop/worked" in str(ask("/api/prompt", words=["list"]))
    told = _document(box.grader("fleet serve status --json"), "fleet-serve-status")
    assert (told["running"], told["restarts"], told["outdated"]) == (True, 0, False)
    assert _document(box.grader("fleet serve uninstall --json"), "fleet-serve-uninstall")["removed"]
    assert ask("/api/sessions") is None

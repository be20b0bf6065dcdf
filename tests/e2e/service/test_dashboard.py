"""``dashboard install | status | uninstall`` with a real systemd: it opens the port, and starts the page at a visit."""

from __future__ import annotations

import json
import re
import socket

import pytest

from grader_daemon.dashboard.systemd_unit import PAGE as UNIT
from grader_daemon.service.unit_file import shipped
from tests.e2e.service.box import CONFIG, DATABASE, HOME, PAGE, PAGE_SOCKET, PROGRAM, SESSIONS, UNIT_FILE, Box
from tests.e2e.session_files import content, path_of
from tests.reference.pages import SCHEMAS
from tests.reference.validation import misfits
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)

_UNITS = UNIT_FILE.parent
_ENTRANCE = re.compile(r"Open (http://127\.0\.0\.1:(\d+))/\?token=(\S+)")


def _free_port() -> int:
    """Return a port that nobody holds: the box has the network of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


@pytest.fixture(autouse=True)
def port(box: Box) -> int:
    """Set a port for the page that nobody else has."""
    free = _free_port()
    box.put(CONFIG, f"dashboard_port = {free}".encode())
    return free


def _ask(box: Box, said: str, address: str, *more: str) -> str:
    """Ask a page as a program does, from inside the box; returns status, a space, and the answer."""
    found = _ENTRANCE.search(said)
    assert found is not None, said
    request = (
        "import sys, urllib.request as r, urllib.error as e\n"
        f"q = r.Request('{found[1]}{address}', headers={{'Authorization': 'Bearer {found[3]}'}})\n"
        f"{''.join(more)}"
        "try: a = r.urlopen(q, timeout=60)\n"
        "except e.HTTPError as error: a = error\n"
        "print(a.status, a.read().decode())\n"
    )
    return box.sh("python3 -", content=request.encode())


def _is_as_its_schema_says(printed: str, name: str) -> bool:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    return list(misfits(json.loads(printed), schema, root=schema)) == []


def test_the_first_visit_starts_the_page_in_its_sandbox(box: Box) -> None:
    box.put(path_of(SESSIONS, "worked"), content("worked"))
    box.grader("grade")

    said = box.grader("dashboard install")

    assert said.startswith(f"Wrote {_UNITS / PAGE} and {_UNITS / PAGE_SOCKET}.\nIt can write only to {DATABASE.parent}")
    assert "\nEnabled: its port is open while you are logged in." in said
    assert box.show("ActiveState", unit=PAGE) == {"ActiveState": "inactive"}
    assert "starts on request" in box.grader("dashboard status")

    assert _ask(box, said, "/session/worked").startswith("200 ")
    shown = json.loads(_ask(box, said, "/api/sessions/worked/transcript").removeprefix("200 "))
    assert (shown["note"], shown["total"] > 0) == (None, True)
    label = "q.data, q.method = b'{\"completed\": false}', 'POST'\n"
    assert _ask(box, said, "/api/sessions/worked/label", label).startswith("200 ")
    assert "worked" in box.grader("label --list")

    told = json.loads(box.grader("dashboard status --json"))
    assert _is_as_its_schema_says(json.dumps(told), "dashboard-status")
    assert [told[name] for name in ("installed", "listening", "running")] == [True] * 3
    pid = box.show("MainPID", unit=PAGE)["MainPID"]
    assert told["pid"] == int(pid)
    assert re.findall(r"^ *(\w+):", box.root(f"cat /proc/{pid}/net/dev"), re.MULTILINE) == ["lo"]
    assert box.run(f"cat /proc/{pid}/root/run/user/1000/bus").code != 0


@pytest.mark.thorough
def test_a_page_that_nobody_looks_at_ends_and_comes_back(box: Box) -> None:
    said = box.grader("dashboard install")
    _ask(box, said, "/health")
    drop_in = f"[Service]\nExecStart=\nExecStart={PROGRAM} dashboard --idle-exit 1\n"
    box.put(_UNITS / f"{PAGE}.d" / "soon.conf", drop_in.encode())
    box.sh(f"systemctl --user daemon-reload; systemctl --user stop {PAGE}")

    for _ in range(2):
        assert _ask(box, said, "/health").startswith("200 ")
        wait_until(
            lambda: box.show("ActiveState", "Result", unit=PAGE) == {"ActiveState": "inactive", "Result": "success"},
            "the end of the page",
            within=30,
        )


@pytest.mark.thorough
def test_installing_again_changes_nothing_and_the_command_tells_the_address(box: Box) -> None:
    first = box.grader("dashboard install")
    entrance = _ENTRANCE.search(first)
    assert entrance is not None

    again = box.grader("dashboard install")
    assert again.startswith("Nothing to do: the service matches your settings.\n")
    for said in (again, box.grader("dashboard"), box.grader("dashboard status")):
        assert entrance[0].removeprefix("Open ") in said
    assert _is_as_its_schema_says(box.grader("dashboard install --json"), "dashboard-install")


@pytest.mark.thorough
def test_another_port_is_put_in_force(box: Box) -> None:
    first = box.grader("dashboard install")
    assert _ask(box, first, "/health").startswith("200 ")
    other = _free_port()
    box.put(CONFIG, f"dashboard_port = {other}".encode())
    assert "settings or version changed since" in box.grader("dashboard status")

    second = box.grader("dashboard install")

    assert f":{other}/" in second
    assert _ask(box, second, "/health").startswith("200 ")
    assert "outdated" not in box.grader("dashboard status")


@pytest.mark.thorough
def test_a_port_that_is_taken_is_told(box: Box, port: int) -> None:
    holder = f'import socket, time; s = socket.create_server(("127.0.0.1", {port})); time.sleep(600)'
    box.sh(f"systemd-run --user --quiet --collect --unit=holder python3 -c '{holder}'")
    try:
        wait_until(lambda: box.run(f"grep -i :{port:04X} /proc/net/tcp").code == 0, "the other program", within=30)
        ended = box.run_grader("dashboard install")
        assert ended.code == 2
        assert "another program may use: choose another with dashboard_port" in ended.errors
        assert ended.errors.count("\n") == 1
        closed = box.run_grader("dashboard status")
        assert (closed.code, "closed" in closed.said) == (3, True)
    finally:
        box.sh("systemctl --user stop holder")
    assert "Open http" in box.grader("dashboard install")


@pytest.mark.thorough
def test_edited_units_are_left_alone_unless_forced(box: Box) -> None:
    box.grader("dashboard install")
    box.sh(f"echo 'Environment=A=1' >> {_UNITS / PAGE}")
    refused = box.run_grader("dashboard install")
    assert refused.code == 2
    assert f"{_UNITS / PAGE} was edited by hand: +Environment=A=1" in refused.errors
    assert f"Kept the edited unit as {_UNITS / PAGE}.edited1." in box.grader("dashboard install --force")


@pytest.mark.thorough
def test_uninstalling_closes_the_port(box: Box) -> None:
    said = box.grader("dashboard install")
    _ask(box, said, "/health")

    removed = box.grader("dashboard uninstall --json")

    assert _is_as_its_schema_says(removed, "dashboard-uninstall")
    for unit in (PAGE, PAGE_SOCKET):
        assert box.show("LoadState", "ActiveState", unit=unit) == {
            "LoadState": "not-found",
            "ActiveState": "inactive",
        }
    assert box.grader("dashboard uninstall") == "Nothing to do: no service is installed.\n"
    nothing = box.run_grader("dashboard status")
    assert (nothing.code, "not installed: grader-daemon dashboard install" in nothing.said) == (3, True)


@pytest.mark.thorough
def test_the_units_of_the_repository_can_be_used_by_hand(box: Box, port: int) -> None:
    for file in UNIT.files:
        box.put(_UNITS / file, shipped(file).replace(":7654", f":{port}").encode())
    box.sh(f"mkdir -p -m 700 {DATABASE.parent} && mkdir -p .local/bin && ln -s {PROGRAM} {HOME}/.local/bin/")
    box.sh(f"systemctl --user daemon-reload && systemctl --user enable --now {PAGE_SOCKET}")

    said = box.grader("dashboard")

    assert _ask(box, said, "/health").startswith("200 ")

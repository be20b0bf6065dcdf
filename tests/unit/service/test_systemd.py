"""What is made of the words of systemctl and journalctl; the real ones are tried in tests/e2e/service."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader_daemon.errors import ServiceError
from grader_daemon.service.systemd import UserManager, read_log

SHOWN = """LoadState=loaded
ActiveState=failed
UnitFileState=enabled
FragmentPath=/home/somebody/.config/systemd/user/x.service
NeedDaemonReload=no
MainPID=0
ActiveEnterTimestamp=@1795327639
ExecMainStartTimestamp=@1795327639
ExecMainExitTimestamp=@1795327640
Result=exit-code
ExecMainCode=1
ExecMainStatus=78
NRestarts=2
StatusText=a=b
"""


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have a program say something, and end with a code; there are no others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def say(program: str, said: str = "", *, errors: str = "", code: int = 0) -> None:
        for name, text in (("said", said), ("errors", errors)):
            (tmp_path / f"{program}.{name}").write_text(text)
        lines = [
            "#!/bin/sh",
            f"/bin/cat {tmp_path}/{program}.said",
            f"/bin/cat {tmp_path}/{program}.errors >&2",
            f"exit {code}",
        ]
        (folder / program).write_text("\n".join(lines))
        (folder / program).chmod(0o755)

    return say


def test_a_machine_without_systemd_is_told_what_to_do_instead(says: Callable[..., None]) -> None:
    del says  # there is no program at all
    with pytest.raises(ServiceError, match=r"systemctl cannot be run .*: without systemd, run `grader-daemon run`"):
        UserManager()


def test_a_user_without_a_manager_is_told_what_to_do_instead(says: Callable[..., None]) -> None:
    says("systemctl", errors="Failed to connect to bus: No medium found\nand more\n", code=1)
    with pytest.raises(ServiceError, match=r"does not answer \(Failed to connect to bus: No medium found\): log in as"):
        UserManager()


def test_the_manager_is_asked_where_it_is(says: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    says("systemctl")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert UserManager().runtime.parent == Path("/run/user")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/mine")
    assert UserManager().runtime == Path("/run/mine")


def test_a_state_is_read(says: Callable[..., None]) -> None:
    says("systemctl", SHOWN)
    state = UserManager().state("x.service")
    assert (state.load, state.active, state.enabled, state.is_outdated) == ("loaded", "failed", "enabled", False)
    assert (state.pid, state.exit_code, state.signal, state.restarts, state.says) == (None, 78, None, 2, "a=b")
    assert state.ended_at == datetime(2026, 11, 22, 6, 7, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("code", "exit_code", "number"), [("0", None, None), ("1", 6, None), ("2", None, 6), ("3", None, 6)]
)
def test_an_end_is_an_exit_or_a_signal(
    says: Callable[..., None], code: str, exit_code: int | None, number: int | None
) -> None:
    says("systemctl", f"ExecMainCode={code}\nExecMainStatus=6\n")
    state = UserManager().state("x.service")
    assert (state.exit_code, state.signal) == (exit_code, number)


def test_a_unit_that_nobody_knows_has_no_times(says: Callable[..., None]) -> None:
    says("systemctl", "LoadState=not-found\nActiveEnterTimestamp=\nExecMainStartTimestamp=@0\n")
    state = UserManager().state("x.service")
    assert (state.active_since, state.started_at, state.pid, state.path) == (None, None, None, "")


def test_what_systemctl_refuses_is_told_in_one_line(says: Callable[..., None]) -> None:
    says("systemctl")
    manager = UserManager()
    says("systemctl", errors="Job for x failed.\nSee more.\n", code=1)
    with pytest.raises(ServiceError, match=r"^Job for x failed\.$"):
        manager.reload()
    says("systemctl", code=4)
    with pytest.raises(ServiceError, match="systemctl ended with 4"):
        manager.restart("x.service")


def test_entries_of_the_journal_are_read(says: Callable[..., None]) -> None:
    fields = {"__REALTIME_TIMESTAMP": "1795327640500000", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "x"}
    messages: list[object] = ["text", list("böse \x1b".encode()), None]
    says("systemctl")
    says("journalctl", "".join(json.dumps({**fields, "MESSAGE": message}) + "\n" for message in messages))
    entries = list(read_log("x.service", lines=10))
    assert [entry.message for entry in entries] == ["text", "böse \x1b", ""]
    assert entries[0].at == datetime(2026, 11, 22, 6, 7, 20, 500_000, tzinfo=UTC)
    assert (entries[0].priority, entries[0].source) == (4, "x")


def test_a_journal_that_cannot_be_read_is_told(says: Callable[..., None]) -> None:
    says("systemctl")
    says("journalctl", errors="Unknown priority wrong\n", code=1)
    with pytest.raises(ServiceError, match="Unknown priority wrong"):
        list(read_log("x.service", lines=10))

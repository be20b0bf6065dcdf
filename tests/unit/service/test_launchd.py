"""Services in the hands of a launchd that is a script; no Mac was asked."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Callable
from pathlib import Path

import pytest

from grader_daemon.dashboard.systemd_unit import page_status
from grader_daemon.errors import ServiceError
from grader_daemon.service import UNITS, named
from grader_daemon.service.launch_agent import LaunchAgent
from grader_daemon.service.launchd import JobState, LaunchAgents, label, log_file, written_list
from grader_daemon.service.manager import read_service_log, user_service
from grader_daemon.service.unit_value import Fit
from grader_daemon.settings import load_settings

_LISTS = Path(__file__).parents[2] / "data" / "launchd"
_LABEL = "io.github.grader-daemon.grader-daemon"
_LAUNCHCTL = r"""#!/bin/sh
echo "$*" >> "$HOME/asked"
mkdir -p "$HOME/jobs"
job=$HOME/jobs/${2##*/}
case "$1 $2" in
"print gui/"*/*)
    test -e "$job" || { echo "Could not find service" >&2; exit 113; }
    cat "$job" ;;
"bootstrap "*)
    job=$HOME/jobs/$(basename "$3" .plist)
    test ! -e "$HOME/refuse" || { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }
    test ! -e "$HOME/ends" || { printf '\tstate = spawn scheduled\n\truns = 1\n\tlast exit code = 78: EX_CONFIG\n' > "$job"; exit; }
    printf '\tstate = running\n\truns = 1\n\tpid = %s\n\tlast exit code = (never exited)\n' $PPID > "$job" ;;
"bootout "*) rm -f "$job" ;;
"kickstart "*) printf '\tstate = running\n\truns = 2\n\tpid = %s\n\tlast exit code = 0\n' $PPID > "$HOME/jobs/${3##*/}" ;;
esac
"""  # noqa: E501


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a person on a Mac who set nothing."""
    for name in [name for name in os.environ if name.startswith("GRADER_")]:
        monkeypatch.delenv(name)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "launchctl").write_text(_LAUNCHCTL)
    (programs / "launchctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("grader_daemon.service.launch_agent._LOOKS_EVERY_SECONDS", 0.001)
    monkeypatch.setattr("grader_daemon.service.launchd._LOOKS_EVERY_SECONDS", 0.001)
    return tmp_path


def asked(home: Path) -> list[str]:
    """What was asked of launchd since it was looked at last, without the questions how something is."""
    lines = (home / "asked").read_text().splitlines()
    (home / "asked").write_text("")
    return [line for line in lines if not line.startswith("print")]


@pytest.mark.parametrize("name", UNITS)
def test_a_list_is_as_it_was_reviewed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against launchd.plist(5); a Fit of somebody whose folder has a space and a sign of XML in it."""
    monkeypatch.setenv("HOME", "/Users/anna")
    unit = named(name)
    fit = Fit(
        command=("/Users/anna/.local/bin/python", "-P", "-m", "grader_daemon", *unit.foreground.split()[-1:]),
        environment={"GRADER_WATCH_ROOTS": '["/Users/anna/R&D notes"]'},
        needed=(),
        writable=(Path("/Users/anna/.timmy/uniwizard"),),
        home=Path("/Users/anna"),
        runtime=Path("/run/user/501"),
        max_file_bytes=1,
    )

    assert written_list(unit, fit, version="0.1.0") == (_LISTS / f"{label(unit)}.plist").read_text()


def test_the_daemon_is_installed_once_and_runs_with_each_session(home: Path) -> None:
    service = user_service("daemon")
    assert isinstance(service, LaunchAgent)
    done = service.install(load_settings())
    path = home / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    user = f"gui/{os.getuid()}"

    assert (done.units, done.written, done.enabled, done.started) == ((path,), True, True, True)
    assert asked(home) == [f"bootout {user}/{_LABEL}", f"enable {user}/{_LABEL}", f"bootstrap {user} {path}"]
    told = plistlib.loads(path.read_bytes())
    assert (told["Label"], told["ProgramArguments"][-3:]) == (_LABEL, ["-m", "grader_daemon", "run"])
    assert Path(told["StandardErrorPath"]).parent.is_dir()

    again = LaunchAgent("daemon").install(load_settings())
    assert (again.written, again.enabled, again.started, asked(home)) == (False, False, False, [])


def test_other_settings_are_put_in_force(home: Path, tmp_path: Path) -> None:
    LaunchAgent("daemon").install(load_settings())
    other = load_settings(db_path=tmp_path / "other" / "grades.db")
    assert LaunchAgent("daemon").status(other).outdated
    asked(home)

    done = LaunchAgent("daemon").install(other)

    assert (done.written, done.enabled, [line.split()[0] for line in asked(home)]) == (
        True,
        False,
        ["bootout", "enable", "bootstrap"],
    )
    assert not LaunchAgent("daemon").status(other).outdated


def test_status_tells_how_it_is(home: Path) -> None:
    before = LaunchAgent("daemon").status(load_settings())
    LaunchAgent("daemon").install(load_settings())
    status = LaunchAgent("daemon").status(load_settings())

    assert (before.installed, before.running, before.state, before.ended) == (False, False, "not loaded", None)
    assert (status.installed, status.running, status.enabled, status.edited) == (True, True, True, False)
    assert (status.pid, status.outdated, status.restarts, status.ended) == (os.getpid(), False, 0, None)
    assert status.since is not None
    (home / "jobs" / _LABEL).write_text(
        "\tstate = waiting\n\truns = 4\n\tlast exit code = 1\n\tlast terminating signal = Killed: 9\n"
    )
    killed = LaunchAgent("daemon").status(load_settings())
    assert (killed.running, killed.state, killed.restarts, killed.ended) == (False, "waiting", 3, "ended by Killed: 9")


def test_a_program_that_ends_at_once_is_told(home: Path) -> None:
    (home / "ends").touch()

    with pytest.raises(ServiceError, match=r"did not start: exit code 78; see .*grader-daemon.log"):
        LaunchAgent("daemon").install(load_settings())


def test_what_launchd_refuses_is_told(home: Path) -> None:
    (home / "refuse").touch()

    with pytest.raises(ServiceError, match="launchctl bootstrap: Bootstrap failed: 5: Input/output error"):
        LaunchAgent("daemon").install(load_settings())


def test_an_edited_list_is_left_alone_unless_it_is_forced() -> None:
    (path,) = LaunchAgent("daemon").install(load_settings()).units
    written = path.read_text()
    edited = written.replace("<integer>10</integer>", "<integer>0</integer>")
    path.write_text(edited)

    with pytest.raises(ServiceError, match=r"edited by hand: \+Nice=0. Put your own settings"):
        LaunchAgent("daemon").install(load_settings())
    status = LaunchAgent("daemon").status(load_settings())
    assert (path.read_text(), status.edited, status.outdated) == (edited, True, False)

    (copy,) = LaunchAgent("daemon").install(load_settings(), force=True).kept
    assert (path.read_text(), copy.read_text(), copy.suffix) == (written, edited, ".edited1")


def test_what_is_taken_away_leaves_its_folder(home: Path) -> None:
    assert LaunchAgent("daemon").uninstall() is None
    (path,) = LaunchAgent("daemon").install(load_settings()).units
    asked(home)

    assert LaunchAgent("daemon").uninstall() == str(home / ".timmy" / "uniwizard")
    assert (path.exists(), asked(home)) == (False, [f"bootout gui/{os.getuid()}/{_LABEL}"])


def test_the_page_runs_all_the_time_and_is_at_its_port(home: Path) -> None:
    (path,) = user_service("page").install(load_settings()).units
    here, elsewhere = page_status(load_settings()), page_status(load_settings(db_path=home / "other" / "grades.db"))

    assert plistlib.loads(path.read_bytes())["ProgramArguments"][-1] == "dashboard"
    assert (here.listening, here.is_here, here.running) == (True, True, True)
    assert (elsewhere.listening, elsewhere.is_here, elsewhere.outdated) == (True, False, True)


def test_without_a_session_at_the_screen_it_says_what_to_do(home: Path) -> None:
    (home / "bin" / "launchctl").write_text(
        "#!/bin/sh\necho 'Domain does not support specified action' >&2\nexit 125\n"
    )

    with pytest.raises(ServiceError, match=r"launchd has no session for you .*: log in at the screen, or run `grader"):
        LaunchAgents()


def test_a_job_is_read_as_macos_tells_it(home: Path) -> None:
    """Lines of `launchctl print` that matter, among others, as pages of others show them for macOS 13 to 15."""
    (home / "jobs").mkdir()
    (home / "jobs" / "x").write_text(
        "gui/501/x = {\n\tactive count = 1\n\tpath = /Users/a/x.plist\n\tstate = running\n\n\tprogram = /bin/x\n"
        "\tdefault environment = {\n\t\tPATH => /usr/bin\n\t}\n\n\truns = 1\n\tpid = 4711\n"
        "\tlast exit code = (never exited)\n\n\tspawn type = daemon (3)\n}\n"
    )

    assert LaunchAgents().state("x") == JobState(loaded=True, word="running", pid=4711, runs=1)


@pytest.fixture
def write_log() -> Callable[[str], None]:
    """Write what the daemon said."""

    def write(text: str) -> None:
        path = log_file("grader-daemon")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)

    return write


_EVENT = '{"timestamp":"2026-11-22T06:17:00Z","level":"%s","event":"x.y","message":"%s"}\n'


def test_the_log_is_read_back_by_priority(write_log: Callable[[str], None]) -> None:
    write_log(_EVENT % ("info", "one") + _EVENT % ("warning", "two") + "Traceback\n" + _EVENT % ("info", "three"))
    daemon = named("daemon")

    every = [entry.priority for entry in read_service_log(daemon, lines=3)]
    troubles = list(read_service_log(daemon, lines=10, priority="warning"))

    assert (every, [entry.priority for entry in troubles]) == ([4, 3, 6], [4, 3])
    assert (troubles[0].source, troubles[0].at.isoformat()) == ("grader-daemon", "2026-11-22T06:17:00+00:00")
    assert troubles[1].message == "Traceback"


def test_a_log_is_followed_over_its_rotation(write_log: Callable[[str], None]) -> None:
    write_log(_EVENT % ("info", "before"))
    entries = read_service_log(named("daemon"), lines=1, follow=True)
    assert "before" in next(entries).message

    write_log(_EVENT % ("info", "last"))
    assert "last" in next(entries).message
    log_file("grader-daemon").rename(log_file("grader-daemon.1"))
    write_log(_EVENT % ("info", "first of the next"))
    assert "first of the next" in next(entries).message
    entries.close()  # type: ignore[attr-defined]


def test_where_nothing_was_logged_it_says_so() -> None:
    with pytest.raises(ServiceError, match="No such file"):
        list(read_service_log(named("daemon"), lines=1))

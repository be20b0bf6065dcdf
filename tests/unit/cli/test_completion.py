from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader_daemon.cli.completion import answer, completions
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import Settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.needs import require_programs
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_insight import _alert, _seed

DATABASE = ".timmy/uniwizard/session_grades.db"
IDS = ("20261121_a", "20261122_b", "20261122_c")
_VERDICTS = ("done", "not-done", "unsure", "no-answer")
HOSTILE = "20261123_$(reboot)"


@pytest.fixture
def known_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with sessions, an alert and an issue."""
    for name in [name for name in os.environ if name.startswith("GRADER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    _seed(tmp_path, _alert())
    store = SqliteStore(tmp_path / DATABASE, host="here")
    made = [grade(session_id=each, session_file=f"/s/{each}.json") for each in (*IDS, HOSTILE)]
    made.append(grade(session_id="0", session_file="/s/0.json", model=None, platform=None))
    save_grades(store, [new_grade(each) for each in made])
    store.close()
    return tmp_path


def after(*words: str) -> list[str]:
    """What a Tab behind these words offers; the last one is begun."""
    return [item.value for item in completions(words[:-1], words[-1])]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param(("sh",), ["show"], id="command"),
        pytest.param(("report", "errors", "re"), ["reopen", "resolve"], id="command-of-a-group"),
        pytest.param(("list", "--task"), ["--task-type"], id="option"),
        pytest.param(("alerts", "--ex"), ["--exit-code"], id="option-of-what-a-group-does-alone"),
        pytest.param(("backup", ""), ["create", "restore"], id="commands-of-a-group"),
        pytest.param(("grade", "--a"), ["--as", "--again", "--archive"], id="option-that-makes-another-command"),
        pytest.param(("grade", "--again", "--r"), ["--rules"], id="option-of-another-command"),
        pytest.param(("list", "--state", "c"), ["complete"], id="choice"),
        pytest.param(("config", "completion", ""), ["bash", "zsh", "fish"], id="argument-of-few-words"),
        pytest.param(("show", "20261122"), ["20261122_c", "20261122_b"], id="sessions-the-last-first"),
        pytest.param(("--db-path", "none.db", "show", ""), [], id="another-database"),
        pytest.param(("show", "20261123"), [], id="never-what-a-shell-would-run"),
        pytest.param(("alerts", "show", ""), ["1"], id="alerts"),
        pytest.param(("config", "set", "quiet"), ["quiet_seconds"], id="settings"),
        pytest.param(("list", "--timezone", "Europe/Berl"), ["Europe/Berlin"], id="zones"),
        pytest.param(("list", "failed-"), ["failed-check"], id="word-of-a-line"),
        pytest.param(("list", "verd"), [f"verdict:{each}" for each in _VERDICTS], id="name-in-a-line"),
        pytest.param(("list", "failed", "verdict:n"), ["verdict:not-done", "verdict:no-answer"], id="value-in-a-line"),
        pytest.param(("list", "verdict", ":"), [*_VERDICTS], id="value-behind-a-colon-of-bash"),
        pytest.param(("list", "verdict", ":", "u"), ["unsure"], id="value-begun-in-bash"),
        pytest.param(("export", "model:m"), ["model:m"], id="value-from-the-database"),
        pytest.param(("export", "sc"), ["scores", "scheduled"], id="command-or-word-of-a-line"),
        pytest.param(("list", "model:"), ["model:m", "model:terminal"], id="not-what-stands-for-no-name"),
        pytest.param(("list", "sin"), ["since:"], id="name-that-takes-anything"),
        pytest.param(("list", "nothing:"), [], id="no-such-name"),
        pytest.param(("label", "x", "--note", ""), [], id="free-words"),
        pytest.param(("nonsense", "x"), [], id="no-such-command"),
        pytest.param(("grade", "--demo", ""), [], id="nothing-to-say"),
    ],
)
@pytest.mark.usefixtures("known_home")
def test_a_tab_offers_what_may_stand_there(words: tuple[str, ...], offered: list[str]) -> None:
    assert after(*words) == offered


def test_issues_and_weeks_come_from_the_database(known_home: Path) -> None:
    (issue,) = after("report", "errors", "show", "")
    assert after("report", "errors", "show", issue[:3]) == [issue]
    store = SqliteStore(known_home / DATABASE, host="here")
    store.connection.execute(
        "INSERT INTO weekly_reports (week_start, week_end, generated_at, report_json) VALUES (?, ?, ?, '{}')",
        ("2026-11-16", "2026-11-22", "2026-11-23T00:00:00+00:00"),
    )
    store.close()
    assert after("report", "--week", "2026") == ["2026-W47"]


def test_every_setting_is_offered() -> None:
    assert after("config", "set", "") == list(Settings.model_fields)


def test_without_a_database_nothing_is_offered_and_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert after("show", "") == []
    monkeypatch.setenv("GRADER_DB_PATH", "")
    assert after("show", "") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("instruction", ["", "complete", "csh_complete", "bash_dance", "bash"])
def test_what_no_shell_asks_is_answered_with_nothing(instruction: str) -> None:
    assert answer(instruction) == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(home: Path, run: Run, shell: str) -> None:
    ended = run(home, "config", "completion", shell)
    assert ended.returncode == 0
    assert f"_GRADER_DAEMON_COMPLETE={shell}_complete" in ended.stdout


@pytest.mark.usefixtures("known_home")
def test_bash_completes_an_id() -> None:
    require_programs("bash")
    program = Path(sys.executable).parent
    asked = (
        'eval "$(grader-daemon config completion bash)"; COMP_WORDS=(grader-daemon show 20261121); COMP_CWORD=2;'
        ' _grader_daemon_completion grader-daemon 20261121 show; echo "${COMPREPLY[@]}"'
    )
    ended = subprocess.run(
        ["bash", "--norc", "-c", asked],
        env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert (ended.stdout, ended.stderr) == ("20261121_a\n", "")


@pytest.mark.usefixtures("known_home")
def test_a_tab_imports_nothing_heavy() -> None:
    """Each of these takes as long as all else together."""
    asked = (
        "import sys; from grader_daemon.cli import main; main();"
        "never = {'pydantic', 'pydantic_settings', 'msgspec', 'rich', 'grader_daemon.storage.sqlite.store'};"
        "print(sorted(never & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", asked],
        env={
            **os.environ,
            "_GRADER_DAEMON_COMPLETE": "bash_complete",
            "COMP_WORDS": "grader-daemon show 20261121",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert ended.stdout == "plain,20261121_a\n[]\n"


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"COMP_WORDS": "grader-daemon sh", "COMP_CWORD": "abc"}, id="no-number"),
        pytest.param({}, id="none"),
    ],
)
def test_variables_that_no_shell_sets_are_answered_with_nothing(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name in ("COMP_WORDS", "COMP_CWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert answer("bash_complete") == ""

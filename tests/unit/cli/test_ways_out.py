"""Every way by which text of sessions leaves the daemon, with every kind of secret in it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from grader_daemon.redaction import MARK, SECRETS
from tests.e2e.daemon_process import DaemonProcess
from tests.e2e.session_files import Turns, noon_zone, now, write
from tests.examples import repeats
from tests.otlp_receiver import attributes, receiving
from tests.scripted_model import quality, scripted
from tests.strategies import json_answer, json_round, json_user
from tests.unit.cli.conftest import Run
from tests.unseen_secrets import CARRIERS, KINDS, Kind

pytestmark = pytest.mark.no_cover  # two daemons; tracing would cost more than the tests

DATABASE = Path(".timmy/uniwizard/session_grades.db")
SESSIONS = Path(".timmy/hermes/sessions")
_TOO_DEEP = {"docker-auth-in-json"}
"""JSON in JSON, so in five layers of it where a carrier and a request to a program add theirs; three are read."""
FOUND = tuple(kind for kind in KINDS if kind.name not in _TOO_DEEP and not kind.left_in(SECRETS.redact(kind.text)))
"""The kinds that the redaction knows: what it does not know is counted in its own tests."""

SMALL = FOUND[:: repeats(8, thorough=1)]
"""Those that begin and end a session of their own; all of them stand in the large ones."""

_EVERY_FIFTH = list(CARRIERS)[:: repeats(5, thorough=1)]
_LARGE = tuple(dict.fromkeys(["json-later-line", *_EVERY_FIFTH]))
"""What carries the kinds in a large session each."""

CHECKS = 6
PROGRAM = "import sys\nopen(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')\nprint(4)\n"
RULES = """
[[alerts.thresholds]]
name = "not all"
metric = "quality"
dimension = "model"
below = 5.0
clear = 5.0
days = 7
sessions = 1
"""


def leaks(text: str) -> set[str]:
    """Give the kinds of which something stands in `text`; what is short stands there by chance."""
    return {
        kind.name
        for kind in FOUND
        if any(part in text for part in kind.parts if len(part) >= 6 and not (part.isdigit() and len(part) < 9))
    }


def _large(carrier: str) -> Turns:
    """A session in which each kind stands in a command, and on the first and a later line of what it gave."""
    carry = CARRIERS[carrier]
    work: Turns = []
    for number, kind in enumerate(FOUND):
        text = carry(kind.text)
        said = json.dumps({"output": f"{text}\nok\nError: no way on with {text}", "exit_code": 1, "error": None})
        made = json_round(said, call_id=f"call_{number}", arguments=json.dumps({"command": text}))
        work += [{**made[0], "content": f"Next is {text}"}, made[1]]
    return [json_user("Set it all up"), *work, json_answer(f"I could not set up {carry(FOUND[0].text)}")]


def _small(kind: Kind) -> Turns:
    """A session that begins and ends with a kind, and calls a program and a tool of its name."""
    arguments = json.dumps({"command": kind.text})
    work = [*json_round("Error: no", arguments=arguments), *json_round("Error: no", call_id="b", tool=kind.text)]
    return [json_user(kind.text), *work, json_answer(f"I could not do it: {kind.text}")]


def _write_all(home: Path) -> None:
    begins = now() - timedelta(hours=3)
    for number, kind in enumerate(SMALL):
        ended = begins - timedelta(minutes=number)
        write(
            home / SESSIONS,
            f"small_{number}",
            _small(kind),
            age=(now() - ended).total_seconds(),
            last_updated=ended.isoformat(),
            session_id=f"{number}:{kind.text}" if len(kind.text) < 250 else f"{number}",
            model=kind.text,
            platform=kind.text,
        )
    for carrier in _LARGE:
        write(home / SESSIONS, carrier, _large(carrier), age=7200, last_updated=None)
    (home / "rules.toml").write_text(RULES)
    (home / "judge.py").write_text(PROGRAM)


def _daemon(home: Path, **settings: object) -> DaemonProcess:
    chosen = {
        "timezone": noon_zone(),
        "job_seconds": 1,
        "quality_checks_per_day": 200,
        "rules_file": str(home / "rules.toml"),
    }
    return DaemonProcess(home, settings={**chosen, **settings})


def _end(daemon: DaemonProcess) -> str:
    """Wait until it graded all, asked its scorer and told of alerts; give all that it wrote."""
    daemon.wait_for_count(len(SMALL) + len(_LARGE))
    daemon.wait_for_rows(f"SELECT * FROM quality_checks WHERE outcome = 'answered' LIMIT 1 OFFSET {CHECKS}")
    daemon.wait_for_rows("SELECT * FROM outbox WHERE delivered_at IS NOT NULL LIMIT 1 OFFSET 3")
    daemon.stop()
    return repr(daemon.events()) + repr(daemon.strange_lines())


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What went out by itself, by its way, and where the database is."""
    asking, telling = tmp_path_factory.mktemp("asking"), tmp_path_factory.mktemp("telling")
    _write_all(asking)
    shutil.copytree(asking, telling, dirs_exist_ok=True)
    program, command = telling / "scored.jsonl", telling / "told.jsonl"
    with scripted(quality(4.0)) as judge, scripted(quality(4.0)) as webhook:
        by_url = _daemon(
            asking, quality_judge_url=judge.url, quality_judge_model="m", alert_webhook_url=f"{webhook.url}/alerts"
        )
        by_program = _daemon(
            telling,
            quality_command=[sys.executable, str(telling / "judge.py"), str(program)],
            alert_command=[sys.executable, str(telling / "judge.py"), str(command)],
        )
        try:
            logs = _end(by_url), _end(by_program)
        finally:
            by_url.end()
            by_program.end()
        yield {
            "home": str(telling),
            "log": "".join(logs),
            "judge": repr([asked.body for asked in judge.asked]),
            "webhook": repr([asked.body for asked in webhook.asked]),
            "program": program.read_text(),
            "command": command.read_text(),
            "database": "".join(
                file.read_bytes().decode("latin-1")
                for file in telling.joinpath(DATABASE).parent.rglob("*")
                if file.is_file()
            ),
        }


@pytest.mark.parametrize("way", ["log", "judge", "webhook", "program", "command", "database"])
def test_no_secret_goes_out_by_itself(ways: dict[str, str], way: str) -> None:
    assert MARK in ways[way]
    assert leaks(ways[way]) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "-n", "1000"],
        ["list", "-n", "1000", "--json"],
        ["list", "-n", "1000", "-o", "csv"],
        ["export"],
        *(["show", carrier] for carrier in _LARGE),
        *(["show", carrier, "--transcript"] for carrier in _LARGE),
        ["show", "json-later-line", "--json"],
        ["show", "json-later-line", "--transcript", "--json"],
        *(["why", carrier] for carrier in _LARGE),
        ["why", "json-later-line", "--json"],
        ["-d", "10"],
        ["report", "patterns", "-d", "10"],
        ["report", "patterns", "-d", "10", "--json"],
        ["report", "errors", "list", "--all"],
        ["report", "errors", "list", "--all", "--json"],
        ["alerts", "list", "--json"],
        ["alerts", "show", "1"],
        ["export", "metrics"],
        ["status", "--json"],
        ["doctor", "--json"],
        ["grade", "--dry-run", "--json", "."],
        *(["report", "--format", form] for form in ("text", "md", "html", "json")),
    ],
    ids=" ".join,
)
def test_no_secret_is_shown(ways: dict[str, str], arguments: list[str], run: Run) -> None:
    ended = run(Path(ways["home"]), *arguments)

    assert ended.stdout
    assert leaks(ended.stdout + ended.stderr) == set()


def test_no_secret_is_shown_with_an_error(ways: dict[str, str], run: Run) -> None:
    listed = json.loads(run(Path(ways["home"]), "report", "errors", "list", "--all", "--json").stdout)["issues"]

    assert len(listed) >= 50
    for issue in listed[::10]:
        assert leaks(run(Path(ways["home"]), "report", "errors", "show", issue["fingerprint"]).stdout) == set()


def test_no_secret_is_in_scores_that_are_sent(ways: dict[str, str], run: Run) -> None:
    with receiving() as receiver:
        run(Path(ways["home"]), "config", "set", "otlp_logs_url", receiver.url)
        run(Path(ways["home"]), "export", "scores", "otlp")

    told = repr([attributes(record) for record in receiver.records])
    assert len(receiver.records) >= 2 * len(SMALL)
    assert leaks(told) == set()


def test_every_session_is_found_by_the_id_that_is_shown(ways: dict[str, str]) -> None:
    with SelfGrader(db_path=Path(ways["home"]) / DATABASE) as grader:
        shown = [stored.grade.session_id for stored in grader.grades.select()]
        found = [grader.grades.find(session_id).grade.session_id for session_id in shown]

    assert len(set(shown)) == len(SMALL) + len(_LARGE)
    assert found == shown

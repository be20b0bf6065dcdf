from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import score_servers
from tests.otlp_receiver import Receiver, receiving
from tests.reference.pages import SCHEMAS
from tests.reference.validation import misfits
from tests.score_servers import KEYS, ScoreServerDouble
from tests.unit.cli.conftest import Run


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses between tries, which nobody waits for here."""
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as listening:
        yield listening


@pytest.fixture
def full_home(made: Path, tmp_path: Path, receiver: Receiver, run: Run) -> Path:
    """A home with grades, whose settings name the receiver."""
    home = shutil.copytree(made, tmp_path / "home")
    assert run(home, "config", "set", "otlp_logs_url", receiver.url).returncode == 0
    return home


def test_all_scores_are_sent_once(full_home: Path, run: Run, receiver: Receiver) -> None:
    first, second = (run(full_home, "export", "scores", "otlp") for _ in range(2))
    assert (first.returncode, first.stdout, first.stderr) == (0, "Sent 13 sessions.\n", "")
    assert second.stdout == "Sent 0 sessions.\n"
    assert len(receiver.scores()) == 13 * 3
    assert receiver.scores()["demo_03", "task_completed"] == 1.0


def test_a_label_is_sent_when_it_is_given(full_home: Path, run: Run, receiver: Receiver) -> None:
    run(full_home, "export", "scores", "otlp", "--from-now")
    assert receiver.records == []
    run(full_home, "label", "demo_03", "--completed", "no")
    assert run(full_home, "export", "scores", "otlp").stdout == "Sent 1 session.\n"
    assert receiver.scores()["demo_03", "task_completed"] == 0.0


def test_its_document_is_as_its_schema_says(full_home: Path, run: Run) -> None:
    document = json.loads(run(full_home, "export", "scores", "otlp", "--json").stdout)
    schema = json.loads((SCHEMAS / "push.json").read_text("utf-8"))
    assert document["sessions"] == 13
    assert list(misfits(document, schema, root=schema)) == []


def test_a_receiver_that_is_down_is_told_and_nothing_is_lost(full_home: Path, run: Run, receiver: Receiver) -> None:
    receiver.answers = [(503, b"")] * 4
    down = run(full_home, "export", "scores", "otlp")
    assert (down.returncode, down.stderr) == (2, "grader-daemon: OTLP: the receiver answered 503\n")
    assert run(full_home, "export", "scores", "otlp").stdout == "Sent 13 sessions.\n"


def test_what_the_receiver_refuses_is_told(full_home: Path, run: Run, receiver: Receiver) -> None:
    receiver.answers = [(200, b'{"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "too old"}}')]
    ended = run(full_home, "export", "scores", "otlp")
    assert ended.stdout == "Sent 13 sessions.\n"
    assert ended.stderr == "grader-daemon: warning: OTLP: the receiver refused 3 records: too old\n"


def test_nothing_is_sent_unless_somebody_says_where_to(home: Path, run: Run) -> None:
    ended = run(home, "export", "scores", "otlp")
    assert ended.returncode == 2
    assert "setting otlp_logs_url is missing" in ended.stderr
    assert "grader-daemon config set otlp_logs_url http://127.0.0.1:4318/v1/logs" in ended.stderr


def test_before_anything_was_graded_there_is_nothing_to_send(home: Path, run: Run, receiver: Receiver) -> None:
    run(home, "config", "set", "otlp_logs_url", receiver.url)
    ended = run(home, "export", "scores", "otlp")
    assert (ended.returncode, receiver.requests) == (2, [])
    assert "nothing was graded yet" in ended.stderr


def test_one_cannot_follow_and_end_in_a_document(full_home: Path, run: Run) -> None:
    assert run(full_home, "export", "scores", "otlp", "--follow", "--json").returncode == 2


@pytest.fixture(params=["langfuse", "phoenix"])
def server(request: pytest.FixtureRequest) -> Iterator[ScoreServerDouble]:
    made = {"langfuse": score_servers.langfuse, "phoenix": score_servers.phoenix}[request.param]()
    with score_servers.serving(made) as listening:
        yield listening


@pytest.fixture
def pushing(full_home: Path, server: ScoreServerDouble) -> Path:
    """A home with grades, whose settings name both servers, with keys."""
    given = {
        "langfuse_public_key": KEYS[0],
        "langfuse_secret_key": KEYS[1],
        "langfuse_url": server.url,
        "phoenix_url": server.url,
    }
    lines = "".join(f'{name} = "{value}"\n' for name, value in given.items())
    config = full_home / ".config" / "grader-daemon" / "config.toml"
    config.write_text(config.read_text("utf-8") + lines, "utf-8")
    return full_home


def named(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["server"])


EVERY = {"demo_again"} | {f"demo_{number:02}" for number in range(12)}


def test_a_server_is_asked_for_the_sessions_and_gets_their_scores(
    pushing: Path, run: Run, server: ScoreServerDouble, request: pytest.FixtureRequest
) -> None:
    server.knows = EVERY
    first, second = (run(pushing, "export", "scores", named(request)) for _ in range(2))
    knows = f"{named(request).capitalize()} knows 10 of your 10 newest sessions by their ids.\n"
    assert (first.returncode, first.stdout, first.stderr) == (0, knows + "Sent 13 sessions.\n", "")
    assert second.stdout == knows + "Sent 0 sessions.\n"
    assert len(server.scores()) == len(server.kept) == 13 * 3
    assert server.scores()["demo_03", "task_completed"] == {"langfuse": "done", "phoenix": 1.0}[named(request)]


def test_nothing_is_sent_to_a_server_that_knows_none_of_the_sessions(
    pushing: Path, run: Run, server: ScoreServerDouble, request: pytest.FixtureRequest
) -> None:
    refused = run(pushing, "export", "scores", named(request))
    assert (refused.returncode, refused.stdout, server.kept) == (2, "", {})
    assert "knows 0 of your 10 newest sessions by their ids, so nothing was sent" in refused.stderr
    assert "--force" in refused.stderr
    assert all(asked.startswith("GET ") for asked in server.asked)
    sent = {"langfuse": "Sent 13 sessions.\n", "phoenix": "Sent 0 sessions, skipped 13.\n"}
    assert run(pushing, "export", "scores", named(request), "--force").stdout == sent[named(request)]


def test_nothing_is_sent_to_what_is_no_such_server_though_it_is_forced(
    pushing: Path, run: Run, server: ScoreServerDouble, request: pytest.FixtureRequest
) -> None:
    answers, server.answer = server.answer, lambda *_: (404, None)
    wrong = run(pushing, "export", "scores", named(request), "--force")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    server.answer = answers
    server.knows = EVERY
    assert run(pushing, "export", "scores", named(request), "--force").stdout == "Sent 13 sessions.\n"


def test_its_place_is_kept_when_the_server_goes_down(
    pushing: Path, run: Run, server: ScoreServerDouble, request: pytest.FixtureRequest
) -> None:
    server.knows = EVERY
    server.statuses = [200] * 10 + [503] * 4
    down = run(pushing, "export", "scores", named(request))
    assert (down.returncode, server.kept) == (2, {})
    document = json.loads(run(pushing, "export", "scores", named(request), "--json").stdout)
    schema = json.loads((SCHEMAS / "push.json").read_text("utf-8"))
    assert list(misfits(document, schema, root=schema)) == []
    assert (document["sessions"], document["asked"], document["known"]) == (13, 10, 10)


def test_sessions_that_phoenix_does_not_know_are_told(
    pushing: Path, run: Run, server: ScoreServerDouble, request: pytest.FixtureRequest
) -> None:
    server.knows = EVERY - {"demo_03"}
    ended = run(pushing, "export", "scores", named(request))
    told = "grader-daemon: warning: Phoenix does not know 1 of 13 sessions; their scores were skipped\n"
    assert ended.stderr == (told if named(request) == "phoenix" else "")
    sent = {"langfuse": "Sent 13 sessions.\n", "phoenix": "Sent 12 sessions, skipped 1.\n"}
    assert ended.stdout.endswith(sent[named(request)])


@pytest.mark.parametrize("server", ["langfuse"], indirect=True)
def test_a_score_that_langfuse_refuses_is_told_once_and_all_others_arrive(
    pushing: Path, run: Run, server: ScoreServerDouble
) -> None:
    server.knows, server.refuses = EVERY, {("demo_03", "response_quality")}
    first = run(pushing, "export", "scores", "langfuse", "--json")
    reason = "Langfuse refuses response_quality of session demo_03: Invalid request data; Too long"
    assert (first.returncode, first.stderr) == (0, f"grader-daemon: warning: {reason}\n")
    document = json.loads(first.stdout)
    assert (document["sessions"], document["passed_over"], len(server.kept)) == (12, 1, 13 * 3 - 1)
    second = run(pushing, "export", "scores", "langfuse")
    assert (second.stdout.splitlines()[-1], second.stderr) == ("Sent 0 sessions.", "")


@pytest.mark.parametrize("name", ["langfuse", "phoenix"])
def test_no_server_is_asked_unless_somebody_says_where_it_is(home: Path, run: Run, name: str) -> None:
    ended = run(home, "export", "scores", name)
    assert ended.returncode == 2
    assert f"setting {name}_url is missing" in ended.stderr

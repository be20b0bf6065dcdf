from __future__ import annotations

import ast
import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import grader_daemon
from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.routing import litellm
from grader_daemon.routing.choice import Router
from grader_daemon.routing.job import write_route
from grader_daemon.routing.litellm import GraderRouting, type_of
from grader_daemon.rules import load_rules
from tests.routed import several
from tests.routed_file import whole_route, write_route_file
from tests.strategies import NOW

TYPES = TaskTypes(load_rules().task_types)
WORDS = json.loads(json.dumps({name: getattr(TYPES.words, name) for name in TYPES.words.__struct_fields__}))
ROOT = Path(grader_daemon.__file__).parents[1]
ASKED = ["openai/cheap", "openai/strong"]


class Context:
    """What LiteLLM hands a plugin."""

    def __init__(self, models: list[str], request: object = "Fix the failing build", **metadata: object) -> None:
        self.candidate_models = list(models)
        self.raw_messages = self.structured_messages = [
            {"role": "system", "content": "You deploy."},
            {"role": "user", "content": request},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Look up the release, and deploy it."},
        ]
        self.metadata = dict(metadata)
        self.signals: dict[str, Any] = {}


def routed(path: Path, context: Context) -> list[str]:
    assert asyncio.run(GraderRouting(path).run(context)) == context
    return context.candidate_models


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_route_file(tmp_path / "route.json")


def test_a_known_type_goes_to_the_better_model(file: Path) -> None:
    context = Context(ASKED)

    assert routed(file, context) == ["openai/strong"]
    assert context.signals["grader"] == {
        "task_type": "debugging",
        "model": "strong",
        "score": pytest.approx(0.9, abs=0.02),
    }


@pytest.mark.parametrize(
    "context",
    [
        pytest.param(Context(["openai/strong"]), id="one-model"),
        pytest.param(Context(["openai/strong", "azure/strong"]), id="one-model-at-two-places"),
        pytest.param(Context(["openai/other", "openai/another"]), id="models-without-sessions"),
        pytest.param(Context([]), id="no-model"),
    ],
)
def test_what_is_not_known_keeps_its_way(file: Path, context: Context) -> None:
    before = list(context.candidate_models)

    assert routed(file, context) == before


def test_where_none_is_better_a_request_goes_to_the_default(tmp_path: Path) -> None:
    file = write_route_file(tmp_path / "route.json")
    context = Context([*ASKED, "openai/other"], task_type="research")

    assert routed(file, context) == ["openai/cheap"]
    assert context.signals["grader"] == {
        "task_type": "research",
        "model": "cheap",
        "score": pytest.approx(0.8, abs=0.02),
    }


def test_where_the_default_is_not_offered_a_request_goes_to_the_best_that_is(tmp_path: Path) -> None:
    file = write_route_file(tmp_path / "route.json")
    context = Context(["openai/strong", "openai/other"], task_type="research")

    assert routed(file, context) == ["openai/strong"]


def test_a_default_that_was_not_used_for_a_month_still_stays_where_none_is_better(file: Path) -> None:
    changed(file, "research", "cheap", reason="stale", known_by=None)

    assert routed(file, Context(ASKED, task_type="research")) == ["openai/cheap"]


@pytest.mark.parametrize("offered", ["openai/new", "openai/new-2026-10-01"])
def test_a_default_without_sessions_is_not_passed_over_for_what_is_known_of_others(
    tmp_path: Path, offered: str
) -> None:
    file = tmp_path / "route.json"
    router = Router([*several(40, 20, model="cheap"), *several(40, 36, model="strong")], [], now=NOW)
    write_route(file, whole_route(router, now=NOW, default="new"))

    assert routed(file, Context([*ASKED, offered])) == [*ASKED, offered]
    assert routed(file, Context([*ASKED, "openai/other"])) == ["openai/strong"]


def test_the_only_model_with_sessions_is_no_better_than_one_that_is_offered_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "route.json"
    write_route(file, whole_route(Router(several(40, 4, model="strong"), [], now=NOW), now=NOW))

    assert routed(file, Context(ASKED)) == ASKED


def test_where_the_better_model_is_not_offered_a_request_goes_to_the_default(tmp_path: Path) -> None:
    file = write_route_file(tmp_path / "route.json")
    written = json.loads(file.read_text())
    scores = written["task_types"]["debugging"]["models"]
    scores.insert(1, {**scores[1], "model": "equal", "known_by": "type", "known": False, "reason": "not_better"})
    file.write_text(json.dumps(written))

    assert routed(file, Context(["openai/equal", "openai/cheap"])) == ["openai/cheap"]


def test_without_a_default_a_request_goes_to_the_best_that_is_offered(tmp_path: Path) -> None:
    file = write_route_file(tmp_path / "route.json", default=None)

    assert routed(file, Context(ASKED)) == ["openai/strong"]
    assert routed(file, Context(["openai/cheap", "openai/other"])) == ["openai/cheap"]


def changed(file: Path, task_type: str, model: str, **changes: object) -> None:
    """Write other things of a model at a type of task."""
    written = json.loads(file.read_text())
    [score] = [score for score in written["task_types"][task_type]["models"] if score["model"] == model]
    score |= changes
    file.write_text(json.dumps(written))


def test_where_too_little_is_known_a_request_keeps_its_way(file: Path) -> None:
    changed(file, "debugging", "strong", known=False, reason="too_few", known_by=None)
    written = json.loads(file.read_text())
    written["task_types"]["debugging"]["reason"] = "too_few"
    file.write_text(json.dumps(written))

    assert routed(file, Context(ASKED)) == ASKED


def test_a_model_that_is_not_known_is_passed_over(file: Path) -> None:
    changed(file, "debugging", "strong", known=False, reason="stale", known_by=None)

    assert routed(file, Context(ASKED)) == ["openai/cheap"]


def test_a_model_that_is_too_dear_is_left_out_where_another_is_offered(file: Path) -> None:
    changed(file, "debugging", "strong", known=False, reason="too_dear", known_by=None)
    changed(file, "debugging", "cheap", known=False, reason="too_dear", known_by=None)

    assert routed(file, Context([*ASKED, "openai/other"])) == ["openai/other"]
    assert routed(file, Context(ASKED)) == ASKED


def test_while_the_best_was_hardly_tried_requests_go_to_it_or_to_the_best_that_is_known(tmp_path: Path) -> None:
    file = write_route_file(tmp_path / "route.json", default=None)
    changed(file, "debugging", "strong", known=False, reason="too_few", known_by=None)
    context = Context([*ASKED, "openai/other"])

    assert routed(file, context) == ASKED
    assert context.signals["grader"] == {
        "task_type": "debugging",
        "model": "cheap",
        "or": "strong",
        "score": pytest.approx(0.3, abs=0.02),
    }
    changed(file, "debugging", "cheap", known=False, reason="too_few", known_by=None)
    assert routed(file, Context([*ASKED, "openai/other"])) == [*ASKED, "openai/other"]


def explored(file: Path, models: list[str], share: float) -> Counter[tuple[str, object]]:
    """Return how often each model was left, and what the signal says of it, of a thousand requests."""
    written = json.loads(file.read_text())
    file.write_text(json.dumps({**written, "explore": share}))
    plugin = GraderRouting(file)
    random.seed(1)
    found: Counter[tuple[str, object]] = Counter()
    for _ in range(1000):
        context = Context(models)
        asyncio.run(plugin.run(context))
        [left] = context.candidate_models
        found[left, context.signals["grader"].get("explored")] += 1
    return found


WIDE = {"low": 0.2, "high": 0.9995}
"""Interval of a model of which little is known; in its middle it is better than the strong one."""


def test_some_requests_explore_a_model_that_may_be_better(file: Path) -> None:
    changed(file, "debugging", "cheap", may_explore=True, **WIDE)

    found = explored(file, ASKED, 0.1)

    assert found.keys() == {("openai/strong", None), ("openai/cheap", True)}
    assert 60 < found["openai/cheap", True] < 140, "most of a tenth of 1,000: ten draws nearly always find one"


def test_a_model_without_sessions_is_explored_where_it_may_be(file: Path) -> None:
    written = json.loads(file.read_text())
    written["task_types"]["debugging"]["unseen"] |= WIDE
    file.write_text(json.dumps(written))

    assert explored(file, [*ASKED, "openai/new"], 0.1)["openai/new", True] > 10
    written["task_types"]["debugging"]["unseen"] = None
    file.write_text(json.dumps(written))
    assert explored(file, [*ASKED, "openai/new"], 0.1) == {("openai/strong", None): 1000}


@pytest.mark.parametrize(("may_explore", "share"), [(False, 0.1), (True, 0.0)])
def test_no_request_explores_what_it_must_not(file: Path, may_explore: bool, share: float) -> None:
    changed(file, "debugging", "cheap", may_explore=may_explore, **WIDE)

    assert explored(file, ASKED, share) == {("openai/strong", None): 1000}


def test_a_type_without_sessions_keeps_its_way(file: Path) -> None:
    assert routed(file, Context(ASKED, task_type="nonsense-type")) == ASKED


def test_the_type_of_the_metadata_stands_above_the_words(file: Path) -> None:
    assert routed(file, Context(ASKED, task_type="research")) == ["openai/cheap"]
    assert routed(file, Context(ASKED, "Investigate the history of tea", task_type="debugging")) == ["openai/strong"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([{"type": "text", "text": "Fix"}, {"type": "image_url"}, {"text": "the build"}], id="parts"),
        pytest.param("FIXED, and fixing", id="inflections"),
    ],
)
def test_the_first_request_decides_however_it_is_written(file: Path, content: object) -> None:
    assert routed(file, Context(ASKED, content)) == ["openai/strong"]


@pytest.mark.parametrize("content", [pytest.param(None, id="none"), pytest.param([7, {"text": 7}], id="no-text")])
def test_a_request_without_words_is_general(file: Path, content: object) -> None:
    context = Context(ASKED, content)
    routed(file, context)

    assert "error" not in context.signals.get("grader", {})


@pytest.mark.parametrize(
    ("in_sessions", "in_router"),
    [
        pytest.param("claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5", id="dated-in-sessions"),
        pytest.param("gpt-5", "openai/gpt-5-2025-08-07", id="dated-in-the-router"),
        pytest.param("claude-haiku-4-5", "vertex_ai/claude-haiku-4-5@20251001", id="dated-with-an-at"),
        pytest.param("openai/gpt-5", "openrouter/openai/gpt-5", id="several-providers"),
        pytest.param("Qwen3-Next", "hosted_vllm/qwen3-next", id="other-case"),
        pytest.param("some-name", "openai/fast", id="an-alias"),
    ],
)
def test_models_are_known_by_their_names_in_sessions(tmp_path: Path, in_sessions: str, in_router: str) -> None:
    file = write_route_file(tmp_path / "route.json", strong=in_sessions, fast="some-name")

    assert routed(file, Context(["openai/cheap", in_router])) == [in_router]


def test_a_name_without_a_date_is_the_version_that_was_used_last(tmp_path: Path) -> None:
    file = tmp_path / "route.json"
    old = several(40, 36, model="gpt-5-2025-08-07", ended_at=NOW - timedelta(days=9))
    new = several(40, 20, model="gpt-5-2025-01-01")
    router = Router([*old, *new, *several(40, 10, model="cheap")], [], now=NOW)
    write_route(file, whole_route(router, now=NOW))
    context = Context(["openai/gpt-5", "openai/cheap"])

    assert routed(file, context) == ["openai/gpt-5"]
    assert context.signals["grader"]["model"] == "gpt-5-2025-01-01"


def test_a_model_that_failed_a_request_is_not_preferred_for_it_again(file: Path) -> None:
    left = {"_routing_plugin_candidate_models": ["openai/strong"]}

    assert routed(file, Context(ASKED, attempted_retries=1, attempted_fallbacks=0, **left)) == ["openai/cheap"]
    assert routed(file, Context(ASKED, attempted_retries=1)) == ASKED


@pytest.mark.parametrize(
    "context",
    [
        pytest.param(Context(["azure/other"], attempted_fallbacks=1), id="a-fallback"),
        pytest.param(Context(["openai/strong"], attempted_retries=1), id="a-retry-of-all-there-is"),
        pytest.param(
            Context(["openai/cheap", "openai/other"], task_type="nonsense-type"),
            id="another-request-with-the-same-metadata",
        ),
    ],
)
def test_what_was_left_for_an_earlier_attempt_binds_no_later_one(file: Path, context: Context) -> None:
    kept = context.metadata["_routing_plugin_candidate_models"] = ["openai/strong"]
    every = list(context.candidate_models)

    assert routed(file, context) == every
    assert kept == every, "LiteLLM copies the metadata of a request, not what stands in it"


def test_all_places_of_the_better_model_stay(file: Path) -> None:
    models = ["openai/strong", "openai/cheap", "azure/strong"]

    assert routed(file, Context(models)) == ["openai/strong", "azure/strong"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param('{"schema_version": 1', id="cut-short"),
        pytest.param("[" * 100_000, id="too-deep"),
        pytest.param("[]", id="a-list"),
        pytest.param('{"schema_version": 2}', id="of-another-schema"),
        pytest.param('{"schema_version": 1}', id="without-types"),
        pytest.param('{"schema_version": 1, "words": 3, "task_types": [], "others": {}}', id="of-other-types"),
        pytest.param("\x00\udcff", id="no-text"),
    ],
)
def test_a_broken_file_changes_nothing(tmp_path: Path, content: str) -> None:
    file = tmp_path / "route.json"
    file.write_text(content, "utf-8", errors="surrogateescape")

    assert routed(file, Context(ASKED)) == ASKED


def test_a_file_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    assert routed(tmp_path / "none.json", Context(ASKED)) == ASKED
    assert routed(tmp_path, Context(ASKED)) == ASKED


def test_a_file_that_cannot_be_opened_once_is_read_the_next_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    router = GraderRouting(file)
    with monkeypatch.context() as patched:
        patched.setattr("builtins.open", lambda *_, **__: os.open(file / "below", os.O_RDONLY))
        assert asyncio.run(router.run(Context(ASKED))).candidate_models == ASKED

    assert asyncio.run(router.run(Context(ASKED))).candidate_models == ["openai/strong"]


def test_a_file_that_nobody_writes_any_more_changes_nothing(file: Path) -> None:
    old = file.stat().st_mtime - 3 * 86400 - 1
    os.utime(file, (old, old))

    assert routed(file, Context(ASKED)) == ASKED


def test_a_new_file_is_taken_up_and_a_broken_one_forgets_it(file: Path) -> None:
    plugin = GraderRouting(file)
    found = []
    for write in (lambda: None, lambda: file.write_text("{"), lambda: write_route_file(file)):
        write()
        context = Context(ASKED)
        asyncio.run(plugin.run(context))
        found.append(context.candidate_models)

    assert found == [["openai/strong"], ASKED, ["openai/strong"]]


def test_the_file_is_that_of_the_daemons_variable_or_of_its_usual_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".timmy/uniwizard").mkdir(parents=True)
    write_route_file(tmp_path / ".timmy/uniwizard/route.json")
    usual = Context(ASKED)
    asyncio.run(GraderRouting().run(usual))
    monkeypatch.setenv("GRADER_ROUTE_FILE", str(tmp_path / "none.json"))
    named = Context(ASKED)
    asyncio.run(GraderRouting().run(named))

    assert (usual.candidate_models, named.candidate_models) == (["openai/strong"], ASKED)


_TALK = (
    "fix fixing fixed the a add feature features new clean up cleaned code review unit test tests pytest look up"
    " analyze data my process file files files, build. DOCKER servers Réparer ß İ _ x"
)


@given(st.lists(st.sampled_from(_TALK.split(" ")), max_size=40).map(" ".join) | st.text(max_size=60))
@example("look " + "the " * 11 + "up")
@example("look " + "the " * 12 + "up")
@example("add a feature, fix it")
def test_a_request_has_the_type_that_the_grader_gives_it(request: str) -> None:
    assert type_of(request, WORDS) == TYPES.of(request)


def test_nothing_is_needed_but_the_standard_library() -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); import grader_daemon.routing.litellm; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, ROOT], capture_output=True, text=True, check=True
    )

    ours = {name for name in loaded.stdout.split() if name.startswith("grader_daemon")}
    assert ours == {
        "grader_daemon",
        "grader_daemon._version",
        "grader_daemon.routing",
        "grader_daemon.routing.litellm",
    }
    tree = ast.parse(Path(str(litellm.__file__)).read_text("utf-8"))
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert sorted(imported) == ["json", "math", "os", "random", "time"]


def test_whatever_goes_wrong_the_request_goes_on(file: Path) -> None:
    context: Any = Context(ASKED)
    context.structured_messages = None

    assert routed(file, context) == ASKED
    assert context.signals == {"grader": {"error": "TypeError"}}

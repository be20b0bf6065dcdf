"""A real LiteLLM, router and proxy, that is told which model to prefer."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.litellm_proxy import ROOT, Proxy, environment, names_itself, proxy
from tests.needs import require_litellm
from tests.routed_file import write_route_file
from tests.scripted_model import Handler, ScriptedModel, scripted

DEBUGGING, RESEARCH, DOCUMENTATION = "Fix the failing build", "Investigate the history of tea", "Write a README"
BOTH = {"cheap", "strong-2026-01-31"}
ASKED = 8
"""So often a known type is asked for; twice as often where both models must be met, which chance denies rarely."""


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with scripted(names_itself) as model:
        yield model


def is_down_if_strong(handler: Handler) -> None:
    """Answer as `names_itself`, but for the better model."""
    if handler.model.asked[-1].body["model"].startswith("strong"):
        handler.send(500, b'{"error": {"message": "down"}}', **{"Content-Type": "application/json"})
    else:
        names_itself(handler)


def asked_of_router(
    server: ScriptedModel, file: Path, requests: list[dict[str, object]], **options: object
) -> list[str]:
    """Return which model answered each request."""
    ended = subprocess.run(
        [require_litellm() / "python", ROOT / "tests/e2e/litellm_router.py", server.url, file, json.dumps(options)],
        input="\n".join(map(json.dumps, requests)),
        env=environment(file.parent),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout.split()


def request(text: str, **more: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}], **more}


def test_the_router_sends_known_types_to_the_better_model(server: ScriptedModel, tmp_path: Path) -> None:
    file = write_route_file(tmp_path / "route.json")

    answers = asked_of_router(
        server,
        file,
        [
            *[request(DEBUGGING)] * ASKED,
            *[request("Hello", metadata={"task_type": "debugging"})] * ASKED,
            *[request(RESEARCH)] * ASKED,
            *[request(DOCUMENTATION)] * ASKED,
        ],
    )

    assert set(answers[: 2 * ASKED]) == {"strong-2026-01-31"}
    assert set(answers[2 * ASKED : 3 * ASKED]) == {"cheap"}
    assert set(answers[3 * ASKED :]) == {"cheap"}  # the default, where none is better


@pytest.mark.releases
@pytest.mark.parametrize("content", [None, "{", "stale"], ids=["missing", "broken", "stale"])
def test_the_router_goes_on_without_a_file_that_can_be_used(
    server: ScriptedModel, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "route.json"
    if content == "stale":
        write_route_file(file)
        os.utime(file, (time.time() - 4 * 86400,) * 2)  # noqa: TID251  of a program that is not ours
    elif content is not None:
        file.write_text(content)

    answers = asked_of_router(server, file, [request(DEBUGGING)] * (2 * ASKED), num_retries=0)

    assert set(answers) == BOTH


@pytest.mark.releases
@pytest.mark.parametrize(
    ("options", "answer"),
    [
        pytest.param({"num_retries": 2, "retry_after": 0}, "cheap", id="retries"),
        pytest.param({"num_retries": 0, "fallbacks": [{"agent": ["spare"]}]}, "spare", id="fallbacks"),
    ],
)
def test_while_the_better_model_is_down_another_one_answers(
    tmp_path: Path, options: dict[str, object], answer: str
) -> None:
    file = write_route_file(tmp_path / "route.json")

    with scripted(is_down_if_strong) as server:
        answers = asked_of_router(server, file, [request(DEBUGGING)] * ASKED, **options)

    assert answers == [answer] * ASKED


def asked_of_proxy(asked: Proxy, text: str, *, times: int) -> Counter[str]:
    return Counter(asked.ask(text) for _ in range(times))


@pytest.mark.releases
def test_the_proxy_sends_known_types_to_the_better_model_and_notices_a_new_file(
    server: ScriptedModel, tmp_path: Path
) -> None:
    file = write_route_file(tmp_path / "route.json")

    with proxy(server, tmp_path, file, models=("cheap", "strong-2026-01-31")) as asked:
        assert asked_of_proxy(asked, DEBUGGING, times=ASKED) == {"strong-2026-01-31": ASKED}
        assert asked_of_proxy(asked, RESEARCH, times=ASKED) == {"cheap": ASKED}
        assert asked_of_proxy(asked, DOCUMENTATION, times=ASKED) == {"cheap": ASKED}
        file.write_text("{")
        assert set(asked_of_proxy(asked, DEBUGGING, times=2 * ASKED)) == BOTH
        write_route_file(file, cheap="strong", strong="cheap")
        assert asked_of_proxy(asked, DEBUGGING, times=ASKED) == {"cheap": ASKED}

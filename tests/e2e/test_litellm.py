"""A real LiteLLM, router and proxy, that is told which model to prefer."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.needs import require_litellm
from tests.routed_file import write_route_file
from tests.scripted_model import Handler, ScriptedModel, scripted
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
DEBUGGING, RESEARCH, DOCUMENTATION = "Fix the failing build", "Investigate the history of tea", "Write a README"
BOTH = {"cheap", "strong-2026-01-31"}
ASKED = 8
"""So often a known type is asked for; twice as often where both models must be met, which chance denies rarely."""
KEY = f"sk-{secrets.token_hex(32)}"
PROXY = """\
model_list:
{models}
router_settings:
  plugins: [grader_daemon.routing.litellm.routing]
litellm_settings:
  num_retries: 0
"""
MODEL = """\
  - model_name: agent
    litellm_params: {{model: {model}, api_base: "{url}", api_key: none}}
"""


def names_itself(handler: Handler) -> None:
    """Answer with the name of the model that was asked for."""
    message = {"role": "assistant", "content": handler.model.asked[-1].body["model"]}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": message["content"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    handler.send(200, json.dumps(body).encode(), **{"Content-Type": "application/json"})


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        **more,
    }


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


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="missing", marks=pytest.mark.releases),
        pytest.param("{", id="broken", marks=pytest.mark.releases),
        pytest.param("stale", id="stale"),
    ],
)
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


@contextmanager
def proxy(server: ScriptedModel, folder: Path, file: Path) -> Iterator[str]:
    """Run a proxy with the plugin; gives its address."""
    names = ("openai/cheap", "openai/strong-2026-01-31")
    models = "".join(MODEL.format(model=name, url=server.url) for name in names)
    (folder / "config.yaml").write_text(PROXY.format(models=models.rstrip("\n")))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            [require_litellm() / "litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=environment(folder, GRADER_ROUTE_FILE=str(file), LITELLM_MASTER_KEY=KEY),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is not None or _is_up(url), "the proxy to answer", within=120)
        assert process.poll() is None, (folder / "proxy.log").read_text()[-2000:]
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health/liveliness", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def asked_of_proxy(url: str, text: str, *, times: int) -> Counter[str]:
    body = json.dumps({"model": "agent", **request(text)}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    found: Counter[str] = Counter()
    for _ in range(times):
        asked = urllib.request.Request(f"{url}/v1/chat/completions", body, headers)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            found[json.load(answer)["choices"][0]["message"]["content"]] += 1
    return found


@pytest.mark.releases
def test_the_proxy_sends_known_types_to_the_better_model_and_notices_a_new_file(
    server: ScriptedModel, tmp_path: Path
) -> None:
    file = write_route_file(tmp_path / "route.json")

    with proxy(server, tmp_path, file) as url:
        assert asked_of_proxy(url, DEBUGGING, times=ASKED) == {"strong-2026-01-31": ASKED}
        assert asked_of_proxy(url, RESEARCH, times=ASKED) == {"cheap": ASKED}
        assert asked_of_proxy(url, DOCUMENTATION, times=ASKED) == {"cheap": ASKED}
        file.write_text("{")
        assert set(asked_of_proxy(url, DEBUGGING, times=2 * ASKED)) == BOTH
        write_route_file(file, cheap="strong", strong="cheap")
        assert asked_of_proxy(url, DEBUGGING, times=ASKED) == {"cheap": ASKED}

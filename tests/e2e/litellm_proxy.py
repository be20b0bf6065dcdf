"""A real proxy of LiteLLM with the plugin, in front of models that a scripted server stands for."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.needs import require_litellm
from tests.scripted_model import Handler, ScriptedModel
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
_KEY = f"sk-{secrets.token_hex(32)}"
_CONFIG = """\
model_list:
{models}
router_settings:
  plugins: [grader_daemon.routing.litellm.routing]
litellm_settings:
  num_retries: 0
"""
_MODEL = """\
  - model_name: agent
    litellm_params: {{model: openai/{model}, api_base: "{url}", api_key: none}}
"""


class Proxy(NamedTuple):
    """A proxy that runs: where, and as which process."""

    url: str
    pid: int

    def ask(self, text: str) -> str:
        """Ask whichever model the plugin chooses; returns its name."""
        body = json.dumps({"model": "agent", "messages": [{"role": "user", "content": text}]}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {_KEY}"}
        asked = urllib.request.Request(f"{self.url}/v1/chat/completions", body, headers)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return str(json.load(answer)["choices"][0]["message"]["content"])


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


@contextmanager
def proxy(server: ScriptedModel, folder: Path, file: Path, *, models: Sequence[str]) -> Iterator[Proxy]:
    """Run a proxy of some models that goes by a file for routers."""
    listed = "".join(_MODEL.format(model=name, url=server.url) for name in models)
    (folder / "config.yaml").write_text(_CONFIG.format(models=listed.rstrip("\n")))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            [require_litellm() / "litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=environment(folder, GRADER_ROUTE_FILE=str(file), LITELLM_MASTER_KEY=_KEY),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is not None or _is_up(url), "the proxy to answer", within=120)
        assert process.poll() is None, (folder / "proxy.log").read_text()[-2000:]
        yield Proxy(url, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health/liveliness", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False

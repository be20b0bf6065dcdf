"""Asks a real LiteLLM router, for `test_litellm`: a line of its input is a request, one of its output the answer.

It runs in LiteLLM's own environment, with nothing of ours but the plugin.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module

from grader_daemon.routing.litellm import GraderRouting


async def main(url: str, file: str, options: str) -> None:
    """Ask once for each line, of two models that may answer; a third is there to fall back to."""
    models = (("agent", "openai/cheap"), ("agent", "openai/strong-2026-01-31"), ("spare", "openai/spare"))
    router = import_module("litellm").Router(
        model_list=[
            {"model_name": name, "litellm_params": {"model": model, "api_base": url, "api_key": "none"}}
            for name, model in models
        ],
        plugins=[GraderRouting(file)],
        **json.loads(options),
    )
    for line in sys.stdin:
        answer = await router.acompletion(model="agent", **json.loads(line))
        sys.stdout.write(f"{answer.choices[0].message.content}\n")


asyncio.run(main(*sys.argv[1:]))

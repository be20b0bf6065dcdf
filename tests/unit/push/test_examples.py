"""The examples of docs/metrics.md, as Prometheus reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.documents import page
from tests.needs import require_prometheus


@pytest.mark.parametrize(("number", "kind"), [(0, "rules"), (1, "config")])
def test_promtool_takes_the_examples(tmp_path: Path, number: int, kind: str) -> None:
    promtool, file = require_prometheus("promtool"), tmp_path / "example.yml"
    token = tmp_path / "token"
    token.write_text("a token\n")
    example = page("docs/metrics.md").blocks("yaml")[number]
    file.write_text(example.replace("/home/timmy/.timmy/uniwizard/session_grades.db.token", str(token)))
    said = subprocess.run([promtool, "check", kind, str(file)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr

"""A server that speaks S3, which the program moto plays on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.needs import require_moto
from tests.waiting import wait_until


@contextmanager
def object_storage(folder: Path) -> Iterator[dict[str, str]]:
    """Run the server, and give the environment in which clients find it."""
    log = folder / "moto.log"
    with log.open("wb") as output:
        command = [str(require_moto()), "-H", "127.0.0.1", "-p", "0"]
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: "Running on http" in log.read_text() or process.poll() is not None, "moto", within=180)
        yield {
            "AWS_ENDPOINT_URL": next(word for word in log.read_text().split() if word.startswith("http://127.0.0.1")),
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        process.terminate()
        process.wait(20)

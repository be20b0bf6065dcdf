"""A site in this process, and a client that is signed in as a browser of ours is; no server runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from grader_daemon.dashboard.access import Access, door_of
from grader_daemon.dashboard.app import make_app
from grader_daemon.dashboard.site import Site
from grader_daemon.settings import load_settings
from tests.conftest import Clock

HOST = "127.0.0.1:7654"
ACCESS = Access("the-token", frozenset({HOST}), 7654)

MakeClient = Callable[..., TestClient]


@pytest.fixture
def client_of(tmp_path: Path, clock: Clock) -> Iterator[MakeClient]:
    """Make a client of the page of a database."""
    with ExitStack() as open_clients:

        def make(db_path: Path, **given: Any) -> TestClient:
            settings = load_settings(db_path=db_path, watch_roots=(tmp_path / "sessions",), timezone="UTC", **given)
            made = TestClient(
                make_app(Site(settings, door_of(settings, ACCESS), clock=clock)),
                base_url=f"http://{HOST}",
                cookies={ACCESS.cookie: ACCESS.cookie_value},
                headers={"origin": f"http://{HOST}"},
                follow_redirects=False,
            )
            return open_clients.enter_context(made)

        yield make


@pytest.fixture
def client(client_of: MakeClient, tmp_path: Path) -> TestClient:
    """Make a client of a home in which nothing was graded yet."""
    return client_of(tmp_path / "grades.db")

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from grader_daemon.errors import ConfigurationError
from grader_daemon.fleet.server_connection import connect


@pytest.mark.parametrize(
    ("url", "environment", "mode"),
    [
        pytest.param("postgresql://a@db.example.org/g", None, "verify-full", id="another-host"),
        pytest.param("postgresql://a@127.0.0.1/g", None, None, id="this-machine"),
        pytest.param("postgresql://a@/g?host=/run/postgresql", None, None, id="a-socket"),
        pytest.param("postgresql://a@127.0.0.1,db.example.org/g", None, "verify-full", id="one-of-two-is-another"),
        pytest.param("postgresql://a@db.example.org/g?sslmode=require", None, "require", id="the-url-says-another"),
        pytest.param("postgresql://a@db.example.org/g", "require", None, id="the-environment-says-another"),
        pytest.param("postgresql:///?service=fleet", None, None, id="a-service-file-says-all"),
    ],
)
def test_certificates_of_other_hosts_are_verified(
    monkeypatch: pytest.MonkeyPatch, url: str, environment: str | None, mode: str | None
) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(psycopg, "connect", lambda info, **_: asked.append(conninfo_to_dict(info)))
    for name in ("PGSSLMODE", "PGHOST"):
        monkeypatch.delenv(name, raising=False)
    if environment is not None:
        monkeypatch.setenv("PGSSLMODE", environment)
    connect(url, program="test")
    assert asked[0].get("sslmode") == mode


def test_a_url_that_is_none_is_refused_without_its_password() -> None:
    with pytest.raises(ConfigurationError) as error:
        connect("postgresql://a:secret@h/db?nonsense=1", program="test")
    assert "secret" not in str(error.value)

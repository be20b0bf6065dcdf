from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.fleet.client_files import client_files

HOME = Path("/home/somebody")
BY_DEFAULT = (HOME / ".postgresql", HOME / ".pgpass", HOME / ".pg_service.conf")


@pytest.mark.parametrize(
    ("url", "named"),
    [
        pytest.param("postgresql://a:secret@db.example.org/grader", [], id="nothing"),
        pytest.param("postgresql://h/db?sslrootcert=/etc/ca,1.pem", ["/etc/ca,1.pem"], id="an-authority"),
        pytest.param("postgresql://h/db?sslrootcert=system", [], id="what-the-system-trusts"),
        pytest.param(
            "postgresql://h/db?sslcert=/c&sslkey=/k&sslcrl=/r&sslcrldir=/d&passfile=/p",
            ["/c", "/k", "/r", "/d", "/p"],
            id="all-that-can-be-named",
        ),
        pytest.param("postgresql://a@/db?host=/tmp/pg&port=5433", ["/tmp/pg"], id="the-folder-of-a-socket"),
        pytest.param("postgresql:///db?host=one,/run/pg", ["/run/pg"], id="several-hosts"),
        pytest.param("postgresql://h:x/db", [], id="no-url-that-can-be-understood"),
    ],
)
def test_files_are_those_of_libpq_and_those_that_the_url_names(url: str, named: list[str]) -> None:
    files = client_files(url, home=HOME)
    assert files[:3] == BY_DEFAULT
    assert sorted(files[3:]) == sorted(map(Path, named))

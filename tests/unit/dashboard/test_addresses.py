"""The bar: every page stands in it once, or lies below one that does."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon.dashboard.addresses import BAR, GRADER
from grader_daemon.dashboard.app import PAGES
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.dashboard.conftest import MakeClient


def test_every_page_is_below_one_entry() -> None:
    no_pages = ("/theme", "/metrics", "/palette.json", "/sessions.csv", "/usage.csv")
    shown = {page.address for page in PAGES if not page.writes and page.address not in no_pages}
    assert {each: [entry.words for entry in (*BAR, *GRADER) if entry.is_above(each)] for each in shown} == {
        each: [each_has] for each, each_has in ((address, _expected(address)) for address in shown)
    }


def _expected(address: str) -> str:
    first = address.strip("/").partition("/")[0]
    below = {"": "Today", "session": "Sessions", "compare": "Sessions", "search": "Sessions"}
    return (below | {"errors": "Problems", "alerts": "Problems"}).get(first, first.capitalize())


@pytest.mark.parametrize(
    ("address", "entry", "above"),
    [
        pytest.param("/session/a", '<a href="/sessions" aria-current="true">Sessions</a>', "/sessions", id="session"),
        pytest.param("/compare?id=a&id=b", 'aria-current="true">Sessions</a>', "/sessions", id="two-sessions"),
        pytest.param("/trust", '<a href="/trust" aria-current="page">Trust</a>', None, id="grader"),
        pytest.param("/alerts", '<a href="/alerts" aria-current="page">Alerts</a>', None, id="tab"),
    ],
)
def test_a_page_says_where_it_is(
    client_of: MakeClient, tmp_path: Path, address: str, entry: str, above: str | None
) -> None:
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(grade(session_id=name, session_file=f"/{name}")) for name in "ab"])
    text = client_of(tmp_path / "grades.db").get(address).text

    assert entry in text
    found = re.search(r'<nav class="above small" aria-label="Breadcrumb"><a href="([^"]+)"', text)
    assert (found and found[1]) == above

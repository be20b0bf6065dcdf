from __future__ import annotations

from datetime import UTC, datetime

from grader_daemon.domain.unit import NOWHERE, Found, Unit


def test_a_name_that_is_no_text_is_stored_as_it_is_shown() -> None:
    plain, odd = Unit("hermes", "/s/a.json"), Unit("hermes", "/s/\udcff.json", "k\udcfe")
    assert plain.storable() is plain
    stored = odd.storable()
    assert stored != odd
    assert f"{stored.locator}{stored.key}".encode()


def test_people_read_the_file_and_which_session_in_it() -> None:
    assert [str(Unit("hermes", "/s/a.json")), str(Unit("pi", "/s/a.db", "k"))] == ["/s/a.json", "/s/a.db#k"]


def test_the_last_write_is_a_time() -> None:
    found = Found(Unit("hermes", "/s/a.json"), NOWHERE, 1_000_000_000)
    assert found.written_at == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)

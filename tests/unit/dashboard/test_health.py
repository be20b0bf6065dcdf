"""Health: the state at once, the doctor when one asks, and nothing that waits for it."""

from __future__ import annotations

from time import monotonic, sleep

from starlette.testclient import TestClient

from tests.unit.dashboard.conftest import ACCESS


def _examined(client: TestClient) -> str:
    """Ask for an examination, and return the page when it has ended."""
    answer = client.post("/health/examine", data={"form_token": ACCESS.form_token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/health")
    until = monotonic() + 30
    while 'http-equiv="refresh"' in (text := client.get("/health").text):
        assert monotonic() < until
        sleep(0.05)
    return text


def test_home_without_a_database_has_its_health_too(client: TestClient) -> None:
    text = client.get("/health").text
    assert "grader-daemon service install" in text
    assert "Not run yet." in text
    assert "Europe" not in text


def test_settings_are_shown_with_where_they_come_from(client: TestClient) -> None:
    text = client.get("/health").text
    assert "watch_roots" in text
    assert "timezone" in text.split("with defaults")[0]


def test_doctor_looks_when_one_asks_and_says_what_is_wrong(client: TestClient) -> None:
    text = _examined(client)
    assert "Checked at" in text
    assert "Check again" in text
    assert "Sources" in text
    assert "Claude Code" in text

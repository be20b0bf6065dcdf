from __future__ import annotations

import pytest

from grader_daemon.domain.this_machine import is_this_machine, server_of


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("192.0.2.1", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_this_machine_is_known_by_its_names(host: str, expected: bool) -> None:
    assert is_this_machine(host) is expected


def test_a_fleet_is_asked_at_its_server_or_in_its_postgresql() -> None:
    assert server_of("https://fleet.example.org/") == "https://fleet.example.org"
    assert server_of("postgresql://db.example.org/grader") is None

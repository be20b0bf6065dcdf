from __future__ import annotations

import socket

import pytest

from grader_daemon.errors import CallError
from grader_daemon.integrations.posting import Poster
from tests.scripted_model import Handler, Step, dribble, flood, raw, scripted, status
from tests.waiting import PATIENCE_SECONDS


@pytest.mark.parametrize(
    ("step", "most", "body"),
    [
        pytest.param(raw(b"fine"), 10, b"fine", id="all-of-it"),
        pytest.param(raw(b"fine"), 4, b"fine", id="all-that-is-allowed"),
        pytest.param(raw(b"fine"), 2, b"fi", id="no-more-than-that"),
        pytest.param(raw(b"fine"), 0, b"", id="nothing"),
        pytest.param(flood, 100_000, b" " * 100_000, id="without-end"),
    ],
)
def test_no_more_is_read_than_is_allowed(step: Step, most: int, body: bytes) -> None:
    with scripted(step) as model:
        assert Poster(model.url, timeout_seconds=PATIENCE_SECONDS).post(b"{}", {}, most_bytes=most).body == body


def test_the_time_ends_in_the_middle_of_a_body_too() -> None:
    with scripted(dribble) as model, pytest.raises(CallError, match=r"no answer within 0\.3 s"):
        Poster(model.url, timeout_seconds=0.3).post(b"{}", {}, most_bytes=1_000_000)


def test_nobody_is_waited_for_long_before_there_is_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def connect(_: tuple[str, int], timeout: float, *__: object) -> socket.socket:
        asked.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", connect)
    for timeout, patience in ((300, 10), (3, 3)):
        with pytest.raises(CallError, match=f"no connection within {patience} s"):
            Poster("http://h.invalid/", timeout_seconds=timeout).post(b"{}", {}, most_bytes=0)
    assert asked == [10, 3]


def test_an_answer_may_take_longer_than_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.integrations.posting._CONNECTING_SECONDS", 0.1)

    def think(handler: Handler) -> None:
        handler.model.leaving.wait(0.3)
        handler.send(200, b"4")

    with scripted(think) as model:
        assert Poster(model.url, timeout_seconds=PATIENCE_SECONDS).post(b"{}", {}, most_bytes=9).body == b"4"


@pytest.mark.parametrize(("code", "is_success"), [(200, True), (204, True), (299, True), (302, False), (500, False)])
def test_success_is_what_http_calls_so(code: int, *, is_success: bool) -> None:
    with scripted(status(code)) as model:
        assert (
            Poster(model.url, timeout_seconds=PATIENCE_SECONDS).post(b"{}", {}, most_bytes=0).is_success == is_success
        )

from __future__ import annotations

import msgspec
import pytest

from grader_daemon.api.excerpts import excerpt, failed_excerpt, passage
from grader_daemon.redaction import MARK, SECRETS

KEY = "sk-" + "A1b2C3d4" * 6


def shown(text: str, *, characters: int = 40, lines: int = 3) -> tuple[str, ...]:
    return passage(text, SECRETS, characters=characters, lines=lines)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("", (), id="nothing"),
        pytest.param(" \n\n ", (), id="only-space"),
        pytest.param("\none\n\n  two  \n", ("one", "  two"), id="empty-lines-left-out-indentation-kept"),
        pytest.param("a\nb\nc\nd", ("a", "b", "c", "…"), id="too-many-lines"),
        pytest.param("x" * 41, ("x" * 40, "…"), id="too-long"),
        pytest.param("x" * 40, ("x" * 40,), id="just-short-enough"),
        pytest.param("a\x1b[31m\tb\u202e", ("a�[31m  b�",), id="nothing-that-a-terminal-obeys"),
        pytest.param("a\u202fb\xa0c", ("a b c",), id="spaces-of-typesetters"),
    ],
)
def test_a_passage_is_the_beginning_of_a_text(text: str, lines: tuple[str, ...]) -> None:
    assert shown(text) == lines


@pytest.mark.parametrize("before", range(0, 60, 7))
def test_a_passage_holds_no_part_of_a_secret(before: int) -> None:
    found = "".join(shown("x " * (before // 2) + KEY))

    assert "A1b2" not in found


@pytest.mark.parametrize("blanks", range(1_560, 1_600, 3))
def test_a_secret_that_the_reach_of_an_excerpt_cuts_is_not_shown(blanks: int) -> None:
    assert "Zug" not in excerpt(f"Look{' ' * blanks}mysql://app:Zugvogel17@db/shop", SECRETS)


def test_an_excerpt_is_one_redacted_line() -> None:
    assert excerpt(f"a\n\n{KEY}\x07", SECRETS) == f"a {MARK}�"
    assert excerpt("word " * 100, SECRETS).endswith("…")


_RAISED = """Traceback (most recent call last):
  File "a.py", line 1, in <module>
    import yaml
ModuleNotFoundError: No module named 'yaml'"""
_FAILED_TESTS = "test session starts\n" + "test_a.py .\n" * 40 + "E   assert 1 == 2\n1 failed in 0.1s"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param(_RAISED, "ModuleNotFoundError: No module named 'yaml'", id="the-last-line-of-a-traceback"),
        pytest.param(_FAILED_TESTS, "assert 1 == 2", id="the-failed-assertion"),
        pytest.param(
            msgspec.json.encode({"output": _RAISED, "exit_code": 1}).decode(),
            "ModuleNotFoundError: No module named 'yaml'",
            id="in-JSON",
        ),
        pytest.param("one\ntwo\nthree\nfour", "one two three four", id="the-beginning-where-no-line-says-it"),
        pytest.param(f"ok\nfatal: cannot log in with {KEY}", f"fatal: cannot log in with {MARK}", id="redacted"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_of_a_failed_output_the_line_is_quoted_that_says_what_failed(text: str, quoted: str) -> None:
    assert failed_excerpt(text, SECRETS) == quoted

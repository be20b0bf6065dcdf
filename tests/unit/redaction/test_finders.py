from __future__ import annotations

from base64 import b64encode

import pytest

from grader_daemon.redaction import MARK, SECRETS

redact = SECRETS.redact


def packed(text: bytes) -> str:
    return b64encode(text).decode()


def test_settings_that_were_packed_are_covered_whole() -> None:
    word = packed(b"DB_HOST=db.intern\nDB_PASSWORD=Fi7tatu.lu99\n")

    assert redact(f"$ base64 .env\n{word}\n$ ls") == f"$ base64 .env\n{MARK}\n$ ls"


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(packed(b"The quick brown fox jumps over the lazy dog."), id="text-without-a-secret"),
        pytest.param(packed(bytes(range(200, 240)) * 2), id="no-text"),
        pytest.param("a/" + packed(b"DB_HOST=db.intern\nDB_PASSWORD=Fi7tatu.lu99\n"), id="the-end-of-a-path"),
    ],
)
def test_other_words_stay(word: str) -> None:
    assert redact(f"see {word} there") == f"see {word} there"

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given

from grader_daemon.analysis.redaction import MARK, redact
from tests.strategies import texts

_LONG = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        pytest.param(f"key sk-proj-{_LONG}.", f"sk-proj-{_LONG}", id="openai"),
        pytest.param(f"key sk-ant-api03-{_LONG}", f"sk-ant-api03-{_LONG}", id="anthropic"),
        pytest.param(f"use ghp_{_LONG[:36]} now", f"ghp_{_LONG[:36]}", id="github"),
        pytest.param(f"github_pat_{_LONG}", f"github_pat_{_LONG}", id="github-fine-grained"),
        pytest.param(f"glpat-{_LONG[:20]}", f"glpat-{_LONG[:20]}", id="gitlab"),
        pytest.param("xoxb-1234567890-abcdefghij", "xoxb-1234567890-abcdefghij", id="slack"),
        pytest.param("id AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", id="aws-key-id"),
        pytest.param(
            "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI", id="aws-secret"
        ),
        pytest.param(f"AIza{_LONG[:35]}", f"AIza{_LONG[:35]}", id="google"),
        pytest.param(f"hf_{_LONG[:34]}", f"hf_{_LONG[:34]}", id="hugging-face"),
        pytest.param(f"sk_live_{_LONG[:24]}", f"sk_live_{_LONG[:24]}", id="stripe"),
        pytest.param(f"pypi-{_LONG}{_LONG}", f"{_LONG}{_LONG}", id="pypi"),
        pytest.param(f"eyJhbGciOiJIUzI1NiJ9.{_LONG}.{_LONG}", _LONG, id="jwt"),
        pytest.param(f"bot 123456789:{_LONG[:35]}", _LONG[:35], id="telegram"),
        pytest.param(
            f"-----BEGIN RSA PRIVATE KEY-----\n{_LONG}\n-----END RSA PRIVATE KEY-----", _LONG, id="private-key"
        ),
        pytest.param(f"-----BEGIN PRIVATE KEY-----\n{_LONG}", _LONG, id="private-key-cut-short"),
        pytest.param("postgres://me:hunter2@db/x", "hunter2", id="password-in-url"),
        pytest.param("redis://:hunter2@localhost:6379", "hunter2", id="password-in-url-without-user"),
        pytest.param("Authorization: Bearer abcdef123456abcdef", "abcdef123456abcdef", id="bearer"),
        pytest.param("authorization: basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA", id="basic"),
        pytest.param('{"password": "hunter2"}', "hunter2", id="password-in-json"),
        pytest.param("PASSWORD=hunter2", "hunter2", id="password-in-environment"),
        pytest.param("GITHUB_TOKEN = abcd1234", "abcd1234", id="token-with-spaces"),
        pytest.param("?api_key=abcd1234&x=1", "abcd1234", id="api-key-in-query"),
    ],
)
def test_secrets_are_replaced(text: str, secret: str) -> None:
    redacted = redact(text)
    assert secret not in redacted
    assert MARK in redacted


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Fix the token counter: it counts passwords twice", id="words-about-secrets"),
        pytest.param("see https://example.org:8080/path?x=1", id="url-with-port"),
        pytest.param("commit 3f786850e387550fdab836ed7e6dc881de23001b is broken", id="commit-id"),
        pytest.param("the task-based sk-learn pipeline", id="hyphenated-words"),
        pytest.param("", id="empty"),
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@given(before=texts, after=texts)
def test_a_key_is_found_between_any_words(before: str, after: str) -> None:
    key = f"ghp_{_LONG[:36]}"
    assert key not in redact(f"{before} {key} {after}")


@given(text=texts)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(f"password={text} sk-{_LONG}")
    assert redact(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("eyJabcdefgh-", id="jwt-beginnings"),
        pytest.param("eyJ.", id="short-jwt-beginnings"),
        pytest.param("://a:b", id="urls"),
        pytest.param("-----BEGIN PRIVATE KEY-----", id="key-headers"),
        pytest.param("password = ", id="assignments"),
        pytest.param("bearer  ", id="authorizations"),
        pytest.param("sk-", id="key-prefixes"),
        pytest.param("1234567890:", id="bot-tokens"),
        pytest.param("a", id="one-long-word"),
    ],
)
def test_hostile_text_takes_bounded_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = process_time()
    redact(text)
    assert process_time() - start < 2.0

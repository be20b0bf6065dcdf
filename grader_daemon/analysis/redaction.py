"""Secrets out of text before anything is stored, shown or logged.

Agents write keys down in requests, arguments and answers. Each pattern has a fixed shape with bounded repetition, so
any text is searched in linear time.
"""

from __future__ import annotations

import re

MARK = "[redacted]"

_SHAPES = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[\s\S]{0,8000}?-----END [A-Z ]{0,40}PRIVATE KEY-----|[\s\S]{0,8000})",
    r"\bsk-[A-Za-z0-9_-]{16,200}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,255}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,255}",
    r"\bglpat-[A-Za-z0-9_-]{16,100}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,60}",
    r"\bya29\.[A-Za-z0-9_-]{20,400}",
    r"\bhf_[A-Za-z0-9]{20,100}",
    r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,200}",
    r"\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,100}",
    r"\bnpm_[A-Za-z0-9]{30,60}",
    r"\bpypi-[A-Za-z0-9_-]{40,300}",
    r"\bdop_v1_[a-f0-9]{40,80}",
    r"\beyJ[A-Za-z0-9_-]{8,2000}(?:\.[A-Za-z0-9_-]{8,4000}){1,2}",
)
_SHAPE_SIGNS: tuple[str, ...] = (
    *("-----begin ", "sk-", "gh", "glpat-", "xox", "akia", "asia", "aiza", "ya29", "hf_", "k_live_", "k_test_"),
    *("sg.", "npm_", "pypi-", "dop_v1_", "eyj"),
)
_OTHER_SIGNS: tuple[str, ...] = (":", "=", "bearer", "basic")
"""One of these stands in everything that a pattern matches; to look for all of them first takes a tenth of the time."""
_BOT_TOKEN = re.compile(r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b")
_SHAPE = re.compile("|".join(_SHAPES))
_CREDENTIALS_IN_URL = re.compile(r"(://[^\s/:@]{0,100}:)[^\s/@]{1,200}(@)")
_AUTHORIZATION = re.compile(r"((?:bearer|basic)\s{1,5})[A-Za-z0-9+/_.=-]{12,2000}", re.IGNORECASE)
_ASSIGNMENT = re.compile(
    r"((?:api[_-]?key|secret(?:[_-]?key)?|access[_-]?key|auth[_-]?token|access[_-]?token|token|password|passwd|pwd)"
    r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?)[^\s\"',;&]{4,400}",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Give `text` with everything that looks like a secret replaced by a mark."""
    lowered = text.lower()
    if _shows(_SHAPE_SIGNS, lowered):
        text = _SHAPE.sub(MARK, text)
    if not _shows(_OTHER_SIGNS, lowered):
        return text
    text = _BOT_TOKEN.sub(MARK, text)
    text = _CREDENTIALS_IN_URL.sub(rf"\1{MARK}\2", text)
    text = _AUTHORIZATION.sub(rf"\1{MARK}", text)
    return _ASSIGNMENT.sub(rf"\1{MARK}", text)


def _shows(signs: tuple[str, ...], text: str) -> bool:
    for sign in signs:
        if sign in text:
            return True
    return False

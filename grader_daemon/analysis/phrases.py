"""Phrases from the rules as compiled patterns.

Words end at letters and digits, white space in a phrase matches any run of it, `*` matches up to 80 characters of one
line. Nothing in these patterns can backtrack more than those 80 characters, so any text is searched in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WILDCARD = r"[^\n]{0,80}?"


def compile_phrases(phrases: Iterable[str]) -> re.Pattern[str] | None:
    """Give one pattern that finds any of `phrases` as whole words; None when there are none."""
    alternatives = [_pattern(phrase) for phrase in phrases if phrase.strip()]
    return re.compile("|".join(alternatives), re.IGNORECASE) if alternatives else None


def _pattern(phrase: str) -> str:
    phrase = phrase.strip()
    body = r"\s+".join(_WILDCARD.join(re.escape(piece) for piece in word.split("*")) for word in phrase.split())
    before = r"(?<!\w)" if phrase[0].isalnum() else ""
    after = r"(?!\w)" if phrase[-1].isalnum() else ""
    return before + body + after

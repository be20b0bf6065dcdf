"""A pattern that is compiled when it is first used behaves as one that always was."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest

from grader_daemon.domain.late_pattern import compile_late_patterns, late_pattern


def test_it_has_the_methods_and_the_flags_of_its_pattern() -> None:
    late = late_pattern("(a)b", re.IGNORECASE)

    found = late.search("xAB")

    assert found is not None
    assert (found.span(1), late.sub("-", "abAB"), late.pattern) == ((1, 2), "--", "(a)b")
    assert late.flags & re.IGNORECASE


def test_it_is_compiled_once_for_each_method_and_not_before_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compiles = re.compile

    def listening(text: str, flags: int) -> re.Pattern[str]:
        compiled.append(text)
        return compiles(text, flags)

    monkeypatch.setattr(re, "compile", listening)
    late = late_pattern("b+")
    before = list(compiled)

    ends = [late.match(text) is not None for text in ("b", "a", "bb")]

    assert (before, ends, compiled) == ([], [True, False, True], ["b+"])


def test_all_are_compiled_before_somebody_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    late = late_pattern("d+")
    compile_late_patterns()
    monkeypatch.setattr(re, "compile", None)

    assert late.fullmatch("dd")


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda late: pickle.loads(pickle.dumps(late))], ids=["copy", "pickle"]
)
def test_helpers_can_be_handed_one_used_or_not(copied: object) -> None:
    assert callable(copied)
    late = late_pattern("c")
    assert copied(late).fullmatch("c")
    assert late.fullmatch("c")
    assert copied(late).fullmatch("c")


_ASKED = """
import re, sys
made = []
compiles = re.compile
re.compile = lambda *given, **named: made.append(given[0]) or compiles(*given, **named)
import grader_daemon.redaction
print(len(made))
"""


def test_what_looks_for_secrets_compiles_little_before_it_is_asked() -> None:
    made = subprocess.run([sys.executable, "-c", _ASKED], capture_output=True, check=True, text=True, timeout=60).stdout

    assert int(made) < 30

"""Read, merge, check and version the rules.

A wrong key or value is reported with the file, the line and what is allowed there, because a person edits
these files by hand.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Set
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec
import xxhash

from grader_daemon.domain.rules import EfficiencyLevel, Rules
from grader_daemon.domain.session_features import FEATURES_VERSION
from grader_daemon.domain.verdict import rules_version
from grader_daemon.errors import ConfigurationError

JUDGEMENT_VERSION = 14
"""Raised by one whenever code that judges changes its results, so that sessions are read and graded again."""

VERDICT_VERSION = 1
"""Raised by one instead where only `Grader.redecide` changes its results: it needs stored facts, and no session."""

_SHIPPED = "rules.toml"
_DIGITS = 8
_NOT_JUDGING = {"alerts"}
"""Tables that no grade depends on."""

_OF_VERDICTS: Final = {
    "efficiency": {"levels", "otherwise"},
    "quality": {
        *("base", "long_effect", "longer_effect", "code_effect", "link_effect"),
        *("many_errors", "many_errors_effect", "repeated_errors_effect", "loop_risk_effect"),
    },
    "completion": {"low_error_rate", "high_error_rate", "verified_claim_effect", "contradicted_claim_effect"},
}
"""Rules that can be followed by the facts of a stored grade, by their tables; all others need the session."""


def load_rules(overlay: Path | None = None) -> Rules:
    """Return the shipped rules, overlaid by the file `overlay`.

    Raises:
        ConfigurationError: the overlay cannot be read, or a key or value in it is wrong.
    """
    if overlay is None:
        return _shipped()
    table = tomllib.loads(shipped_text())
    text = _read(overlay)
    try:
        own = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"rules file {overlay}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigurationError(f"rules file {overlay}: nested too deeply") from error
    if "version" in own:
        raise ConfigurationError(f"rules file {overlay}: 'version' is computed and cannot be set")
    _merge(table, own)
    try:
        return _checked(table)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_explain(overlay, text, own, str(error))) from error


@cache
def _shipped() -> Rules:
    """Return the shipped rules: each part of the program asks for them, and reading them takes 6 ms."""
    return _checked(tomllib.loads(shipped_text()))


def shipped_text() -> str:
    """Return the text of the shipped `rules.toml`."""
    return files(__package__).joinpath(_SHIPPED).read_text("utf-8")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"rules file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"rules file {path}: not UTF-8 text") from error


def _merge(base: dict[str, Any], own: dict[str, Any]) -> None:
    for key, value in own.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = value


def _checked(table: dict[str, Any]) -> Rules:
    reading, verdicts = {}, {}
    for name, rules in table.items():
        if name not in _NOT_JUDGING:
            reading[name], verdicts[name] = _divided(rules, _OF_VERDICTS.get(name, set()))
    version = rules_version(
        reading=_digest([JUDGEMENT_VERSION, FEATURES_VERSION, reading]), verdicts=_digest([VERDICT_VERSION, verdicts])
    )
    return msgspec.convert({**table, "version": version}, Rules)


def _divided(rules: Any, of_verdicts: Set[str]) -> tuple[Any, dict[str, Any]]:
    """Return the rules of a table that need the session, and those of verdicts."""
    if not isinstance(rules, dict):  # a mistake, which is told when it is converted
        return rules, {}
    followed = {key: rules[key] for key in rules.keys() & of_verdicts}
    return {key: value for key, value in rules.items() if key not in of_verdicts}, followed


def _digest(content: object) -> str:
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(content, order="deterministic"))[:_DIGITS]


def _explain(path: Path, text: str, own: dict[str, Any], message: str) -> str:
    """Return which key of the user's file is wrong, and in which line: the first that is wrong by itself."""
    keys, message = _first_wrong(own) or ([], message)
    line = _line_of(text, keys)
    place = f"{path}, line {line}" if line else str(path)
    return f"rules file {place}: {'.'.join(keys) or 'content'}: {message.partition(' - at ')[0]}"


def _first_wrong(own: dict[str, Any]) -> tuple[list[str], str] | None:
    for keys, value in _leaves(own):
        table = tomllib.loads(shipped_text())
        _merge(table, _nested(keys, value))
        try:
            _checked(table)
        except msgspec.ValidationError as error:
            unknown = re.search(r"unknown field `([^`]+)`", str(error))
            known = keys.index(unknown.group(1)) + 1 if unknown and unknown.group(1) in keys else len(keys)
            return keys[:known], str(error)
    return None


def _leaves(table: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[list[str], Any]]:
    """Yield every value with its keys; of a list of tables, each beginning of the list with the index of its last."""
    for key, value in table.items():
        keys = [*above, key]
        if isinstance(value, dict):
            yield from _leaves(value, tuple(keys))
            if not value:
                yield keys, value
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for count, item in enumerate(value, start=1):
                yield [*keys, str(count - 1), *_wrong_part(item)], value[:count]
        else:
            yield keys, value


def _wrong_part(item: Any) -> list[str]:
    """Name the key of an efficiency level that is wrong."""
    if isinstance(item, dict):
        for key, value in item.items():
            try:
                msgspec.convert({"score": 1, "error_rate": 0.0, key: value}, EfficiencyLevel)
            except msgspec.ValidationError:
                return [key]
    return []


def _nested(keys: list[str], value: Any) -> dict[str, Any]:
    """Return the table that holds `value` alone; what follows a list's index is part of the list."""
    names = keys[: next((i for i, key in enumerate(keys) if key.isdecimal() and isinstance(value, list)), len(keys))]
    for name in reversed(names):
        value = {name: value}
    nested: dict[str, Any] = value
    return nested


def _line_of(text: str, keys: list[str]) -> int | None:
    """Find the line that names the last of `keys`, or the nearest table or key around it."""
    table: list[str] = []
    arrays: dict[str, int] = {}
    found: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line)
        assignment = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if header:
            name = header.group(2)
            table = _names(name)
            if header.group(1) == "[[":
                table.append(str(arrays.get(name, 0)))
                arrays[name] = arrays.get(name, 0) + 1
            named = table
        elif assignment:
            named = table + _names(assignment.group(1))
        else:
            continue
        if named == keys[: len(named)]:
            found = number
    return found


def _names(dotted: str) -> list[str]:
    return [part.strip(" \"'") for part in dotted.split(".")]

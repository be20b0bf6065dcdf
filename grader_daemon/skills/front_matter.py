"""The two fields of a ``SKILL.md`` that matter here, of the YAML that it begins with (agentskills.io/specification).

Own lines, not a YAML library: whoever may write a skill could otherwise have the daemon build what they like.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MOST_BYTES: Final = 65_536
MOST_NAME: Final = 64
MOST_DESCRIPTION: Final = 1024
_FENCE: Final = "---"
_FIELD: Final = re.compile(r"(name|description)[ \t]*:[ \t]*(.*)")
_BLOCK: Final = re.compile(r"[|>][+-]?[1-9]?[+-]?")


class FrontMatter(NamedTuple):
    """Name and description, None where there is none; `problem` says in one line what is wrong."""

    name: str | None = None
    description: str | None = None
    problem: str | None = None


def read_front_matter(content: bytes) -> FrontMatter:
    """Read the beginning of a ``SKILL.md``: whatever it is, what can be read of it is given."""
    lines = content[:MOST_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return FrontMatter(problem="SKILL.md does not begin with ---")
    end = next((place for place, line in enumerate(lines) if place and line.rstrip() == _FENCE), None)
    if end is None:
        return FrontMatter(problem="its front matter has no end: no second --- in the first 64 KB")
    fields = dict(_fields(lines[1:end]))
    found = FrontMatter(fields.get("name", "")[:MOST_NAME] or None, fields.get("description") or None)
    return found._replace(
        description=found.description and found.description[:MOST_DESCRIPTION], problem=_problem(fields)
    )


def _problem(fields: dict[str, str]) -> str | None:
    for field, most in (("name", MOST_NAME), ("description", MOST_DESCRIPTION)):
        if not fields.get(field):
            return f"its front matter has no {field} that is plain text"
        if len(fields[field]) > most:
            return f"its {field} is longer than {most} characters"
    return None


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    """Return the two fields that are text; what is an anchor, an alias, a tag, a list or a mapping is not."""
    found = []
    for place, line in enumerate(lines):
        if (field := _FIELD.fullmatch(line.rstrip())) is None:
            continue
        value, more = field[2], _indented(lines[place + 1 :])
        if _BLOCK.fullmatch(value):
            found.append((field[1], (" " if value[0] == ">" else "\n").join(more).strip()))
        elif not value.startswith(("&", "*", "!", "[", "{")):
            found.append((field[1], _plain(" ".join((value, *more)))))
    return found


def _indented(lines: list[str]) -> list[str]:
    """Return the lines that go on with a value: those further in, as far as the first that is not."""
    own = []
    for line in lines:
        if line.strip() and not line.startswith((" ", "\t")):
            break
        own.append(line.strip())
    return own


def _plain(text: str) -> str:
    text = text.strip()
    if text[:1] in ("'", '"'):
        quoted = re.match(r"'((?:[^']|'')*)'|\"((?:[^\"\\]|\\.)*)\"", text)
        if quoted is None:
            return ""
        single, double = quoted.groups()
        return single.replace("''", "'") if single is not None else re.sub(r"\\(.)", r"\1", double)
    return re.split(r"\s#", f" {text}", maxsplit=1)[0].strip()

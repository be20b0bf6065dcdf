"""Colours of code on a page: keywords, texts, comments, numbers and names, as Pygments finds them.

Only what names its language is coloured: a fence, or the file of an edit or of a call. A page colours the first
characters alone, because reading takes 1.7 µs each; what comes behind them is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape as escaped
from itertools import takewhile
from types import MappingProxyType
from typing import Final

from markupsafe import Markup, escape

from grader_daemon.dashboard.words import shown
from grader_daemon.reports.block_kinds import DiffLine, LineKind

LIGHT_CODE: Final = MappingProxyType(
    {"keyword": "#7d2b8f", "text": "#1c6433", "comment": "#5f5c56", "value": "#8a4600", "name": "#0b5c92"}
)
"""Colours by day, and on paper."""
DARK_CODE: Final = MappingProxyType(
    {"keyword": "#d9a5e8", "text": "#9fd6a8", "comment": "#b3b0a8", "value": "#efb27e", "name": "#8fc5f0"}
)
"""Colours by night."""

MOST_COLOURED: Final = 8_000
"""Characters of fences that a page colours, and as many of calls: 15 ms of CPU if it is Python."""

_KEPT: Final = 64
"""So many pieces of code stay coloured: a page that is read again, as each live one is, costs nothing more."""

_LANGUAGES: Final = MappingProxyType(
    {
        "Bash": "bash console cmd dockerfile sh shell zsh",
        "Python": "py python python3 pyi",
        "JavaScript": "cjs javascript js jsx mjs",
        "TypeScript": "ts tsx typescript",
        "JSON": "json jsonc",
        "YAML": "yaml yml",
        "TOML": "toml",
        "INI": "cfg conf ini",
        "SQL": "mysql postgres postgresql sql sqlite",
        "HTML": "htm html svg xml",
        "CSS": "css scss",
        "Rust": "rs rust",
        "Go": "go golang",
        "Java": "java",
        "Kotlin": "kotlin kt",
        "C": "c h",
        "C++": "c++ cc cpp cxx hpp",
        "C#": "c# cs csharp",
        "Ruby": "rb ruby",
        "PHP": "php",
        "Swift": "swift",
        "Lua": "lua",
        "R": "r",
    }
)
"""Names of languages in fences and of files, by the name of their lexer."""

_LEXERS: Final = MappingProxyType({name: lexer for lexer, names in _LANGUAGES.items() for name in names.split()})
_KINDS: Final = MappingProxyType(
    {
        "Keyword.Constant": "value",
        "Keyword": "keyword",
        "Operator.Word": "keyword",
        "Name.Tag": "keyword",
        "Literal.String": "text",
        "Comment.Preproc": "keyword",
        "Comment": "comment",
        "Literal.Scalar": "text",
        "Literal.Number": "value",
        "Name.Function": "name",
        "Name.Class": "name",
        "Name.Decorator": "name",
        "Name.Attribute": "name",
        "Name.Builtin": "name",
    }
)
"""Kinds of tokens that have a colour, by their names in Pygments; the first that fits counts."""

_CONTENTS: Final = frozenset(("content:", "contents:", "file_text:"))
"""Lines of a call behind which the text of a file begins."""


class Colours:
    """Code of one page, in its colours, as long as the page may colour more."""

    def __init__(self) -> None:
        """Begin a page: of fences and of calls, which are folded, it colours so many characters each."""
        self._fences = self._calls = MOST_COLOURED

    def of_fence(self, lines: Sequence[str], language: str | None) -> Markup:
        """Return the lines of a fence that names its language."""
        name = _LEXERS.get((language or "").lower())
        if name is not None:
            text = _cleaned(lines)
            found = _coloured(text, name, min(len(text), self._fences))
            self._fences = max(0, self._fences - len(text))
            return _joined(found)
        return _joined(_plain(lines))

    def of_call(self, lines: Sequence[str], path: str | None) -> Markup:
        """Return the arguments of a call, and what it writes into a file in the colours of the file."""
        head = list(takewhile(lambda line: line.strip() not in _CONTENTS, lines))
        begin = len(head) + 1
        return _joined((*_plain(lines[:begin]), *self._of_file(lines[begin:], path)))

    def of_diff(self, lines: Sequence[DiffLine], path: str | None) -> list[tuple[LineKind, Markup]]:
        """Return the lines of a diff, each with its sign; a head that names the file counts before `path`."""
        named = next((line.text[4:] for line in lines if line.kind is LineKind.HEAD and line.text[:4] == "+++ "), "")
        changed = [line.text[1:] for line in lines if line.kind is not LineKind.HEAD]
        coloured = iter(self._of_file(changed, named if _lexer_of(named) else path))
        return [
            (line.kind, escape(shown(line.text)))
            if line.kind is LineKind.HEAD
            else (line.kind, escape(shown(line.text[:1])) + next(coloured))
            for line in lines
        ]

    def _of_file(self, lines: Sequence[str], path: str | None) -> Sequence[Markup]:
        name = _lexer_of(path or "")
        if name is None or not lines:
            return _plain(lines)
        text = _cleaned(lines)
        found = _coloured(text, name, min(len(text), self._calls))
        self._calls = max(0, self._calls - len(text))
        return found


def _lexer_of(path: str) -> str | None:
    """Return the lexer of a file whose name tells its language."""
    name = path.strip().rpartition("/")[2].lower()
    return _LEXERS.get(name.rpartition(".")[2]) if "." in name or name == "dockerfile" else None


def _cleaned(lines: Iterable[str]) -> str:
    """Return lines as they are shown, before they are taken apart: what is hidden in one may stand in two parts."""
    return "\n".join([shown(line) for line in lines])


def _plain(lines: Iterable[str]) -> list[Markup]:
    return [escape(shown(line)) for line in lines]


def _joined(lines: Iterable[Markup]) -> Markup:
    return Markup("\n").join(lines)


@lru_cache(maxsize=_KEPT)
def _coloured(text: str, lexer: str, most: int) -> tuple[Markup, ...]:
    """Return the lines of a text, its first characters coloured."""
    lines = [""]
    for kind, part in (*_tokens(text[:most], lexer), ("", text[most:])):
        for number, piece in enumerate(escaped(part).split("\n")):
            if number:
                lines.append("")
            lines[-1] += f'<span class="{kind}">{piece}</span>' if kind and piece.strip() else piece
    return tuple(map(Markup, lines))


def _tokens(text: str, lexer: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text, each with the kind whose colour it has, "" for none; equal ones stand together."""
    if not text:
        return
    from pygments.lexers import get_lexer_by_name  # when it is needed: it takes 0.1 s and 10 MB

    so_far, kind = "", ""
    for _, token, part in get_lexer_by_name(lexer.lower()).get_tokens_unprocessed(text):
        found = _kind(token)
        if found != kind and so_far:
            yield kind, so_far
            so_far = ""
        so_far, kind = so_far + part, found
    yield kind, so_far


@lru_cache
def _kind(token: tuple[str, ...]) -> str:
    """Return the kind whose colour a token has; Pygments has some 80 names of tokens."""
    name = ".".join(token)
    return next((kind for begin, kind in _KINDS.items() if f"{name}.".startswith(f"{begin}.")), "")

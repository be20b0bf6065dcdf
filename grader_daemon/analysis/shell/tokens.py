"""Parts of a shell command: the command in a call's arguments, its words, its pipelines.

Linear in the command, and bounded: an agent's command is a line of a person at a terminal, not a program.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

EXAMINED_CHARACTERS = 2_000
"""Length of the part of a command that names its family; what does the work stands near its beginning."""

_MOST_WORDS = 100
_SHELL = re.compile(r"(?:/[\w./-]{0,80}/)?(?:ba|z|da)?sh -l?c")
_SHELL_WORDS = 3
"""A command given as words is mostly a shell with the line that it is to run: ``["bash", "-lc", "ls"]``."""


_TOKEN = re.compile(
    r"(?:[ \t\r]++|\\\r?\n)*+(?:"
    r"(?=[\#<>&|;\n()$\d])(?:"  # most tokens are words that begin with none of these
    r"(?P<comment>(?<![^\s;&|()])\#[^\n]*+)"
    r"|(?P<heredoc><<-?[ \t]{0,4}+(?P<quote>[\"']?)(?P<end>\w{1,40}+)(?P=quote))"
    r"|(?P<descriptor>\d{0,2}[<>]&[\d-])"
    r"|(?P<redirect>(?:\d{1,2}|&)?(?:<<<|<>|>>|>\||[<>]&?))"
    r"|(?P<separator>&&|\|\||[;&\n()])"
    r"|(?P<pipe>\|)"
    r"|(?P<substitution>\$(?=\((?!\())))"
    r"|(?P<word>(?:[^\s'\"\\;&|()<>$]++|\$(?:\(\([^()\n]{0,80}+\)\))?|'[^']*+'?|\"(?:[^\"\\]|\\[\s\S])*+\"?|\\[\s\S]?)++)"
    r"|(?P<other>[\s\S]|\Z))"
)
_QUOTING = re.compile(r"\\\n|\\([\s\S]?)|'([^']*+)'?|\"((?:[^\"\\]|\\[\s\S])*+)\"?")
_ESCAPED = re.compile(r"\\([\\\"$`\n])")
_BROKEN_COMMAND = re.compile(r'"(?:command|cmd)"\s{0,9}+:\s{0,9}+"((?:[^"\\]|\\[\s\S])*+)')
_JSON_ESCAPE = re.compile(r'\\(["\\/nrt])')
_JSON_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_BETWEEN = frozenset({"comment", "descriptor", "other"})


@dataclass(slots=True)
class Simple:
    """A program with its arguments, quoted as they were. `writes`: its output goes to a file."""

    words: list[str] = field(default_factory=list)
    writes: bool = False


def as_command(given: object) -> str | None:
    """Return a command as one line: words are joined, of a shell with its line the line; None for anything else."""
    if isinstance(given, list):
        words = [word for word in given[:_MOST_WORDS] if isinstance(word, str)]
        if len(words) == len(given) == _SHELL_WORDS and _SHELL.fullmatch(" ".join(words[:2])):
            return words[-1]
        return shlex.join(words)
    return given if isinstance(given, str) else None


def broken_command(arguments: str) -> str | None:
    """Return the shell command in arguments whose JSON is cut or broken, as far as it stands there."""
    broken = _BROKEN_COMMAND.search(arguments[: 2 * EXAMINED_CHARACTERS])
    return _JSON_ESCAPE.sub(_json_unescaped, broken.group(1)) if broken else None


def pipelines(line: str) -> Iterator[list[Simple]]:
    """Cut a line into lists of commands that feed each other."""
    stages = [Simple()]
    is_target = False
    for kind, text in tokens(line):
        if kind == "word":
            if not is_target:
                stages[-1].words.append(text)
            is_target = False
        elif kind == "redirect":
            is_target = True
            stages[-1].writes = stages[-1].writes or ">" in text
        elif kind == "pipe":
            stages.append(Simple())
        elif kind == "separator":
            yield stages
            stages = [Simple()]
            is_target = False
    yield stages


@lru_cache(maxsize=64)
def tokens(line: str) -> tuple[tuple[str, str], ...]:
    """Return what commands are made of, without comments and the bodies of here-documents.

    A command is asked about several times in a row: for its exit code, its family, what it may have written.
    """
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(line):
        position = _add_tokens(found, line, position)
    return tuple(found)


def _add_tokens(found: list[tuple[str, str]], line: str, position: int) -> int:
    """Add those from a place on, up to the next here-document, and return where to go on behind it."""
    end_of_document = ""
    for token in _TOKEN.finditer(line, position):
        kind = token.lastgroup or ""
        if kind == "heredoc":
            end_of_document = token["end"]
        elif kind not in _BETWEEN:
            text = token[kind]
            found.append((kind, text))
            if end_of_document and text == "\n":
                end = line.find(f"\n{end_of_document}", token.start(kind))
                return end + 1 + len(end_of_document) if end >= 0 else len(line)
    return len(line)


def unquoted(word: str) -> str:
    """Return a word as its program sees it."""
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTING.sub(_content, word)


def _content(match: re.Match[str]) -> str:
    escaped, single, double = match.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return single or escaped or ""


def _json_unescaped(match: re.Match[str]) -> str:
    return _JSON_ESCAPES.get(match.group(1), match.group(1))

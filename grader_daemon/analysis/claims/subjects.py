"""Subjects of claims: the files and ids that a clause names.

A dot alone makes no file: versions, sentences and `numpy.asarray` have one too. So a name counts when it has a folder,
or an ending that files have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from grader_daemon.domain.late_pattern import late_pattern

QUOTED: Final = late_pattern(r"`([^`\n]{2,120})`")
"""What an answer sets in code: a command or a name."""

_FILE_ENDINGS = """
    py pyi ipynb js jsx mjs cjs ts tsx vue svelte go rs rb php java kt kts scala c h cc cpp cxx hpp hh cs swift m lua pl
    pm r jl ex exs erl hs ml clj sh bash zsh ps1 bat sql html htm css scss less xml xsl json jsonl ndjson yaml yml toml
    ini cfg conf env md rst txt log csv tsv xlsx xls docx doc pptx pdf png jpg jpeg gif svg webp mp3 mp4 wav webm zip gz
    tgz tar bz2 xz 7z whl bin so o a out dat db sqlite parquet npy npz pkl pt onnx lock diff patch tex bib proto tf
    service gradle mk cmake qdp img iso key pem crt dockerfile
    """
_ENDINGS: Final = frozenset(_FILE_ENDINGS.split())
_NAMES: Final = frozenset(
    {"dockerfile", "makefile", "procfile", "gemfile", "jenkinsfile", "vagrantfile", "license"}
    | {
        ".gitignore",
        ".dockerignore",
        ".npmrc",
        ".bashrc",
        ".editorconfig",
        ".gitattributes",
        ".prettierrc",
        ".eslintrc",
    }
)
_NO_FILES: Final = frozenset(
    {
        "tar.gz",
        "tar.bz2",
        "tar.xz",
        "node.js",
        "next.js",
        "vue.js",
        "react.js",
        "express.js",
        "three.js",
        "d3.js",
        "asp.net",
    }
)
_PATH = late_pattern(
    r"(?<![\w/.:@~!+-])(?:[\w@+~-]{0,80}+(?:(?<=\b[A-Za-z]):)?[./\\][\w./\\@+~-]{1,200}+"
    r"|[Mm]akefile\b|Dockerfile\b|Procfile\b|Gemfile\b|Jenkinsfile\b|Vagrantfile\b|LICENSE\b)(?![(])"
)
_BETWEEN = late_pattern(r"[`*_\"',\s]{0,12}(?:and|und|et|y|и|和|、|&)?[`*_\"'\s]{0,12}")
ID = late_pattern(r"(?:#|\b(?=[A-Z0-9]{0,19}[A-Z]))(?=[A-Z0-9]{0,19}\d)[A-Z0-9][A-Z0-9-]{4,19}\b")
ADDRESS = late_pattern(r"(?<![\w.+-])(?<!from )[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+)++")
_NOT_WRITTEN = late_pattern(r"\b(?:from|using|based on|with|like|see|by|via|than|of)\W{0,4}$", re.IGNORECASE)
_INTO = late_pattern(r"\b(?:to|in|into|at|as)\W{1,4}$", re.IGNORECASE)
_OTHER_CLAUSE = late_pattern(
    r"\b(?:because|which|that|so|since|where|when|while|for|by|using|via|due|after|before)\b|\("
)
_PLACED = late_pattern(
    r"\b(?:to|in|into|at|as|under)\b(?: (?:the|a|your|new|file|folder|directory|named|called)){0,4}\W{1,4}$"
)
_KIND_OF_FILE = r"(?: (?:the|a|an|your|one|single|new|file|output|archive|folder|directory|named|called|csv|json)){0,4}"
_MADE_AS = late_pattern(rf"\b(?:to|into|as)\b{_KIND_OF_FILE}\W{{1,4}}$")
_CHANGED_IN = late_pattern(rf"\b(?:in|into|to|from|across|within)\b{_KIND_OF_FILE}\W{{1,4}}$")
_PLACE_REACH: Final = 50
_OBJECT = late_pattern(
    r"\w+(?: (?:the|all|both|old|temporary|temp|original|unused|obsolete|stale|broken|empty|test|log|source|backup"
    r"|files?|folders?|director(?:y|ies)|scripts?)){0,4}[\s`*\"']{1,4}"
)
_MOST_FILES = 12
_IN_NAMES: Final = frozenset("_.-")


def files_after(clause: str) -> tuple[str, ...]:
    """Return the files that a clause, from its verb on, says were written: at most 12, of one enumeration."""
    other = _OTHER_CLAUSE.search(clause)
    found = list(places_of_files(clause[: other.start()] if other else clause))
    found = [match for match in found if not _NOT_WRITTEN.search(clause[max(0, match.start() - 16) : match.start()])]
    into = next((match for match in found if _INTO.search(clause[max(0, match.start() - 12) : match.start()])), None)
    if into is not None:
        found = found[found.index(into) :]
    return enumerated(clause, found)


def places_of_files(clause: str) -> Iterator[re.Match[str]]:
    """Yield where a clause names files."""
    return (match for match in _PATH.finditer(clause) if is_file(match.group()))


def enumerated(clause: str, found: Sequence[re.Match[str]]) -> tuple[str, ...]:
    """Return the files of the enumeration with which a series of places begins: at most 12."""
    files = [without_stop(match.group()) for match in found[:1]]
    for before, match in pairwise(found[:_MOST_FILES]):
        if not _BETWEEN.fullmatch(clause, before.end(), match.start()):
            break
        files.append(without_stop(match.group()))
    return tuple(files)


def place_after(clause: str) -> str | None:
    """Return the file that a clause, from its verb on, names as the place of what was made: "saved to a.txt"."""
    other = _OTHER_CLAUSE.search(clause)
    for match in _PATH.finditer(clause, 0, other.start() if other else len(clause)):
        if is_file(match.group()):
            return (
                without_stop(match.group())
                if _PLACED.search(clause[max(0, match.start() - 50) : match.start()])
                else None
            )
    return None


def made_file(clause: str) -> str | None:
    """Return the file that a clause names as what was made of another: "converted a.tsv to b.csv"."""
    return _file_behind(_MADE_AS, clause)


def changed_file(clause: str) -> str | None:
    """Return the file that a clause names as the place of a change: "removed the import from a.py"."""
    return _file_behind(_CHANGED_IN, clause.partition("(")[0])


def object_file(clause: str) -> str | None:
    """Return the file that stands right behind the verb with which a clause begins: "deleted the folder `/tmp/a`"."""
    start = _OBJECT.match(clause)
    found = _PATH.match(clause, start.end()) if start else None
    return without_stop(found.group()) if found and is_file(found.group()) else None


def _file_behind(words: re.Pattern[str], clause: str) -> str | None:
    return next(
        (
            without_stop(match.group())
            for match in places_of_files(clause)
            if words.search(clause[max(0, match.start() - _PLACE_REACH) : match.start()])
        ),
        None,
    )


def first_file(clause: str) -> str | None:
    """Return the first file that a clause names."""
    return next((without_stop(match.group()) for match in _PATH.finditer(clause) if is_file(match.group())), None)


def id_in(clause: str) -> str | None:
    """Return an order number or another id of capitals and digits, without its "#"."""
    found = ID.search(clause)
    return found.group().removeprefix("#") if found else None


def address_in(text: str) -> str | None:
    """Return the first mail address that a text names, but for that of a sender."""
    found = ADDRESS.search(text)
    return found.group() if found else None


def is_file(name: str) -> bool:
    """Return whether a text has the form of a file's name or path."""
    name = without_stop(name)
    if "//" in name or name.lower() in _NO_FILES:
        return False
    last = basename(name)
    if last.lower() in _NAMES:
        return True
    stem, dot, ending = last.rpartition(".")
    if dot and ending.lower() in _ENDINGS:
        return bool(stem) or ending.lower() == "env"
    return name.startswith(("/", "~/", "./", "../")) and name.strip("/.~").count("/") > 0


def basename(path: str) -> str:
    """Return the last part of a path, without a slash at its end."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def mentions_of(name: str, text: str) -> Iterator[int]:
    """Yield where a text names a file, not one whose name only begins or ends so.

    An answer names files that no other does, so a pattern made for each would cost more than its search.
    """
    position = text.find(name)
    while position >= 0:
        before, after = text[position - 1 : position], text[position + len(name) : position + len(name) + 1]
        if not (before.isalnum() or after.isalnum() or before in _IN_NAMES or after == "_"):
            yield position
        position = text.find(name, position + 1)


def without_stop(name: str) -> str:
    """Return a name without the full stop or comma that ends its sentence."""
    return name.rstrip(".,-")

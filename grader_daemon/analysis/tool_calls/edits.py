"""Edits of files that agents ask for: the text before and after, read from arguments, patches and shell commands.

Names of arguments are those of Claude Code, Codex, OpenCode, Gemini CLI, Copilot CLI, Qwen Code, pi, OpenClaw, Cline,
Hermes and OpenHands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from grader_daemon.domain.late_pattern import late_pattern

PATCH: Final = "*** Begin Patch"
"""Beginning of a patch of several files. Codex and Copilot give one as arguments that are no JSON."""

SEVERAL: Final = "edits"
"""The argument that holds several edits of one file, each with texts of its own."""

_OLD: Final = ("old_string", "old_str", "oldText", "old_text", "oldString", "old", "search")
_NEW: Final = (
    *("new_string", "new_str", "newText", "new_text", "newString", "new", "replace"),
    *("insert_text", "new_source"),
)
_WHOLE: Final = ("content", "file_text", "contents", "text", "new_text")
"""Arguments with all text of a file; Cline makes a file by a new text alone."""

_PLACES: Final = ("insert_line", "line")
"""Arguments that say before or after which line a text is inserted."""

_BLOCKS: Final = "diff"
"""The argument of Cline's editor with blocks that say what to search and by what to replace it."""

_MOST_EDITS: Final = 100
_FILE_OF_PATCH = late_pattern(
    r"^\*\*\* (?P<verb>Add|Update|Delete) File: (?P<path>\S[^\n]{0,1000})$"
    r"(?:\n\*\*\* Move to: (?P<to>\S[^\n]{0,1000})$)?",
    re.MULTILINE,
)
_END_OF_PATCH: Final = "\n*** End Patch"
_FILE_OF_DIFF = late_pattern(
    r"^--- (?:a/)?(?P<from>\S[^\n\t]{0,1000})[^\n]{0,100}\n\+\+\+ (?:b/)?(?P<path>\S[^\n\t]{0,1000})[^\n]{0,100}$",
    re.MULTILINE,
)
_NO_FILE: Final = "/dev/null"
_SEARCH = late_pattern(
    r"^(?:<{7}|-{7}) SEARCH[^\n]{0,80}\n(?:(?::\w{3,5}_line:[^\n]{0,20}\n){1,2}-{7}\n)?", re.MULTILINE
)
_REPLACE = late_pattern(r"^(?:>{7}|\+{7}) REPLACE", re.MULTILINE)
_INSTEAD: Final = "=======\n"
_PATH = r"[\"']?(?P<{}>[^\s<>|;&'\"]{{1,500}}+)[\"']?"
_HERE_DOCUMENT = late_pattern(
    rf"(?:\bcat(?: -)?\s?>{{1,2}}\s?{_PATH.format('to')}|\btee (?:-a )?{_PATH.format('tee')}|\bcat\b)"
    r"[^\n<|;]{0,100}?<<-?\s?(?P<quote>[\"']?)(?P<end>\w{1,40})(?P=quote)"
    rf"(?:\s?(?:>{{1,2}}|\|(?: sudo)? tee(?: -a)?)\s?{_PATH.format('into')})?[^\n]{{0,200}}\n"
)
"""A text that `cat` or `tee` puts into a file: ``cat > a <<'EOF'``, ``tee a <<EOF``, ``cat <<EOF | tee a``."""

_ADDING: Final = (">>", "tee -a")


class Edit(NamedTuple):
    """An edit of a file.

    Attributes:
        old: the text that is replaced; "" if text is added, None if the file is written as a whole.
        new: the text put there; "" if text, or the whole file, is removed.
    """

    path: str
    old: str | None
    new: str


def names_of_texts(given: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the names of the arguments with the text before and after; None if there are not both."""
    old, new = _named(given, _OLD), _named(given, _NEW)
    return (old, new) if old is not None and new is not None else None


def parts_of(given: Mapping[str, Any]) -> Sequence[Mapping[str, object]]:
    """Return the objects with texts: those in the list of edits, {} for each that is no object, or the arguments."""
    several = given.get(SEVERAL)
    if not isinstance(several, list) or not several:
        return (given,)
    return [each if isinstance(each, dict) else {} for each in several]


def edits_in_arguments(path: str, given: Mapping[str, object]) -> Iterator[Edit]:
    """Yield the edits of one file by texts, or by blocks that say what to search and to replace."""
    for part in parts_of(given):
        edit = _edit(path, part)
        if edit is not None:
            yield edit if part is given else edit._replace(old=edit.old or "")
    blocks = given.get(_BLOCKS)
    if isinstance(blocks, str):
        yield from _in_blocks(path, blocks)


def is_patch(text: str) -> bool:
    """Return whether a text is a patch or a diff that names its files."""
    return ("*** " in text or "+++ " in text) and bool(_files_in(text))


def paths_in_patch(patch: str) -> tuple[str, ...]:
    """Return the files that a patch or diff names; a file that is moved by both its names."""
    return tuple(name for file in _files_in(patch) for name in dict.fromkeys((file.old_path, file.path)))


def edits_in_patch(patch: str) -> Iterator[Edit]:
    """Yield the edits of a patch or diff, one for each file, by its new name."""
    files = _files_in(patch)
    ends = [*(each.start for each in files[1:]), len(patch)]
    for file, end in zip(files, ends, strict=True):
        lines = patch[file.end : end].partition(_END_OF_PATCH)[0].split("\n")
        old, new = ("\n".join([line[1:] for line in lines if line[:1] == sign]) for sign in "-+")
        yield Edit(file.path, None if file.is_whole else old, new)


def edits_in_command(command: str) -> Iterator[Edit]:
    """Yield the edits that a shell command makes by text that it holds: patches and here-documents."""
    if PATCH in command:
        yield from edits_in_patch(command)
    at = 0
    while "<<" in command and (begin := _HERE_DOCUMENT.search(command, at)) is not None:
        end = re.compile(rf"^[ \t]*{begin['end']}[ \t]*$", re.MULTILINE).search(command, begin.end())
        at = len(command) if end is None else end.end()
        path = begin["to"] or begin["tee"] or begin["into"]
        if path is not None:
            text = command[begin.end() : len(command) if end is None else end.start()]
            yield Edit(path, "" if any(sign in begin[0] for sign in _ADDING) else None, text)


class _File(NamedTuple):
    """A file in a patch, and where the line that names it begins and ends; `is_whole` if it is added or removed."""

    old_path: str
    path: str
    is_whole: bool
    start: int
    end: int


def _files_in(patch: str) -> list[_File]:
    """Return the files of a patch, or else those of a diff."""
    files = [_of_patch(head) for head in islice(_FILE_OF_PATCH.finditer(patch), _MOST_EDITS)]
    return files or [_of_diff(head) for head in islice(_FILE_OF_DIFF.finditer(patch), _MOST_EDITS)]


def _of_patch(head: re.Match[str]) -> _File:
    path = head["path"].strip()
    return _File(path, (head["to"] or path).strip(), head["verb"] != "Update", head.start(), head.end())


def _of_diff(head: re.Match[str]) -> _File:
    old, new = head["from"].strip(), head["path"].strip()
    names = [name for name in (old, new) if name != _NO_FILE] or [_NO_FILE]
    return _File(names[0], names[-1], _NO_FILE in (old, new), head.start(), head.end())


def _edit(path: str, given: Mapping[str, object]) -> Edit | None:
    """Return the edit by texts. A text without an old one is the whole file, unless it is added at a place."""
    old, new, whole = (_text(given, names) for names in (_OLD, _NEW, _WHOLE))
    text = whole if new is None else new
    if old is None and whole is not None and not _is_added(given):
        return Edit(path, None, whole)
    return None if old is None and text is None else Edit(path, old or "", text or "")


def _is_added(given: Mapping[str, object]) -> bool:
    return given.get("append") is True or any(isinstance(given.get(name), int | str) for name in _PLACES)


def _in_blocks(path: str, blocks: str) -> Iterator[Edit]:
    for block in _SEARCH.split(blocks, maxsplit=_MOST_EDITS)[1:]:
        old, _, new = block.partition(_INSTEAD)
        yield Edit(path, old, _REPLACE.split(new, maxsplit=1)[0])


def _text(given: Mapping[str, object], names: Sequence[str]) -> str | None:
    name = _named(given, names)
    return None if name is None else str(given[name])


def _named(given: Mapping[str, object], names: Sequence[str]) -> str | None:
    return next((name for name in names if isinstance(given.get(name), str)), None)

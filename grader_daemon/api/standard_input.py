"""Sessions that come on standard input: kept in files of a folder of their own for as long as they are graded.

Nothing of them is stored: there is no file to look at again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from grader_daemon.errors import InputError

if TYPE_CHECKING:
    from grader_daemon.domain.limits import Limits
    from grader_daemon.sources.protocol import Source

NAME: Final = "-"
"""Path that stands for standard input."""

_ATIF = "atif"
_DATABASE = b"SQLite format 3\0"
_MOST_DOCUMENTS = 10_000
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_LINES = re.compile(rb"\s*+\{[^\r\n]*+(?<=\})\r?+\n\s*+\{")


@contextmanager
def files_of(content: bytes, source: Source, limits: Limits) -> Iterator[dict[str, str]]:
    """Write sessions to files, and hand out by the path of each what it is told as; they go at the end.

    Raises:
        InputError: sessions of this source do not come so, or are too much.
    """
    from grader_daemon.sources.session_files import is_of_files  # who grades files need not wait for it here

    if len(content) > limits.bytes:
        raise InputError(f"standard input: more bytes than max_file_bytes = {limits.bytes:,}")
    if content.startswith(_DATABASE) or not is_of_files(source):
        raise InputError(f"{source.title} keeps sessions in a database or a folder; give its path instead of {NAME}")
    documents = list(documents_in(content)) if source.name == _ATIF else [content]
    if len(documents) > _MOST_DOCUMENTS:
        raise InputError(f"standard input: {len(documents):,} sessions; at most {_MOST_DOCUMENTS:,} are read")
    with TemporaryDirectory(prefix="grader-daemon-") as folder:
        told = {}
        for number, document in enumerate(documents, 1):
            path = os.path.join(folder, f"stdin-{number}{_ending(document, source.name)}")
            with open(path, "wb") as file:
                file.write(document)
            told[path] = f"{NAME}#{number}" if len(documents) > 1 else NAME
        yield told


def documents_in(content: bytes) -> Iterator[bytes]:
    """Yield JSON objects that follow each other, each of a line or of many; what is none is one document."""
    if not content.lstrip().startswith(b"{"):
        yield content
        return
    depth = start = 0
    for token in _TOKEN.finditer(content):
        mark = token[0]
        if mark in (b"[", b"{"):
            depth += 1
        elif mark in (b"]", b"}"):
            depth -= 1
            if depth <= 0:
                yield content[start : token.end()]
                depth, start = 0, token.end()
    rest = content[start:]
    if rest.strip():
        yield rest


def _ending(document: bytes, source: str) -> str:
    if source == _ATIF:
        return ".atif.json"
    return ".jsonl" if _LINES.match(document) is not None else ".json"

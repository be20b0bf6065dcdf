"""pi as a source: a file for each session, in a folder of its project.

oh-my-pi and prime-agent write the same lines into folders of their own. What a sub-agent of oh-my-pi did lies in a
folder beside the file of its session, which bears that file's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from grader_daemon.domain.unit import Unit
from grader_daemon.sources.jsonl import read_lines
from grader_daemon.sources.pi.spoken_branch import UNKNOWN, Place, SpokenBranch, id_in
from grader_daemon.sources.pi.tree_entries import KINDS, parents_in
from grader_daemon.sources.session_files import Parsed, SessionFiles, parsed_session

NAME: Final = "pi"
"""Name of the source and of the agent, and of the format of its sessions."""

_STEM: Final = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{1,6}Z_[\w.-]{1,200}"
_FILE: Final = re.compile(rf"/{_STEM}\.jsonl\Z")
_OF_SUB_AGENT: Final = re.compile(rf"/({_STEM})/(?:[^/]{{1,200}}/){{0,9}}(?!__)[^/]{{1,200}}\.jsonl\Z")
"""What begins with ``__`` is of advisors that oh-my-pi has look on."""

_FIRST: Final = re.compile(
    rb'\A\s*+(?:\{"type":"title",[^\n]{0,2000}\n)?'
    rb'\{"type":"session",(?=[^\n]{0,2000}"id":)(?=[^\n]{0,2000}"(?:cwd|parentSession)":)'
)
_KIN: Final[Mapping[str, str]] = {"/.omp/": "oh-my-pi", "/.prime/": "prime-agent"}
"""Programs that write what pi writes, by the folder in which they do."""


class PiSessions(SessionFiles):
    """``<project>/<time>_<id>.jsonl`` below the roots."""

    name = NAME
    title = "pi"
    unknown = UNKNOWN
    append_only = True

    def claims(self, path: str) -> bool:
        return "Z_" in path and (_FILE.search(path) is not None or _OF_SUB_AGENT.search(path) is not None)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return is_first_line(beginning)

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        path = unit.locator
        stem = path.rpartition("/")[2].removesuffix(".jsonl")
        above = _OF_SUB_AGENT.search(path)
        place = Place(
            source=NAME,
            agent=next((agent for folder, agent in _KIN.items() if folder in path), NAME),
            file=path,
            name=stem if above is not None else id_in(stem),
            parent=None if above is None else id_in(above[1]),
        )
        return parsed_lines(content, place, self)


def is_first_line(beginning: bytes) -> bool:
    """Return whether a file begins as those of pi do."""
    return _FIRST.match(beginning) is not None


def parsed_lines(content: bytes, place: Place, source: SessionFiles) -> Parsed:
    """Return the session in the lines of a file; see `SessionFiles.parse`."""
    lines = read_lines(content, KINDS, limits=source.limits)
    session = SpokenBranch(lines.read, partial(parents_in, content)).session(place)
    return parsed_session(session, lines, source.limits)

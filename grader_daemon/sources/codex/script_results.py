"""Results of calls with code in Codex: a header, and what the code printed, text by text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Content, Part, ReportedOutcome
from grader_daemon.sources.codex.call_results import Result, read_result
from grader_daemon.sources.codex.code_mode import PATCH
from grader_daemon.sources.codex.script_tokens import unescaped
from grader_daemon.sources.decoding import decoded_or

_STRING = r"(?:'(?:[^'\\]++|\\[\s\S])*+'|\"(?:[^\"\\]++|\\[\s\S])*+\")"
_PIECE = re.compile(
    rf"\{{'type': '\w{{1,40}}', '(\w{{1,40}})': ({_STRING})(?:, '\w{{1,40}}': {_STRING})*+\}}(?:, |\]\Z)"
)
_HEADER = re.compile(
    r"Script (?P<how>completed|failed|terminated|running with cell ID (?P<cell>\w{1,40}))\n"
    r"(?:Wall time [^\n]{0,99}\n)?Output:(?:\n|\Z)"
)
_CUT = re.compile(r"(?:Warning: truncated output [^\n]{0,99}\n)?Total output lines: \d{1,12}\n\n")
"""Note before printed output that was longer than the model may be shown: its middle is gone."""

_EXIT_CODE_BEFORE_CUT = re.compile(
    r'\{(?:"\w{1,40}":(?:"[^"\\]{0,99}"|[\d.]{1,20}),){0,9}"exit_code":(\d{1,10}),(?:"\w{1,40}":\d{1,20},)?"output":"'
)
_ERROR: Final = "Script error:\n"
_NOT_BEGUN: Final = "SyntaxError"
_SILENT: Final = frozenset({PATCH, "update_plan", "create_goal", "update_goal"})
"""Tools that print nothing of interest: where one of them fails the code ends, or tells it by an error."""

_OF_SERVERS: Final = "__"
"""Part of the names of tools that come from servers; their failures do not end the code."""

_MOST_COPIED = 1_000_000
"""Characters of one text that several calls have; of a longer one they are the last call's."""

_WORKED = ReportedOutcome(CallStatus.SUCCESS)
_FAILED = ReportedOutcome(CallStatus.FAILURE)
_PENDING = ReportedOutcome(CallStatus.PENDING)
_NOT_REACHED = ReportedOutcome(CallStatus.NOT_EXECUTED)


class Script(NamedTuple):
    """The end of a code, and its output.

    printed: text by text, the error at last.
    failed: an error ended the code.
    stopped: it was ended before its end, so that what its calls came to is not known.
    cell: the number by which a later call of ``wait`` asks for the rest; the code goes on.
    """

    printed: tuple[str, ...]
    failed: bool = False
    stopped: bool = False
    cell: str | None = None


class _Returned(msgspec.Struct, frozen=True):
    """The value that a command gives to the code; with a session in place of an exit code it goes on."""

    output: str
    exit_code: int | None = None
    session_id: int | str | None = None


class _Listed(msgspec.Struct, frozen=True):
    """The same as one of several, which ``Promise.allSettled`` wraps once more."""

    output: str | None = None
    exit_code: int | None = None
    session_id: int | str | None = None
    value: _Returned | None = None


class _OfServer(msgspec.Struct, frozen=True):
    is_error: bool = msgspec.field(name="isError", default=False)


_RETURNED = msgspec.json.Decoder(_Returned).decode
_SEVERAL = msgspec.json.Decoder(list[_Listed]).decode
_OF_SERVER = msgspec.json.Decoder(_OfServer).decode


def read_script(content: Content) -> Script | None:
    """Return what a result says of the code; None where it is no result of code.

    Args:
        content: the parts of it, or a text, in which they may stand as Python writes a list.
    """
    pieces = _pieces(content) if isinstance(content, str) else [text for text in _texts(content) if text]
    header = _HEADER.match(pieces[0]) if pieces else None
    if header is None:
        return None
    rest = pieces[0][header.end() :]
    printed = (rest, *pieces[1:]) if rest else tuple(pieces[1:])
    return Script(printed, header["how"] == "failed", header["how"] == "terminated", header["cell"])


def told_of(tools: Sequence[str], script: Script) -> list[Result]:
    """Return what is told of each call of a code, by the names of the tools that it calls.

    As many texts as calls are theirs in order. Else nothing says whose is which: each call that prints has them all.
    """
    if script.failed:
        return _of_failed(tools, script)
    told = _of_each(tools, script.printed)
    if script.cell is not None or script.stopped:
        return [Result(each.text, _PENDING) for each in told]
    return told


def _of_failed(tools: Sequence[str], script: Script) -> list[Result]:
    """An error ends the code at the call that it names, else at the last; what stands behind that never ran."""
    *before, error = script.printed or ("",)
    error = error.removeprefix(_ERROR)
    at = _place_of(error, tools, printed=len(before))
    failed = Result("\n".join([*before[at:], error]), read_result(error).outcome or _FAILED)
    return [*_of_each(tools[:at], before[:at]), failed, *[Result("", _NOT_REACHED)] * (len(tools) - at - 1)]


def _place_of(error: str, tools: Sequence[str], *, printed: int) -> int:
    if error.startswith(_NOT_BEGUN):
        return 0
    named = [place for place, tool in enumerate(tools) if error.startswith(tool)]
    return next((place for place in named if place >= printed), named[0] if named else len(tools) - 1)


def _of_each(tools: Sequence[str], texts: Sequence[str]) -> list[Result]:
    several = _several(texts[0]) if len(texts) == 1 and len(tools) > 1 else None
    if several is not None and len(several) == len(tools):
        return [_of_returned(returned) for returned in several]
    if len(texts) == len(tools):
        return [_told(tool, text) for tool, text in zip(tools, texts, strict=True)]
    printing = [place for place, tool in enumerate(tools) if tool not in _SILENT] or list(range(len(tools)))
    shares = dict(zip(printing, _shared(texts, len(printing)), strict=True))
    return [_told(tool, shares.get(place, "")) for place, tool in enumerate(tools)]


def _shared(texts: Sequence[str], calls: int) -> Sequence[str]:
    if len(texts) == calls:
        return texts
    joined = "\n".join(texts)
    return [joined if len(joined) * calls <= _MOST_COPIED else ""] * (calls - 1) + [joined]


def _told(tool: str, text: str) -> Result:
    text = text[cut.end() :] if (cut := _CUT.match(text)) is not None else text
    if tool in _SILENT:
        return Result(text, _WORKED)
    returned = _returned(text)
    if returned is not None:
        return _of_returned(returned)
    if _OF_SERVERS in tool and _is_failure_of_server(text):
        return Result(text, _FAILED)
    return read_result(text)


def _of_returned(returned: _Returned) -> Result:
    if returned.exit_code is not None:
        return Result(returned.output, ReportedOutcome.exited(returned.exit_code))
    if returned.session_id is not None:
        return Result(returned.output, _PENDING, str(returned.session_id))
    return Result(returned.output)


def _returned(text: str) -> _Returned | None:
    if not (text.startswith("{") and '"output"' in text):
        return None
    returned = decoded_or(_RETURNED, text, None)
    cut = _EXIT_CODE_BEFORE_CUT.match(text) if returned is None else None
    return returned if cut is None else _Returned(unescaped(text[cut.end() :]), int(cut[1]))


def _several(text: str) -> list[_Returned] | None:
    """Return what several commands gave, printed as one list."""
    if not (text.startswith("[{") and '"output"' in text):
        return None
    listed = decoded_or(_SEVERAL, text, None)
    if listed is None:
        return None
    found = [
        each.value if each.output is None else _Returned(each.output, each.exit_code, each.session_id)
        for each in listed
    ]
    return [returned for returned in found if returned is not None]


def _is_failure_of_server(text: str) -> bool:
    return text.startswith("{") and decoded_or(_OF_SERVER, text, _OfServer()).is_error


def _texts(content: Content) -> Iterator[str]:
    for part in content if isinstance(content, tuple) else (content,):
        yield part if isinstance(part, str) else (part.text or "" if isinstance(part, Part) else "")


def _pieces(text: str) -> list[str]:
    """Return the texts of a list as Python writes it; of a text that is no such list itself."""
    if not text.startswith("[{'type': "):
        return [text]
    pieces, place = [], 1
    while place < len(text):
        found = _PIECE.match(text, place)
        if found is None:
            return [text]
        if found[1] == "text":
            pieces.append(unescaped(found[2][1:-1]))
        place = found.end()
    return pieces

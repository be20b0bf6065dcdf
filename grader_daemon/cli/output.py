"""The only module that prints. Tables on a terminal, plain columns when piped, JSON documents on request.

Whatever came out of a session is cleaned before: no control characters, no markup, no escapes.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from grader_daemon.cli import terminal
from grader_daemon.domain.text import clean, duration_words
from grader_daemon.errors import InputError, OutputError

if TYPE_CHECKING:
    from grader_daemon.domain.calibration import Trust
    from grader_daemon.domain.check import Check
    from grader_daemon.domain.claims import Claim
    from grader_daemon.domain.feedback import Feedback, Standing
    from grader_daemon.domain.grade import Grade

_Item = TypeVar("_Item")

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "bright_red", "unknown": "magenta", "fix": "cyan"}


def prepare() -> None:
    """Make the standard streams fit for anything: closed ones lead nowhere, narrow ones get escapes."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  for the life of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Bring out what is buffered."""
    with _printing():
        sys.stdout.flush()


def line(text: str = "") -> None:
    """Print one line of text that is ours or cleaned."""
    with _printing():
        print(text)


def styled_line(text: str, style: str) -> None:
    """Print one line of text that is ours, in a colour on a terminal."""
    line(styled(text, fg=style))


def styled(text: str, *, fg: str | None = None, bold: bool | None = None) -> str:
    """Return text that is ours or cleaned as a terminal shows it in a style, which NO_COLOR and TERM=dumb forbid."""
    from click import style  # and below: `mcp` without options does without

    return style(text, fg=fg, bold=bold) if terminal.has_colours() else text


@contextmanager
def stream() -> Iterator[BinaryIO]:
    """Hand out standard output as it is, to speak a protocol there; nothing else may print meanwhile."""
    with _printing():
        yield sys.stdout.buffer


def pages(lines: Iterable[str]) -> None:
    """Print lines that are ours or cleaned: through the pager of a terminal, piped as they are."""
    with _printing():
        if sys.stdout.isatty():
            from click import echo_via_pager

            echo_via_pager(f"{line}\n" for line in lines)
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines)


def file(path: Path, content: str) -> None:
    """Write a file, whole or not at all, readable by its owner alone; a link in its place is replaced, not followed.

    Raises:
        InputError: it cannot be written there.
    """
    from grader_daemon.integrations.files import replace_file  # `--help` must not wait for it

    try:
        replace_file(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def error(text: str) -> None:
    """Print one line on standard error; in the journal it has the priority of an error."""
    _aside(text, priority="<3>")


def warning(text: str) -> None:
    """Print one line on standard error about what is probably not meant; what was asked for goes on."""
    _aside(f"grader-daemon: warning: {text}", priority="<4>")


def notice(text: str) -> None:
    """Print one line on standard error about what was done beside what was asked for."""
    _aside(f"grader-daemon: {text}")


def _aside(text: str, *, priority: str = "") -> None:
    """Print one line on standard error: with its priority in the journal, wrapped between words on a terminal."""
    from grader_daemon.cli.layout import paragraph_lines  # `--help` must not wait for it
    from grader_daemon.system.open_files import is_journal

    head = priority if is_journal(sys.stderr) else ""
    print(*paragraph_lines(head, clean(text), room=terminal.room_for_errors()), sep="\n", file=sys.stderr)


def document(content: Any = None, /, **fields: Any) -> None:
    """Print one JSON document; see `json_text`."""
    from grader_daemon.api.json_text import json_text  # `--help` must not wait for it

    line(json_text(content, **fields))


def shown(value: _Item, words: Callable[[_Item], None], *, as_json: bool) -> None:
    """Print a value as one JSON document, or for people, by `words`."""
    document(value) if as_json else words(value)


def result(words: str, *, as_json: bool, **fields: Any) -> None:
    """Print what came of a command: a line of text that is ours or cleaned, or its fields as a JSON document."""
    document(**fields) if as_json else paragraph("", words)


def log_line(at: datetime, level: str, message: str) -> None:
    """Print a line of the log for people: what is JSON as the sentence in it, anything else as it is."""
    import msgspec  # `--help` must not wait for it

    from grader_daemon.cli.times import here

    try:
        event = msgspec.json.decode(message, type=dict[str, Any])
        said = "\n".join([event["message"], *event.get("exception", "").splitlines()])
    except (msgspec.DecodeError, KeyError, TypeError):
        said = message
    lines = "\n    ".join(map(clean, said.split("\n")))
    line(f"{here(at):%Y-%m-%d %H:%M:%S %Z}  {level:7}  {lines}")


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, may_drop: Sequence[str] = ()) -> None:
    """Print rows under their headings, which name the zone of times; numbers are set to the right.

    What is piped is never cut.
    On a terminal that is too narrow, the columns of `may_drop` are left out, the first one first, and named below.
    """
    from grader_daemon.cli import layout  # `--help` must not wait for it
    from grader_daemon.cli.times import with_one_zone

    named, dated = with_one_zone(headings, list(rows))
    may_drop = [named[headings.index(heading)] for heading in may_drop]
    headings, texts = named, [[cell(value) for value in row] for row in dated]
    room = terminal.room()
    dropped = layout.left_out(headings, texts, room=room, may_drop=may_drop)
    heads, shown = layout.table_lines(*layout.without(headings, texts, dropped), room=room)
    for head in heads:
        line(styled(head, bold=True))
    if room is not None:
        line("\u2500" * min(room, max(map(len, heads + shown))))
    for row in shown:
        line(row)
    if dropped:
        paragraph("", f"(too narrow for: {', '.join(dropped)})")


def items(each: Iterable[_Item], *columns: tuple[str, Callable[[_Item], Any]], may_drop: Sequence[str] = ()) -> None:
    """Print a table with a row for each item; a column is its heading, and what it shows of an item."""
    rows = [[value(item) for _, value in columns] for item in each]
    table([heading for heading, _ in columns], rows, may_drop=may_drop)


def first_items(
    each: Sequence[_Item], most: int | None, *columns: tuple[str, Callable[[_Item], Any]], may_drop: Sequence[str] = ()
) -> None:
    """Print a table of the first `most` items below an empty line, and how many others `--all` shows."""
    if not each:
        return
    line()
    items(each[:most], *columns, may_drop=may_drop)
    if most is not None and (others := len(each) - most) > 0:
        line(f"{others:,} {'other' if others == 1 else 'others'}: --all")


def paragraph(head: str, text: str) -> None:
    """Print a text that is ours or cleaned behind a head; a terminal has its further lines below the first."""
    from grader_daemon.cli.layout import paragraph_lines  # `--help` must not wait for it

    for piece in paragraph_lines(head, text, room=terminal.room()):
        line(piece)


def checks(made: Iterable[Check]) -> None:
    """Print checks with their fixes, one below the other; nothing is cut, on a terminal long lines are wrapped."""
    rows = [row for check in made for row in _check_rows(check)]
    first, second = (max(len(row[place]) for row in rows) if rows else 0 for place in (0, 1))
    for name, state, found in rows:
        said = styled(state, fg=_COLOURS.get(state)) + " " * (second - len(state))
        paragraph(f"{name.ljust(first)}  {said}  ", found)


def facts(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print names and values, one pair a line; on a terminal long values are wrapped."""
    known = [(name, cell(value)) for name, value in pairs]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        paragraph(f"{name.ljust(width)}  ", value)


def cell(value: Any) -> str:
    """Return a value as a person reads it; what is unknown is a dash."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        from grader_daemon.cli.times import minute  # `--help` must not wait for it

        return minute(value)
    if isinstance(value, float):
        return f"{value:.2f}"
    return clean(str(value))


def called(tool: str | None, command: str | None) -> str:
    """Return what was called: a tool, for shells with the family of the command."""
    from grader_daemon.reports.issue_names import tool_words  # `--help` must not wait for it

    return " ".join(part for part in (tool and tool_words(tool), command) if part)


def duration(seconds: float | None) -> str | None:
    """Return a span of seconds as a person says it; None where it is not known."""
    return None if seconds is None else duration_words(seconds)


def failures(grade: Grade) -> None:
    """Print the failures of a session, and whether what failed worked later; probes count nowhere."""
    from grader_daemon.reports.session_words import GOT_OVER  # `--help` must not wait for it

    rows = [
        (failure.index, called(failure.tool, None), failure.finest, GOT_OVER[failure.kind])
        for failure in grade.failures
    ]
    table(("message", "tool", "error", "same step worked later"), rows)


def ledger(claims: Sequence[Claim]) -> None:
    """Print claims with their verdicts, one a line, below an empty one; nothing without claims."""
    if not claims:
        return
    from grader_daemon.reports.session_words import claim_words, why_words  # `--help` must not wait for it

    line()
    items(
        claims,
        ("claim", claim_words),
        ("verdict", lambda claim: claim.support.value),
        ("said in", lambda claim: claim.index),
        ("evidence", lambda claim: ", ".join(map(str, claim.evidence))),
        ("why", why_words),
        ("its words", lambda claim: claim.words),
        may_drop=("its words",),
    )


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error if that is a terminal; yields a function that advances it."""
    if not sys.stderr.isatty() or not total:
        yield lambda _: None
        return
    from click import progressbar

    began, done = monotonic(), 0
    with progressbar(length=total, label=title, file=sys.stderr, show_pos=True, item_show_func=_as_it_is) as bar:

        def advance(number: int) -> None:
            nonlocal done
            done += number
            bar.update(number, f"{done / max(monotonic() - began, 1e-3):,.0f} per second")

        yield advance


def _as_it_is(words: str | None) -> str | None:
    return words


@contextmanager
def busy(title: str) -> Iterator[None]:
    """Write on standard error that something takes a while, if that is a terminal."""
    if sys.stderr.isatty():
        print(title, file=sys.stderr)
    yield


def said(given: Feedback) -> str:
    """Return what a person said of a session, and who and when."""
    parts = (
        given.completed is not None and ("done" if given.completed else "not done"),
        given.quality is not None and f"quality {given.quality} of 5",
        given.note is not None and f"note: {clean(given.note)}",
    )
    return f"{', '.join(part for part in parts if part)} ({_by(given)})"


def word(value: Any, given: Feedback | None, *, otherwise: Any, digest: str | None) -> str:
    """Return a value, and if it is a label: whose, since when, and what the grader said.

    `digest` is of the session's file as it is now.
    """
    if given is None:
        return cell(value)
    return f"{cell(value)} ({said_by(given, digest)}). The grader said: {cell(otherwise)}"


def verdict(grade: Grade, trust: Trust, said: Standing, *, digest: str | None) -> str:
    """Return the verdict as a sentence, and how far it can be trusted; `digest` is of the file as it is now."""
    from grader_daemon.reports.verdicts import verdict_words  # `--help` must not wait for it

    return verdict_words(grade, trust, said=_said_by(said, digest))


def plain_verdict(grade: Grade, said: Standing, *, digest: str | None) -> str:
    """Return the same without how far it can be trusted."""
    from grader_daemon.reports import verdicts  # `--help` must not wait for it

    return verdicts.plain_verdict(grade, said=_said_by(said, digest))


def _said_by(said: Standing, digest: str | None) -> str | None:
    return None if said.completed is None else said_by(said.completed, digest)


def said_by(given: Feedback, digest: str | None) -> str:
    """Return whose word something is and since when; `digest` is of the session's file as it is now."""
    from grader_daemon.reports.session_words import said_words  # `--help` must not wait for it

    return said_words(given, digest, when=cell(given.given_at))


def abandon() -> None:
    """Forget what was to be printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _printing() -> Iterator[None]:
    """End quietly when the reader of our output is gone (``list | head``).

    Raises:
        OutputError: it cannot be written for another reason.
    """
    try:
        yield
    except BrokenPipeError:
        abandon()
        raise SystemExit(0) from None
    except OSError as error:
        abandon()
        raise OutputError(f"cannot print: {error.strerror}") from error


def _by(given: Feedback) -> str:
    return f"by {clean(given.given_by)} on {cell(given.given_at)}"


def has_room() -> bool:
    """True if nothing is too long, as for what is piped."""
    return terminal.room() is None


def _check_rows(check: Check) -> Iterator[tuple[str, str, str]]:
    yield check.name, check.state, from_home(clean(check.found))
    if check.fix is not None:
        yield "", "fix", from_home(clean(check.fix))


def from_home(text: str) -> str:
    """Return a text with paths shortened that lie below the home folder, as a shell takes them: not within quotes."""
    home = os.path.expanduser("~").rstrip("/")
    return re.sub(rf"(?<![^\s(]){re.escape(home)}(?=/)", "~", text) if home.startswith("/") else text

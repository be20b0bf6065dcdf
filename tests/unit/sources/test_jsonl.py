from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.limits import Limits
from grader_daemon.errors import ParseError, UnfinishedFileError
from grader_daemon.sources.jsonl import Lines, kind_of, read_lines


class Note(msgspec.Struct, frozen=True):
    """A line of the kind that is read here."""

    text: str


NOTE = msgspec.json.Decoder(Note).decode
KINDS: dict[str, Callable[[bytes], Note] | None] = {"note": NOTE, "picture": None}


def read(content: bytes, *, limits: Limits | None = None) -> Lines[Note]:
    """Read lines of notes; pictures are known and passed over."""
    return read_lines(content, KINDS, limits=limits or Limits())


def note(text: str) -> bytes:
    """Return a line with raw characters, as JavaScript writes it."""
    return json.dumps({"type": "note", "text": text}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_whatever_a_text_holds_only_line_feeds_end_lines(texts: list[str]) -> None:
    texts = [*texts, "a\u2028b\u2029c\u0085d\x0be"]
    assert read(b"".join(map(note, texts))) == Lines([Note(text) for text in texts], (), 0)


@given(st.integers(0, 200))
def test_cut_anywhere_the_whole_lines_are_read(cut: int) -> None:
    content = note("first") + note("second") + note("third")
    complete = content[:cut].count(b"}")
    if complete == 0:
        with pytest.raises(UnfinishedFileError):
            read(content[:cut])
    else:
        assert [line.text for line in read(content[:cut]).read] == ["first", "second", "third"][:complete]


@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\t\n"])
def test_a_file_without_content_is_unfinished(content: bytes) -> None:
    with pytest.raises(UnfinishedFileError, match="the file is empty"):
        read(content)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        pytest.param(
            b'{"type":"note","te', UnfinishedFileError, "its first line is not complete yet", id="half-a-line"
        ),
        pytest.param(b"hello\nworld\n", ParseError, "not lines of JSON", id="plain-text"),
        pytest.param(b"\0\0\0\0\n", UnfinishedFileError, "NUL bytes", id="blocks-that-were-never-written"),
        pytest.param(b"[" * 100_000 + b"\n", ParseError, "not lines of JSON", id="nested-too-deeply"),
    ],
)
def test_what_holds_no_line_is_told_in_one_line(content: bytes, error: type[ParseError], words: str) -> None:
    with pytest.raises(ParseError, match=words) as raised:
        read(content)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"not json", id="text"),
        pytest.param(b'{"type":"note","text":"half', id="half-a-line-with-a-line-feed"),
        pytest.param(b"\0\0\0", id="nul-bytes"),
        pytest.param(b'{"type":"note","text":"\xff"}', id="not-utf-8"),
        pytest.param(b"[1, 2]", id="no-object"),
        pytest.param(b'{"a":' * 100_000, id="nested-too-deeply"),
    ],
)
def test_a_broken_line_in_the_middle_is_counted_and_the_others_are_read(line: bytes) -> None:
    assert read(note("a") + line + b"\n" + note("b")) == Lines([Note("a"), Note("b")], (), 1)


def test_kinds_that_are_not_known_are_named_once_and_not_built() -> None:
    content = note("a") + b'{"type":"sound","text":1}\n' * 2 + b'{"text":"no type"}\n' + b'{"type":"picture"}\n'
    assert read(content) == Lines([Note("a")], ("sound", ""), 0)


def test_a_line_that_has_not_the_shape_of_its_kind_counts_as_unknown() -> None:
    assert read(note("a") + b'{"type":"note","text":{"new":"shape"}}\n') == Lines([Note("a")], ("note",), 0)


def test_any_number_of_unknown_kinds_is_bounded() -> None:
    content = b"".join(b'{"type":"%d%s"}\n' % (number, b"x" * 1000) for number in range(1000))
    unknown = read(content).unknown
    assert len(unknown) == 20
    assert max(map(len, unknown)) == 256


def test_half_of_a_surrogate_pair_stands_as_a_question_mark() -> None:
    """JavaScript cuts texts between the halves, and writes what is left as an escape."""
    assert read(rb'{"type":"note","text":"cut \ud83d"}' + b"\n").read == [Note("cut ?")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        pytest.param(b'{"type":"note","text":"x"}', "note", id="first"),
        pytest.param(b'{"text":"\\"type\\":\\"fake\\"","type":"note"}', "note", id="last"),
        pytest.param(b'{"type": "note"}', "note", id="with-spaces"),
        pytest.param(b'{"type":"no\\u0074e"}', "note", id="with-escapes"),
        pytest.param(b"{}", "", id="none"),
    ],
)
def test_the_kind_is_found_wherever_it_stands(line: bytes, kind: str) -> None:
    assert kind_of(line) == kind


def test_values_are_limited_in_the_lines_that_are_built_only() -> None:
    limits = Limits(values=1_000)
    picture = b'{"type":"picture","data":[' + b"1," * 10_000 + b"1]}\n"
    assert read(note("a") + picture, limits=limits).read == [Note("a")]
    many = b'{"type":"note","text":"x","more":[' + b"1," * 10_000 + b"1]}\n"
    with pytest.raises(ParseError, match="more than max_values = 1,000 JSON values"):
        read(note("a") + many, limits=limits)

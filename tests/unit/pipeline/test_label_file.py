from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.errors import InputError
from grader_daemon.pipeline.label_file import LabelFile, LabelLine, check_label, read_label_file


def read(folder: Path, content: str | bytes) -> LabelFile:
    path = folder / "labels.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_label_file(path)


def wrong(folder: Path, content: str | bytes) -> list[str]:
    """What is wrong with a file, without the name of the file."""
    found = read(folder, content)
    return [line.removeprefix(f"{folder / 'labels.csv'}, ") for line in found.wrong]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        pytest.param("session_id,completed\na,yes\nb,0\n", [("a", True), ("b", False)], id="yes-and-0"),
        pytest.param("session_id,success\na,1\nb,False\n", [("a", True), ("b", False)], id="success"),
        pytest.param("\ufeffSession_ID , Completed\n a , TRUE \n", [("a", True)], id="mark-spaces-and-capitals"),
        pytest.param("score,session_id,success\nx,a,0\n", [("a", False)], id="other-columns"),
        pytest.param("session_id,success\na,1.0\nb,0.0\n", [("a", True), ("b", False)], id="as-a-program-counts"),
        pytest.param("session_id;completed;note\na;yes;\nb;no;\n", [("a", True), ("b", False)], id="semicolons"),
        pytest.param("session_id\tsuccess\na\t1\n", [("a", True)], id="tabs"),
        pytest.param("session_id,completed\na,Y\nb,n\n", [("a", True), ("b", False)], id="letters"),
        pytest.param('session_id,completed\r\n"a,b",no\r\n\r\n', [("a,b", False)], id="quotes-and-empty-lines"),
    ],
)
def test_verdicts_are_read(tmp_path: Path, content: str, lines: list[tuple[str, bool]]) -> None:
    found = read(tmp_path, content)

    assert found == LabelFile(tuple(LabelLine(name, verdict) for name, verdict in lines), ())


def test_source_and_task_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, "source,session_id,success,task_id\nx,a,0,t\n")

    assert found.lines == (LabelLine("a", False, source="x", task="t"),)


def test_a_long_value_is_not_told_whole(tmp_path: Path) -> None:
    [told] = wrong(tmp_path, f"session_id,completed\na,{'x' * 1000}\n")

    assert len(told) < 150


def test_quality_and_note_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, 'session_id,completed,quality,note\na,yes,4.0,"well, almost"\nb,,2,\n')

    assert found.lines == (LabelLine("a", True, 4, "well, almost"), LabelLine("b", None, 2, None))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        pytest.param("", ["line 1: there is no column session_id"], id="empty"),
        pytest.param("a,yes\n", ["line 1: there is no column session_id"], id="no-heading"),
        pytest.param(
            "session_id,quality\na,3\n", ["line 1: expected one column completed or success, found 0"], id="none"
        ),
        pytest.param(
            "session_id,completed,success\na,1,0\n",
            ["line 1: expected one column completed or success, found 2"],
            id="two-verdicts",
        ),
        pytest.param(
            "session_id,completed\na,maybe\nb,1\nc,2\n",
            [
                "line 2: completed is 'maybe'; yes or no, true or false, 1 or 0 is expected",
                "line 4: completed is '2'; yes or no, true or false, 1 or 0 is expected",
            ],
            id="every-wrong-line-is-told",
        ),
        pytest.param("session_id,completed\n,1\n", ["line 2: no session_id"], id="no-id"),
        pytest.param("session_id,completed\na\n", ["line 2: 1 values for 2 columns"], id="too-few-values"),
        pytest.param("session_id,completed\na,1,2\n", ["line 2: 3 values for 2 columns"], id="too-many-values"),
        pytest.param(
            "session_id,completed\na,\n", ["line 2: neither completed nor quality is given"], id="nothing-said"
        ),
        pytest.param(
            "session_id,completed,quality\na,1,6\nb,1,good\nc,1,99999999999999999999\n",
            [
                "line 2: quality 6 is not a whole number from 1 to 5",
                "line 3: quality is 'good'; a whole number from 1 to 5 is expected",
                "line 4: quality 999999999 is not a whole number from 1 to 5",
            ],
            id="quality-out-of-bounds",
        ),
        pytest.param(
            "session_id,completed\na,1\nb,1\na,1\n", ["line 4: session 'a' is already in line 2"], id="twice-the-same"
        ),
        pytest.param(
            "session_id,completed,note\na,1," + "n" * 1001 + "\n",
            ["line 2: the note is longer than 1000 characters"],
            id="a-long-note",
        ),
        pytest.param('session_id,completed\n"a,1\n', ["line 2: unexpected end of data"], id="an-open-quote"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, content: str, what: list[str]) -> None:
    assert wrong(tmp_path, content) == what


def test_escapes_of_a_file_are_not_told_as_they_are(tmp_path: Path) -> None:
    [told] = wrong(tmp_path, "session_id,completed\n\x1b[31m,\x1b[31mx\n")

    assert told.isprintable()


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read(tmp_path, b"session_id,completed\n\xff,1\n")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_label_file(tmp_path / "absent.csv")


@given(
    content=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"session_id,completed\n{text}".encode())
)
def test_any_file_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    try:
        found = read(tmp_path_factory.mktemp("any"), content)
    except InputError:
        return
    assert all(line.session_id and line.completed is not None for line in found.lines)


@pytest.mark.parametrize(
    ("completed", "quality", "is_right"),
    [
        (True, None, True),
        (None, 1, True),
        (False, 5, True),
        (None, None, False),
        (1, None, False),
        ("yes", None, False),
        (True, 0, False),
        (True, 6, False),
        (True, True, False),
        (True, 2.5, False),
        (True, "3", False),
    ],
)
def test_a_label_is_checked(completed: object, quality: object, is_right: bool) -> None:
    assert (check_label(completed=completed, quality=quality, note=None) is None) is is_right

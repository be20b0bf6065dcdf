from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.subjects import (
    basename,
    files_after,
    first_file,
    id_in,
    is_file,
    mentions_of,
    place_after,
)


@pytest.mark.parametrize(
    "name", ["a.py", "src/a.py", "/etc/hosts/x", "~/notes/x", ".env", "Makefile", "a.tar.gz", "C:\\x\\a.py", "./bin/x"]
)
def test_names_of_files(name: str) -> None:
    assert is_file(name)


@pytest.mark.parametrize(
    "name",
    ["a", "2.5", "numpy.asarray", "Node.js", "e.g", "a//b.py", "tar.gz", "/", "/status", "and/or", ".py", "v1.2.3"],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_file(name)


def test_an_enumeration_ends_at_twelve_files_and_at_other_words() -> None:
    names = tuple(f"{letter}.py" for letter in "abcdefghijklm")
    assert files_after(f"wrote {', '.join(names)}") == names[:12]
    assert files_after("wrote a.py like b.py") == ("a.py",)
    assert files_after("wrote a.py next to what stands in b.txt") == ("b.txt",)
    assert files_after("wrote a.py next b.py") == ("a.py",)


def test_the_place_of_what_was_made_follows_a_word_of_place() -> None:
    assert place_after("saved to the file named a.txt") == "a.txt"
    assert place_after("saved and/or put to a.txt") == "a.txt"
    assert place_after("saved by a.txt") is None
    assert place_after("saved: a.txt") is None
    assert place_after("saved") is None


def test_the_full_stop_of_a_sentence_belongs_to_no_file() -> None:
    assert first_file("see a.py.") == "a.py"
    assert first_file("see it") is None


@pytest.mark.parametrize(
    ("clause", "found"),
    [("order #W12345 was", "W12345"), ("order #123456", "123456"), ("HTTP is", None), ("in 19122", None), ("A1", None)],
)
def test_ids_are_capitals_with_digits_or_marked(clause: str, found: str | None) -> None:
    assert id_in(clause) == found


def test_the_last_part_of_a_path() -> None:
    assert [basename(path) for path in ("a/b.py", "b.py", "a/b/", "C:\\a\\b.py")] == ["b.py", "b.py", "b", "b.py"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param("a.py, src/a.py and 'a.py'", [0, 10, 20], id="alone-in-a-folder-quoted"),
        pytest.param("data.py b.a.py _a.py -a.py éa.py", [], id="ending-of-another-name"),
        pytest.param("a.pyc a.py_ a.pyé", [], id="beginning-of-another-name"),
        pytest.param("a.py.bak a.py-", [0, 9], id="with-another-ending"),
    ],
)
def test_a_name_is_mentioned_as_a_whole(text: str, places: list[int]) -> None:
    assert list(mentions_of("a.py", text)) == places

from __future__ import annotations

from grader_daemon.outcomes.line_digests import digests


def test_blanks_around_and_between_words_do_not_matter() -> None:
    assert digests(b"def  f(a):\r\n\treturn a") == digests(b"    def f(a):\n  return a\n")


def test_lines_that_stand_in_any_file_say_nothing() -> None:
    assert digests(b"{\n}\n\n----------\nelse:\n") == frozenset()


def test_words_of_any_language_say_something() -> None:
    assert len(digests("имя файла\n".encode())) == 1
    assert len(digests(b"\xff\xfe name of it\n")) == 1


def test_a_digest_fits_into_a_column() -> None:
    assert all(0 <= each < 2**63 for each in digests(b"some words\nsome other words\n"))


def test_a_text_without_end_is_read_so_far() -> None:
    assert len(digests(b"".join(b"line number %d\n" % number for number in range(30_000)))) == 20_000

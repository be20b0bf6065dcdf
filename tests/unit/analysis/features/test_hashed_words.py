from __future__ import annotations

from zlib import crc32

from grader_daemon.analysis.features.hashed_words import BUCKETS, Buckets


def test_the_same_words_fall_into_the_same_buckets_on_every_machine() -> None:
    marks = Buckets().marks([b"word", b"word", b"other"])
    expected = {crc32(word) % BUCKETS for word in (b"word", b"other")}
    assert {place for place, mark in enumerate(marks) if mark} == expected
    assert (len(marks), set(marks)) == (BUCKETS, {0, 1})


def test_every_bucket_is_marked_by_itself() -> None:
    buckets = Buckets()
    words = [b"%d" % number for number in range(2_000)]
    assert buckets.marks(words) == b"\1" * BUCKETS
    assert not any(buckets.marks([]))
    assert {sum(buckets.marks([word])) for word in words} == {1}


def test_what_is_known_of_words_is_bounded_and_changes_nothing() -> None:
    words = [b"%d" % number for number in range(20_000)] + [b"x" * 1_000]
    buckets = Buckets()
    assert [buckets.marks([word]) for word in words] == [buckets.marks([word]) for word in words]
    assert len(buckets) == 16_384
    assert b"x" * 1_000 not in buckets

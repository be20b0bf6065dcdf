from __future__ import annotations

import json

import msgspec
import pytest

from grader_daemon.sources.strange_elements import read_without_strange


class Turn(msgspec.Struct):
    said: str
    beside: tuple[str, ...] = ()


class Document(msgspec.Struct):
    name: str
    turns: tuple[Turn, ...] = ()
    prompt: msgspec.Raw = msgspec.Raw()


DOCUMENT = msgspec.json.Decoder(Document).decode
TURNS = msgspec.json.Decoder(tuple[Turn, ...]).decode


def test_elements_of_another_shape_are_left_out_and_told() -> None:
    turns = [{"said": "a"}, 7, {"said": 7}, {}, {"said": "b", "beside": ["x", 7]}, {"said": "c"}]
    told: dict[str, None] = {}

    read = read_without_strange(DOCUMENT, json.dumps({"name": "n", "turns": turns}).encode(), told)

    assert [turn.said for turn in read.turns] == ["a", "c"]
    assert list(told) == ["turns[]", "turns[].said", "turns[].beside[]"]


def test_a_list_may_be_the_whole_document() -> None:
    told: dict[str, None] = {}

    read = read_without_strange(TURNS, b'[{"said": 7}, {"said": "b"}]', told)

    assert ([turn.said for turn in read], list(told)) == (["b"], ["[].said"])


def test_all_else_of_a_document_stays_byte_by_byte() -> None:
    content = b'{"prompt":  {"a" : 1.0},"name": "n", "turns": [7, {"said": "b"}]}'

    assert bytes(read_without_strange(DOCUMENT, content, {}).prompt) == b'{"a" : 1.0}'


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"name": 7, "turns": [{"said": "a"}]}', id="wrong-outside-of-lists"),
        pytest.param(b'{"name": "n", "turns": [{"said": 7}]}', id="the-only-element"),
        pytest.param(json.dumps({"name": "n", "turns": [7] * 21 + [{"said": "a"}]}).encode(), id="too-many"),
    ],
)
def test_what_has_another_shape_as_a_whole_is_refused(content: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_without_strange(DOCUMENT, content, {})

"""A session as a strip."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import pytest

from grader_daemon.dashboard.minimap import MOST_BARS, MapMessage, has_times, marks_of, minimap
from grader_daemon.domain.analysis import FailureKind
from grader_daemon.domain.claims import Support

SAID = MapMessage("user", 10)


def strip(messages: Sequence[MapMessage], shown: range | None) -> Element:
    every = range(len(messages))
    return minimap(messages, shown=every if shown is None else shown, page=200, address=lambda index: f"#m{index}")


def drawn(*messages: MapMessage, shown: range | None = None) -> str:
    made = minimap(
        messages, shown=range(len(messages)) if shown is None else shown, page=200, address=lambda index: f"#m{index}"
    )
    parts = [(part.tag, part.attrib, part.text) for part in made.iter()]
    return "\n".join(f"{tag} {attributes} {text}" for tag, attributes, text in parts)


def links(*messages: MapMessage) -> list[tuple[str, str]]:
    """Return where the links of a strip lead, and the signs that they stand under."""
    found = strip(messages, None).iter("a")
    return [(link.attrib["href"], "".join(link.itertext()).partition(":")[2][1:]) for link in found]


def test_every_message_has_a_bar_of_who_speaks() -> None:
    bars = drawn(SAID, MapMessage("assistant", 10), MapMessage("tool", 10), MapMessage("system", 10))

    assert all(f"'class': '{kind}'" in bars for kind in ("user", "agent", "tool", "other"))
    assert "4 messages." in bars


def test_more_text_makes_a_higher_bar() -> None:
    heights = []
    for characters in (0, 9, 99, 999):
        bars = drawn(MapMessage("assistant", characters), MapMessage("tool", 999))
        heights.append(int(bars.partition("v-")[2].partition("h")[0]))
    assert heights == sorted(set(heights))


@pytest.mark.parametrize(
    ("found", "sign"),
    [
        pytest.param({"failure": FailureKind.HARMFUL, "by_person": True}, "unrecovered error✕", id="harmful-failure"),
        pytest.param({"claim": Support.CONTRADICTED, "by_person": True}, "contradicted claim◆", id="contradicted"),
        pytest.param({"by_person": True, "claim": Support.VERIFIED}, "comment by a person▲", id="person"),
        pytest.param({"failure": FailureKind.RECOVERED}, "recovered or expected error×", id="recovered"),
        pytest.param({"failure": FailureKind.PROBE}, "recovered or expected error×", id="probe"),
        pytest.param({"claim": Support.UNSUPPORTED}, "claim●", id="claim"),
    ],
)
def test_what_was_found_has_a_sign_that_leads_to_it(found: dict[str, object], sign: str) -> None:
    message = MapMessage("assistant", 5, **found)  # type: ignore[arg-type]
    assert links(SAID, message, SAID) == [("#m1", sign)]
    assert [f"{mark.words}{mark.sign}" for mark in marks_of([SAID, message])] == [sign]


def test_a_long_session_has_a_bar_for_several_messages_and_leads_to_the_gravest_finding() -> None:
    messages = [SAID] * (3 * MOST_BARS)
    messages[3] = MapMessage("assistant", 5, claim=Support.VERIFIED)
    messages[5] = MapMessage("tool", 5, failure=FailureKind.HARMFUL)

    assert links(*messages) == [("#m5", "unrecovered error")]
    assert drawn(*messages).count("z") == MOST_BARS + 2, "a bar for each part, with two parts of one over it"


def test_time_is_drawn_where_it_is_known_and_not_that_of_people() -> None:
    waited = MapMessage("assistant", 5, 90.0)
    assert "wait" in drawn(SAID, waited)
    assert "1.5 min of work" in drawn(SAID, waited)
    assert has_times([SAID, waited])
    assert not has_times([MapMessage("user", 5, 90.0), MapMessage("assistant", 5)])
    assert "wait" not in drawn(MapMessage("user", 5, 90.0), MapMessage("assistant", 5))


def test_the_part_that_is_shown_is_marked_where_it_is_not_all() -> None:
    messages = [SAID] * 400
    assert "band" in drawn(*messages, shown=range(200, 400))
    assert "'x': '50.00%'" in drawn(*messages, shown=range(200, 400))
    assert "band" not in drawn(*messages)

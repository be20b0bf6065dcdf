"""When something took over, of sessions and of files."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.installed import MOST_VERSIONS, InstalledKind, ObservedVersion
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.setup_changes import SetupKind, Unsteady
from grader_daemon.skills.takeovers import file_changes, shown_changes, takeovers, unsteady
from tests.routed import finished
from tests.strategies import NOW

HOUR = timedelta(hours=1)


def hourly(values: str, **facts: object) -> list[FinishedSession]:
    """A session an hour, whose model is a letter."""
    return [
        finished(ended_at=NOW + place * HOUR, **{"agent": "hermes", "model": value} | facts)
        for place, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "places"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("a" * 30, [], id="one-value"),
        pytest.param("a" * 30 + "b" * 30, [30], id="a-swap"),
        pytest.param("a" * 30 + "b" * 4, [], id="too-few-yet"),
        pytest.param("a" * 30 + "b" * 5, [30], id="five-are-enough"),
        pytest.param("a" * 30 + "b" + "a" * 30, [], id="tried-once"),
        pytest.param("a" * 20 + "b" + "a" * 10 + "b" * 30, [31], id="tried-before-the-swap"),
        pytest.param("ab" * 40, [], id="by-turns"),
        pytest.param("a" * 30 + "b" * 30 + "a" * 30, [30, 60], id="a-way-back-after-long"),
        pytest.param("a" * 30 + "b" * 16 + "a" * 30, [], id="a-way-back-after-few"),
        pytest.param("a" * 30 + "bbbba" * 10 + "a" * 30, [30, 74], id="the-old-one-now-and-then"),
        pytest.param("abcdefghijklmnopqrstuvwxyz", [], id="always-another"),
    ],
)
def test_a_value_takes_over_where_most_of_the_next_sessions_have_it(values: str, places: list[int]) -> None:
    assert [place for place, _ in takeovers(values)] == places


@given(st.text("ab", max_size=80))
def test_what_takes_over_is_another_value_than_stood_and_begins_there(values: str) -> None:
    for place, before in takeovers(values):
        assert before != values[place]
        assert before in values[:place]


def test_a_model_of_another_agent_is_no_change() -> None:
    sessions = [*hourly("a" * 30), *hourly("b" * 30, agent="codex")]

    assert shown_changes(sorted(sessions, key=lambda session: session.ended_at)) == []


def test_a_change_says_when_what_and_whose() -> None:
    [change] = shown_changes(hourly("a" * 30 + "b" * 10))

    assert (change.at, change.kind, change.agent) == (NOW + 30 * HOUR, SetupKind.MODEL, "hermes")
    assert (change.before, change.after, change.name) == ("a", "b", None)


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        pytest.param([("2.1.9", 30), ("2.1.30", 30)], ["2.1.30"], id="an-update"),
        pytest.param([("2.1.30", 30), ("2.1.9", 30)], ["2.1.9"], id="a-way-back-for-good"),
        pytest.param([("2.1.330", 22), ("1.0.128", 13), ("2.1.330", 2)], [], id="a-lower-one-beside"),
        pytest.param([("1.0", 30), ("2.0", 30), ("1.0", 30), ("2.0", 30)], ["2.0"], id="by-long-turns"),
        pytest.param([("1.0", 30), ("2.0", 9), ("1.0", 30), ("2.0", 30)], [], id="a-higher-one-that-was-in-use-before"),
        pytest.param([("1.0", 30), ("2.0", 15), ("1.0", 3), ("2.0", 30)], ["2.0"], id="an-update-with-a-late-session"),
        pytest.param([("nightly", 30), ("stable", 30)], ["stable"], id="names-without-numbers"),
    ],
)
def test_versions_that_lie_side_by_side_are_no_change(versions: list[tuple[str, int]], told: list[str]) -> None:
    sessions = [
        session._replace(agent_version=version)
        for session, version in zip(
            hourly("a" * sum(times for _, times in versions)),
            (version for version, times in versions for _ in range(times)),
            strict=True,
        )
    ]

    assert [change.after for change in shown_changes(sessions)] == told


def test_prompts_of_two_projects_by_turns_are_no_change_but_an_edit_of_both_is_one() -> None:
    sessions = []
    for place in range(80):
        edited = "" if place < 40 else "+"
        project = ("x", "y")[place % 2]
        facts = {"project": project, "system_prompt_digest": f"same{edited}", "tools_digest": None}
        sessions.append(finished(ended_at=NOW + place * HOUR, agent="hermes", **facts))

    [change] = shown_changes(sessions)

    assert (change.kind, change.at, change.after) == (SetupKind.SYSTEM_PROMPT, NOW + 40 * HOUR, "same+")


def test_tools_differ_by_platform_without_a_change() -> None:
    sessions = [
        finished(ended_at=NOW + place * HOUR, agent="hermes", platform=platform, tools_digest=platform)
        for place, platform in enumerate(["cli"] * 30 + ["telegram"] * 30)
    ]

    assert shown_changes(sessions) == []


def test_what_differs_in_most_sessions_is_told_as_such() -> None:
    sessions = [session._replace(system_prompt_digest=str(place)) for place, session in enumerate(hourly("a" * 20))]

    assert unsteady(sessions) == [Unsteady(agent="hermes", kind=SetupKind.SYSTEM_PROMPT, values=20, sessions=20)]
    assert unsteady(sessions[:19]) == [], "so few tell nothing"


# -- files -------------------------------------------------------------------------------------------------------------


def version(digest: str, hours: float, **changes: object) -> ObservedVersion:
    at = NOW + hours * HOUR
    facts: dict[str, object] = {
        "kind": InstalledKind.SKILL,
        "name": "deploy",
        "agent": "hermes",
        "path": "/s/deploy",
        "digest": digest,
        "bytes": 1,
        "written_at": at,
        "first_seen": at,
        "last_seen": at,
    }
    return ObservedVersion(**facts | changes)  # type: ignore[arg-type]


def test_what_lay_there_at_the_first_look_is_no_change() -> None:
    assert file_changes([version("a", 0), version("b", 0.5, path="/s/other")]) == []


def test_what_lay_there_at_the_first_look_at_an_agent_or_folder_is_no_change() -> None:
    lying = [version("b", 48 + each, path=f"/t/{each}", agent=None, written_at=NOW - HOUR) for each in (0.0, 0.5)]
    codex = version("c", 50, path="/c/config.toml", agent="codex", written_at=NOW - HOUR)

    assert file_changes([version("a", 0), *lying, codex]) == []


@pytest.mark.parametrize(
    "added",
    [
        pytest.param(version("b", 52, path="/t/new", agent=None, written_at=NOW - HOUR), id="copied-with-its-time"),
        pytest.param(version("b", 48.1, path="/c/AGENTS.md", agent="codex"), id="first-file-of-an-agent"),
    ],
)
def test_what_is_added_to_what_is_looked_at_is_a_change(added: ObservedVersion) -> None:
    lying = version("b", 48, path="/t/old", agent=None, written_at=NOW - HOUR)

    [change] = file_changes([version("a", 0), lying, added])

    assert (change.at, change.before) == (added.first_seen, None)


def test_an_edit_and_what_is_new_are_changes() -> None:
    seen = [version("a", 0), version("b", 5), version("c", 9, path="/h/config.yaml", kind=InstalledKind.CONFIGURATION)]

    edited, added = file_changes(seen)

    assert (edited.kind, edited.name, edited.before, edited.after) == (SetupKind.SKILL, "deploy", "a", "b")
    assert (added.kind, added.before, added.at) == (SetupKind.CONFIGURATION, None, NOW + 9 * HOUR)


@pytest.mark.parametrize(
    ("written", "at"),
    [
        pytest.param(3, 3, id="between-the-versions-that-were-seen"),
        pytest.param(-9, 5, id="older-than-the-version-before"),
        pytest.param(9, 5, id="in-the-future"),
    ],
)
def test_an_edit_that_is_noticed_late_was_when_the_file_system_says_if_that_can_be(written: int, at: int) -> None:
    [change] = file_changes([version("a", 0), version("b", 5, written_at=NOW + written * HOUR)])

    assert change.at == NOW + at * HOUR


def test_what_was_removed_and_came_back_the_same_was_removed_and_added() -> None:
    removed, added = file_changes([version("a", 0, gone_at=NOW + HOUR / 4), version("a", 0.5)])

    assert (removed.at, removed.before, removed.after) == (NOW + HOUR / 4, "a", None)
    assert (added.at, added.before, added.after) == (NOW + HOUR / 2, None, "a")


def test_what_came_back_while_nobody_looked_was_when_the_file_system_says() -> None:
    _, added = file_changes([version("a", 0, gone_at=NOW + 2 * HOUR), version("b", 9, written_at=NOW + 5 * HOUR)])
    _, moved = file_changes([version("a", 0, gone_at=NOW + 2 * HOUR), version("a", 9, written_at=NOW)])

    assert (added.at, moved.at) == (NOW + 5 * HOUR, NOW + 9 * HOUR)


def test_the_oldest_of_as_many_versions_as_are_kept_came_after_others() -> None:
    other = version("x", 0, path="/s/other")
    kept = [version(str(hours), hours) for hours in range(2, MOST_VERSIONS + 2)]

    assert [change.before for change in file_changes([other, *kept])] == [each.digest for each in kept[:-1]]
    assert file_changes([other, *kept[1:]])[0].before is None, "of so few none was forgotten"

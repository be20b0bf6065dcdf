"""A conversation of OpenHands, as its SDK keeps it since version 1: its state, and events, each in a file of its own.

Events are a tree since somebody can go back in a conversation: told is the branch that ends where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Final

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.limits import LongName, SessionId
from grader_daemon.domain.session import Ending, Session, SessionKind, Skipped, SkipReason, usage_by_model
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.decoding import setup_digest
from grader_daemon.sources.openhands.evaluated_run import NAME, Metrics, ReadLine, cost_of, usage_of
from grader_daemon.sources.openhands.told_events import Told

_ENDS: Final = {
    "finished": Ending(SessionState.COMPLETE, "finished"),
    "error": Ending(SessionState.INTERRUPTED, "error"),
    "stuck": Ending(SessionState.INTERRUPTED, "stuck"),
}


class _Llm(msgspec.Struct, frozen=True):
    model: LongName | None = None


class _Agent(msgspec.Struct, frozen=True):
    llm: _Llm = _Llm()


class _Workspace(msgspec.Struct, frozen=True):
    kind: str = "LocalWorkspace"
    working_dir: LongName | None = None


class _Stats(msgspec.Struct, frozen=True):
    usage_to_metrics: dict[str, Metrics] = {}


class _State(msgspec.Struct, frozen=True):
    id: SessionId
    agent: _Agent = _Agent()
    workspace: _Workspace = _Workspace()
    execution_status: str | None = None
    leaf_event_id: str | None = None
    stats: _Stats = _Stats()


class _Node(msgspec.Struct, frozen=True):
    id: str | None = None
    parent_id: str | None = None


_STATE: Final = msgspec.json.Decoder(_State).decode
_NODE: Final = msgspec.json.Decoder(_Node).decode


def read_conversation(content: bytes, events: Sequence[bytes], unit: Unit, *, zone: tzinfo | None) -> ReadLine:
    """Return what a conversation holds; for `zone` see `Told`.

    Args:
        content: its state.
        events: each event, in their order.
        unit: where it lies.
        zone: of times.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is none.
    """
    state = _STATE(content)
    told = Told(zone)
    told.add_all([msgspec.Raw(event) for event in _branch(events, state)])
    told.finish()
    kinds = tuple(dict.fromkeys(told.unknown))
    if not told.messages:
        return ReadLine(Skipped(SkipReason.NOT_A_SESSION, state.id), kinds, told.broken)
    return ReadLine(_session(state, told, unit), kinds, told.broken)


def _session(state: _State, told: Told, unit: Unit) -> Session:
    times = [time for time in told.times if time is not None]
    metrics = list(state.stats.usage_to_metrics.values())
    used = [usage for each in metrics if (usage := usage_of(each)) is not None]
    costs = [cost for each in metrics if (cost := cost_of(each)) is not None]
    is_here = state.workspace.kind.startswith("Local")
    return Session(
        session_id=state.id,
        file=unit.locator,
        format=NAME,
        messages=tuple(told.messages),
        message_times=tuple(told.times) if times else (),
        reported=told.reported,
        ending=_ending(state.execution_status, told),
        model=state.agent.llm.model,
        project=(state.workspace.working_dir or None) if is_here else None,
        kind=SessionKind.MAIN,
        agent=NAME,
        usage=usage_by_model(used),
        cost_usd=sum(costs) if costs else None,
        system_prompt_digest=setup_digest(told.system_prompt.encode("utf-8", "replace"))
        if told.system_prompt
        else None,
        started_at=min(times, default=None),
        updated_at=max(times, default=None),
        compacted=told.compacted,
    )


def _ending(status: str | None, told: Told) -> Ending | None:
    """Return how it stands by its state; an error of the conversation says which. It goes on where neither says so."""
    ending = _ENDS.get(status or "")
    is_told = told.ending is not None and told.ending.state is SessionState.INTERRUPTED
    return told.ending if is_told and ending is not None and ending.state is SessionState.INTERRUPTED else ending


def _branch(events: Sequence[bytes], state: _State) -> Sequence[bytes]:
    """Return the events from the first to the leaf; all where they are no tree, or it cannot be followed.

    An event without a parent follows the one before it. While the agent is running the state is kept only between its
    steps: then the newest event is the leaf, if it goes on from the one in the state. Nor is it kept when it is killed.
    """
    nodes = [_NODE(event) for event in events]
    places: dict[str | None, int] = {node.id: place for place, node in enumerate(nodes) if node.id is not None}
    leaf = places.get(state.leaf_event_id)
    if leaf is None or all(node.parent_id is None for node in nodes):
        return events
    path = _path_to(leaf, nodes, places)
    if state.execution_status == "running":
        newest = _path_to(len(nodes) - 1, nodes, places)
        path = newest if leaf in newest else path
    return [events[place] for place in reversed(path)] if len(path) <= len(nodes) else events


def _path_to(place: int | None, nodes: Sequence[_Node], places: Mapping[str | None, int]) -> list[int]:
    """Return an event and those before it on its branch, the last first; one more than there are where it is a ring."""
    path: list[int] = []
    while place is not None and len(path) <= len(nodes):
        path.append(place)
        parent = nodes[place].parent_id
        if parent == "__root__":
            break
        place = places.get(parent) if parent is not None else (place - 1 if place else None)
    return path

"""Build a session from the entries of pi: the newest branch of their tree.

What the machinery wrote in a person's place is no message, nor is what a person ran by themselves (``!command``). An
answer that ended with an error of the API, or that a person stopped, is one as far as it says something; calls that
stand in it were never made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    USER,
    Ending,
    FunctionCall,
    Message,
    Session,
    SessionKind,
    ToolCall,
    Usage,
    token_sum,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.decoding import decoded_or, setup_digest, token_count, utc
from grader_daemon.sources.messages_so_far import Conversation
from grader_daemon.sources.pi.branches import ROOT, newest_branch
from grader_daemon.sources.pi.flagged_results import outcome_of
from grader_daemon.sources.pi.tree_entries import MODEL, SUB_AGENT, Block, Entry, Head, Line, Link, Note, Spoken, Tokens

UNKNOWN: Final = frozenset({"agent_version", "platform"})
"""Facts that no session has."""

_MACHINE: Final = "agent"
_OF_OTHERS: Final = re.compile(rb'"kind":\s?"(?:inter_session|internal_system)"')
_BROKEN_OFF: Final = frozenset({"error", "aborted"})
_ENDINGS: Final[Mapping[str, Ending]] = {
    "stop": Ending(SessionState.COMPLETE, "stopReason=stop"),
    "toolUse": Ending(SessionState.OPEN, "stopReason=toolUse"),
    "deferred": Ending(SessionState.OPEN, "stopReason=deferred"),
    "length": Ending(SessionState.INTERRUPTED, "stopReason=length", EndingKind.LIMIT),
    "error": Ending(SessionState.INTERRUPTED, "stopReason=error", EndingKind.ERROR),
    "aborted": Ending(SessionState.INTERRUPTED, "stopReason=aborted", EndingKind.PERSON),
}
_TIMED: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d-]{1,20}Z_")
_SECTIONS = msgspec.json.Decoder(dict[str, object]).decode
_CHANGING_SECTION: Final = "cwd"
"""The part of a system prompt that pi itself fills in for each run."""


class Place(NamedTuple):
    """The place where a session was read.

    source: the name of its source, and `agent` that of the program.
    file: the path, with the `key` of one of several in it.
    name: what it is called if no line says that.
    parent: the session that had it begun, if the place says that.
    """

    source: str
    agent: str
    file: str
    name: str
    key: str = ""
    parent: str | None = None


class SpokenBranch(Conversation):
    """The branch that is the conversation, as messages, and what all branches together used."""

    def __init__(self, lines: Iterable[Line], parents_of_others: Callable[[], Mapping[str, str | None]]) -> None:
        """`lines` are in the order of their file; for the other see `newest_branch`."""
        super().__init__()
        self._head: Head | None = None
        self._links: list[Link] = []
        for line in lines:
            if not isinstance(line, Head):
                self._links.append(line)
            elif self._head is None:
                self._head = line
        self._prompt: Spoken | None = None
        self._last: Spoken | None = None
        self._model: str | None = None
        self._is_begun = False
        path, left = newest_branch(self._links, parents_of_others)
        self._add_path(path, left)

    def session(self, place: Place) -> Session:
        """Return what they make, without messages where nothing was said."""
        head = self._head or Head(place.name)
        began = utc(head.timestamp)
        times = list(filter(None, self.times))
        used = list(self._used())
        return Session(
            session_id=head.id,
            file=place.file,
            unit_key=place.key,
            format=place.source,
            messages=tuple(self.messages),
            message_times=tuple(self.times) if times else (),
            reported=self.reported,
            ending=self._ending,
            taken_back=tuple(self.taken_back),
            model=self._model,
            project=head.cwd or None,
            parent=id_in(head.parent) if head.parent else place.parent,
            kind=SessionKind.SUB_AGENT if self._is_begun or place.parent is not None else SessionKind.MAIN,
            agent=place.agent,
            usage=_usage_in(used),
            cost_usd=_cost_of(used),
            system_prompt_digest=None if self._prompt is None else _prompt_digest(self._prompt),
            tools_digest=None if self._prompt is None else setup_digest(self._prompt.tools_added),
            started_at=began or next(iter(times), None),
            updated_at=max(times, default=began),
            named_after_id=place.name == head.id,
        )

    def _add_path(self, path: Sequence[int], left: Mapping[int, Sequence[int]]) -> None:
        links = self._links
        made = {call for place in path for call in _calls_in(links[place])} if left else frozenset()
        self._leave(left.get(ROOT, ()), made)
        for place in path:
            link = links[place]
            if isinstance(link, Entry):
                self._add(link)
            elif link.type == MODEL:
                self._model = link.model_id or link.model or self._model
            elif link.type == SUB_AGENT:
                self._is_begun = True
            if place in left:
                self._leave(left[place], made)

    def _leave(self, places: Sequence[int], made: Set[str]) -> None:
        """Note branches that were left here, if the model had worked on them.

        With calls of the conversation, `made`, it is what the machinery wrote anew, not what a person took back.
        """
        left = [self._links[place] for place in places]
        worked = any(isinstance(link, Entry) and _is_whole_answer(link.message) for link in left)
        if worked and not any(call in made for link in left for call in _calls_in(link)):
            self.taken_back.append(len(self.messages))

    def _add(self, entry: Entry) -> None:
        said = entry.message
        match said.role:
            case "user":
                self._add_prompt(said, entry)
            case "assistant":
                self._add_answer(said, entry)
            case "toolResult":
                self._add_result(said, entry)
            case "system":
                self._prompt = self._prompt or said

    def _add_result(self, said: Spoken, entry: Entry) -> None:
        self._last = said
        text = _text(said)
        time = utc(entry.timestamp)
        self.append_result(text, outcome_of(said, text), time, call_id=said.tool_call_id, tool=said.tool_name)

    def _add_prompt(self, said: Spoken, entry: Entry) -> None:
        if said.synthetic is True or (self.messages and _is_of_machine(said)):
            return  # the first prompt of a sub-agent is another agent's, and what it is to do
        self._last = said
        self.append(Message(role=USER, content=_text(said)), utc(entry.timestamp))

    def _add_answer(self, said: Spoken, entry: Entry) -> None:
        self._last = said
        self._model = said.model or self._model
        broken_off = said.stop_reason in _BROKEN_OFF
        calls = () if broken_off else _made(said)
        text = _text(said)
        if text or calls or not broken_off:
            answer = Message(ASSISTANT, text or None, calls or None, said.stop_reason)
            self.append(answer, utc(entry.timestamp))

    @property
    def _ending(self) -> Ending | None:
        """State of the session, as its last answer says it, unless something came after that."""
        last = self._last
        if last is None or last.role != ASSISTANT or last.stop_reason is None:
            return None
        if last.stop_reason == "stop" and _made(last):
            return None
        return _ENDINGS.get(last.stop_reason)

    def _used(self) -> Iterable[tuple[str | None, Tokens]]:
        """Yield what each call of a model used, those on branches that were left too; what is a copy, once."""
        seen: set[tuple[object, ...]] = set()
        for link in self._links:
            said = link if isinstance(link, Note) else link.message
            if said.usage is None:
                continue
            if isinstance(said, Spoken) and said.response_id is not None and said.timestamp is not None:
                call = (said.response_id, said.timestamp)
                if call in seen:
                    continue
                seen.add(call)
            yield said.model, said.usage


def id_in(path: str) -> str:
    """Return the id of a session out of the path of its file, whose name ends in it; what is no path is an id."""
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl")
    timed = _TIMED.match(name)
    return name if timed is None else name[timed.end() :]


def _is_of_machine(said: Spoken) -> bool:
    return said.attribution == _MACHINE or _OF_OTHERS.search(said.provenance) is not None


def _is_whole_answer(said: Spoken) -> bool:
    return said.role == ASSISTANT and said.stop_reason not in _BROKEN_OFF


def _calls_in(link: Link) -> Iterable[str]:
    if isinstance(link, Note) or link.message.role != ASSISTANT:
        return ()
    return [block.id for block in _call_blocks(link.message) if block.id]


def _made(said: Spoken) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(block.id, FunctionCall(block.name, str(memoryview(block.arguments), "utf-8", "replace") or None))
        for block in _call_blocks(said)
    )


def _call_blocks(said: Spoken) -> list[Block]:
    return [block for block in said.content if block.type == "toolCall"] if isinstance(said.content, tuple) else []


def _text(said: Spoken) -> str:
    content = said.content
    if content is None or isinstance(content, str):
        return content or ""
    if len(content) == 1:
        return content[0].text or "" if content[0].type == "text" else ""
    return "\n".join(block.text for block in content if block.type == "text" and block.text)


def _usage_in(used: Sequence[tuple[str | None, Tokens]]) -> tuple[Usage, ...]:
    """Return the tokens of calls summed up for each model; each kind by itself, as a session may have many calls."""
    by_model: dict[str | None, list[Tokens]] = {}
    for model, tokens in used:
        by_model.setdefault(model, []).append(tokens)
    return tuple(
        Usage(
            model=model,
            input_tokens=token_sum(token_count(each.input) for each in calls),
            cache_read_tokens=token_sum(token_count(each.cache_read) for each in calls),
            cache_write_tokens=token_sum(token_count(each.cache_write) for each in calls),
            output_tokens=token_sum(token_count(each.output) for each in calls),
            reasoning_tokens=token_sum(token_count(_reasoning_in(each)) for each in calls),
        )
        for model, calls in by_model.items()
    )


def _reasoning_in(tokens: Tokens) -> object:
    return tokens.reasoning if tokens.reasoning is not None else tokens.reasoning_tokens


def _cost_of(used: Iterable[tuple[str | None, Tokens]]) -> float | None:
    """Return the price; for a model without one pi writes 0, which is not known to be the price."""
    totals = [tokens.cost.total for _, tokens in used if tokens.cost is not None]
    cost = sum(total for total in totals if isinstance(total, int | float) and total >= 0)
    return float(cost) if 0 < cost < float("inf") else None


def _prompt_digest(prompt: Spoken) -> str | None:
    """Return a digest of the first system prompt, but for the parts that differ from run to run."""
    sections = decoded_or(_SECTIONS, prompt.sections, None) if bytes(prompt.sections) else {}
    if sections is None:
        return None
    told = {name: text for name, text in sections.items() if name != _CHANGING_SECTION}
    text = _text(prompt)
    if not told and not text:
        return None
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode([text, told]))

"""Hermes Agent, JSON snapshots of all generations (February to September 2026).

The decode is typed: of `system_prompt` and `tools`, most of every small file, only digests are taken, and nothing is
built. The folder in which the agent worked stands in no key of its own, only as a line of the prompt.
Generation 0 has ``conversations`` (`sharegpt`) where the later ones have ``messages``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.identity import is_random
from grader_daemon.domain.limits import LONGEST_NAME, Limits, SessionId
from grader_daemon.domain.session import TOOL, USER, Message, Session, SessionKind, Skipped, SkipReason
from grader_daemon.sources.decoding import decode, name_of, setup_digest, utc_in
from grader_daemon.sources.hermes import sharegpt
from grader_daemon.sources.strange_elements import read_without_strange

NAME = "hermes"
"""Name of the source, and of the format of its sessions."""

UNKNOWN = frozenset({"message_times", "parent", "agent_version", "usage", "cost_usd"})
"""Facts that no snapshot has. Of its kind it notes only that it is of a timer, or, since 0.19, of a sub-agent."""

_KINDS = {"cron": SessionKind.CRON, "subagent": SessionKind.SUB_AGENT}
_LIMITS = Limits()
_SCHEDULED_ID = re.compile(r"cron_(.+)_\d{8}_\d{6}", re.DOTALL)
_REVIEW_OPENING = "Review the conversation above and "
_REVIEW_PROMPTS = (_REVIEW_OPENING + "update the skill library", _REVIEW_OPENING + "consider saving")
_COMPACTION = "[CONTEXT COMPACTION"
_COMPANIONS = (
    ("request_dump_", ".json", SkipReason.REQUEST_DUMP),
    ("hermes_conversation_", ".json", SkipReason.SAVED_COPY),
)
_PREFIX = "session_"
_WORKING_FOLDER = re.compile(
    rb'User home directory: [^"\\]{0,%d}\\nCurrent working directory: ([^"\\]{1,%d})(?:\\n|")'
    % (LONGEST_NAME, LONGEST_NAME)
)
"""The working folder in the JSON text of the prompt, where a line ends in a backslash and an n."""
_WORKING_FOLDER_LINE = re.compile(
    rf"User home directory: [^\n]{{0,{LONGEST_NAME}}}\nCurrent working directory: ([^\n]{{1,{LONGEST_NAME}}})(?:\n|$)"
)
_CHANGES_BY_ITSELF = re.compile(
    rb"\\n(?:"
    rb"\\n(?:\xe2\x95\x90|\\u2550)+\\n(?:MEMORY|USER PROFILE) .*?"
    rb'(?=\\n\\n(?:## Skills|# Project Context|Conversation started: )|"?\Z)'
    rb'|(?:User home directory|Conversation started): .*?(?=\\n\\n|"?\Z)'
    rb")",
    re.DOTALL,
)
"""Parts of a prompt that no person edits: what the agent remembers, the folders, and the paragraph of date, session and
model. Each has an end in any text, so that none is looked for over and over."""
_STEM_LIMIT = 96
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class _File(msgspec.Struct, frozen=True):
    """The keys of a session file that grading needs."""

    session_id: SessionId | None = None
    model: object = None
    platform: object = None
    session_start: object = None
    last_updated: object = None
    system_prompt: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    messages: tuple[Message, ...] | None = None
    conversations: tuple[sharegpt.Turn, ...] | None = None


_DECODER = msgspec.json.Decoder(_File)


def claims(path: str) -> bool:
    """Return whether this is the name of a session file, or of a file that Hermes writes beside them."""
    name = path.rpartition("/")[2]
    return (name.startswith(_PREFIX) and name.endswith(".json")) or companion(path) is not None


def companion(path: str) -> SkipReason | None:
    """Return what the file is if its name alone tells that it is no session; it need not be read then."""
    folder, _, name = path.rpartition("/")
    if name.startswith(_PREFIX):
        return None
    for prefix, suffix, reason in _COMPANIONS:
        if name.startswith(prefix) and name.endswith(suffix):
            return reason
    if folder.rpartition("/")[2] != "sessions":
        return None
    if name == "sessions.json":
        return SkipReason.SESSION_INDEX
    return SkipReason.GATEWAY_TRANSCRIPT if name.endswith(".jsonl") else None


def parse(
    content: bytes,
    path: str,
    *,
    zone: tzinfo | None = None,
    limits: Limits = _LIMITS,
    passed_over: dict[str, None] | None = None,
) -> Session | Skipped:
    """Decode the content of one session file.

    Args:
        content: the whole file.
        path: where it was read; only its name and folder are looked at.
        zone: the zone of times that name none; None is the machine's.
        limits: what a session may hold.
        passed_over: is told of messages that are left out; see `read_without_strange`.

    Raises:
        UnfinishedFileError, ParseError: see `decode`.
    """
    left_out = {} if passed_over is None else passed_over
    return decode(content, lambda whole: _read(whole, path, zone, left_out), limits=limits)


def schedule_of(session_id: str) -> str | None:
    """Return the id of the schedule whose run a session is, by its own id: ``cron_<schedule>_<day>_<time>``."""
    found = _SCHEDULED_ID.fullmatch(session_id)
    return None if found is None else found[1]


def _read(content: bytes, path: str, zone: tzinfo | None, left_out: dict[str, None]) -> Session | Skipped:
    name = path.rpartition("/")[2]
    file = read_without_strange(_DECODER.decode, content, left_out)
    messages = file.messages
    if messages is None and file.conversations is not None:
        messages = sharegpt.to_messages(file.conversations)
    stem = stem_of(name)
    session_id = file.session_id or stem
    if messages is None or not session_id:
        return Skipped(SkipReason.NOT_A_SESSION, file.session_id)
    traits = traits_of(messages)
    if traits.review_fork:
        return Skipped(SkipReason.REVIEW_FORK, session_id)
    started_at, platform = utc_in(file.session_start, zone), name_of(file.platform)
    schedule = schedule_of(session_id)
    return Session(
        session_id=session_id,
        file=path,
        format=NAME,
        messages=messages,
        model=name_of(file.model),
        platform=platform,
        project=_project(file.system_prompt),
        kind=_KINDS.get(platform or "") or (SessionKind.CRON if schedule else None),
        schedule=schedule,
        agent=NAME,
        system_prompt_digest=prompt_digest(file.system_prompt),
        tools_digest=setup_digest(file.tools),
        started_at=started_at,
        updated_at=utc_in(file.last_updated, zone),
        lineage=_lineage(file.session_start, started_at) if messages else None,
        opening=digest(messages[0].text) if messages else None,
        conversation=conversation_of(messages, traits.call_ids),
        compacted=traits.compacted,
        named_after_id=stem is None or stem == session_id or stem == file_stem(session_id),
    )


def stem_of(path: str) -> str | None:
    """Return the part of the name of a session file that Hermes made from an id; None if it is no such file."""
    name = path.rpartition("/")[2]
    return name.removesuffix(".json").removeprefix(_PREFIX) if name.startswith(_PREFIX) else None


def file_stem(session_id: str) -> str:
    """Return the part of the file name that Hermes makes from an id: unsafe characters replaced, long ids cut."""
    safe = re.sub(r"[^\w-]", "_", session_id)[:_STEM_LIMIT]
    if safe == session_id:
        return safe
    from hashlib import sha256  # as for redaction: hardly any session needs it

    return f"{safe}_{sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:12]}"


class Traits(NamedTuple):
    """Marks that tell a file's messages apart from others that look the same."""

    review_fork: bool
    compacted: bool
    call_ids: list[str]


def traits_of(messages: Sequence[Message]) -> Traits:
    """Look through the messages once.

    A background review copies a conversation and adds its own request after it, so never as the first message.
    """
    review_fork = compacted = False
    call_ids: list[str] = []
    for index, message in enumerate(messages):
        if message.tool_calls:
            call_ids += [call.id for call in message.tool_calls if call.id]
        elif message.role != TOOL:
            if sums_up(message):
                compacted = True
            elif index and asks_for_review(message):
                review_fork = True
    return Traits(review_fork, compacted, call_ids)


def sums_up(message: Message) -> bool:
    """Return whether a message is the summary that a compaction puts in the place of others."""
    return message.text.startswith(_COMPACTION)


def asks_for_review(message: Message) -> bool:
    """Return whether the agent asks itself here to look back at its work."""
    return message.role == USER and message.text.startswith(_REVIEW_PROMPTS)


def working_folder(system_prompt: str | None) -> str | None:
    """Return the folder that a system prompt names as the one to work in."""
    found = None if system_prompt is None else _WORKING_FOLDER_LINE.search(system_prompt)
    return None if found is None else found.group(1)


def prompt_digest(system_prompt: msgspec.Raw | bytes) -> str | None:
    """Return the digest of a system prompt, in JSON; of a text without digits and what `_CHANGES_BY_ITSELF`."""
    prompt = bytes(system_prompt)
    if prompt.startswith(b'"'):
        prompt = _CHANGES_BY_ITSELF.sub(b"", prompt).translate(None, b"0123456789")
    return setup_digest(prompt)


def _project(system_prompt: msgspec.Raw) -> str | None:
    found = _WORKING_FOLDER.search(system_prompt)
    return None if found is None else found.group(1).decode("utf-8", "replace")


def _lineage(session_start: object, started_at: datetime | None) -> int | None:
    """Return the key that the links of a compression chain share: their start, in microseconds since 1970."""
    if started_at is None or "." not in str(session_start):
        return None
    return (started_at - _EPOCH) // _MICROSECOND


def conversation_of(messages: Sequence[Message], call_ids: Sequence[str]) -> int | None:
    """Identify a conversation by its call ids, if one of them is too random to stand in two by chance."""
    if not any(is_random(call_id) for call_id in call_ids):
        return None
    identity = "\n".join((*call_ids, str(len(messages)), messages[-1].text))
    return digest(identity)


def digest(text: str) -> int:
    """63 bits, which SQLite keeps as a plain integer."""
    return int(xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace"))) >> 1

"""The document of a run of mini-SWE-agent, as far as it is read: what stands in its messages, in whichever form."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.limits import LongName, SessionId
from grader_daemon.domain.session import ASSISTANT, TOOL, FunctionCall, ToolCall, Usage
from grader_daemon.sources.decoding import Text, decoded_or, fresh_tokens, text_in, token_count
from grader_daemon.sources.mini_swe_agent.command_results import ResultNotes

_TOOL: Final = "bash"
_RESULT: Final = "function_call_output"
_FENCES: Final = ("```mswea_bash_command", "```bash")
_TASK: Final = re.compile(r"\{\{-?\s{0,9}task\s{0,9}-?\}\}")
_FILLED_IN: Final = re.compile(r"\{[{%]")
_NO_JSON: Final = msgspec.Raw(b"null")


class _Details(msgspec.Struct, frozen=True):
    cached_tokens: object = None
    reasoning_tokens: object = None


class _Usage(msgspec.Struct, frozen=True):
    """Tokens of one call, in the words of chat completions or of responses; what came from a cache is in the first."""

    prompt_tokens: object = None
    completion_tokens: object = None
    input_tokens: object = None
    output_tokens: object = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None
    cache_creation_input_tokens: object = None


class _Choice(msgspec.Struct, frozen=True):
    finish_reason: str | None = None


class _Response(msgspec.Struct, frozen=True):
    id: str | None = None
    model: LongName | None = None
    usage: _Usage | None = None
    choices: tuple[_Choice, ...] | None = None


_DECODE: Final = msgspec.json.Decoder(_Response).decode
_NOTHING: Final = _Response()


class Given(NamedTuple):
    """Notes of the API on an answer: its id, which nothing else has, its model as the API calls it, its end, tokens."""

    id: str | None
    model: str | None
    finish_reason: str | None
    usage: Usage | None


class _Action(msgspec.Struct, frozen=True):
    command: str | None = None


class _Notes(ResultNotes, frozen=True):
    """Notes of a message: of a result, or of an answer what the API gave, and the commands in it."""

    response: msgspec.Raw = _NO_JSON
    actions: tuple[_Action, ...] | None = None
    timestamp: object = None
    interrupt_type: str | None = None


class _Item(msgspec.Struct, frozen=True):
    """A piece of an answer of the responses API."""

    type: str | None = None
    content: Text = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class StoredMessage(msgspec.Struct, frozen=True):
    """One message; `kind` and `type` are set in those of the responses API, which have no role."""

    role: str | None = None
    content: Text = None
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None
    kind: str | None = msgspec.field(name="object", default=None)
    type: str | None = None
    output: str | tuple[_Item, ...] | None = None
    call_id: str | None = None
    id: str | None = None
    own_model: str | None = msgspec.field(name="model", default=None)
    usage: _Usage | None = None
    extra: _Notes = _Notes()
    timestamp: object = None

    @property
    def is_answer(self) -> bool:
        """True for what the model gave."""
        return self.role == ASSISTANT or self.kind == "response"

    @property
    def is_result(self) -> bool:
        """True for what is noted as the result of a command."""
        return self.role == TOOL or self.type == _RESULT or self.extra.returncode is not None

    @property
    def result_id(self) -> str | None:
        """The id of the call that a result answers; None where commands stand in the text."""
        return self.tool_call_id or self.call_id

    @property
    def text(self) -> str:
        """Words said in it, or printed."""
        if isinstance(self.output, str):
            return self.output
        if self.output is not None:
            said = (text_in(item.content) for item in self.output if item.type == "message")
            return "\n".join(filter(None, said))
        return text_in(self.content)

    @property
    def written_at(self) -> datetime | None:
        """The moment at which it was written, in UTC."""
        for stamp in (self.extra.timestamp, self.timestamp):
            if isinstance(stamp, int | float):
                try:
                    return datetime.fromtimestamp(stamp, UTC)
                except (ValueError, OverflowError, OSError):
                    continue
        return None

    @property
    def given(self) -> Given:
        """Notes of the API on an answer."""
        noted = self._response
        model = self.own_model or noted.model
        used = self.usage or noted.usage
        return Given(
            self.id or noted.id,
            model,
            next((choice.finish_reason for choice in noted.choices or ()), None),
            None if used is None else _tokens(used, model),
        )

    def calls(self, number: str) -> tuple[tuple[ToolCall, ...], str]:
        """Return the calls in an answer, and what it says without them; `number` names those that have no id."""
        if self.tool_calls:
            return self.tool_calls, self.text
        if isinstance(self.output, tuple):
            made = (item for item in self.output if item.type == "function_call")
            return tuple(ToolCall(item.call_id, FunctionCall(item.name, item.arguments)) for item in made), self.text
        said, inside = _fenced(self.text)
        commands = [action.command for action in self.extra.actions or () if action.command] or inside
        calls = (
            ToolCall(f"{number}.{place}", FunctionCall(_TOOL, {"command": command}))
            for place, command in enumerate(commands)
        )
        return tuple(calls), said if commands else self.text

    @property
    def _response(self) -> _Response:
        return decoded_or(_DECODE, self.extra.response, _NOTHING)


class _ModelStats(msgspec.Struct, frozen=True):
    instance_cost: object = None


class _Model(msgspec.Struct, frozen=True):
    model_name: LongName | None = None


class _Environment(msgspec.Struct, frozen=True):
    cwd: LongName | None = None


class _Agent(msgspec.Struct, frozen=True):
    instance_template: str | None = None


class _Config(msgspec.Struct, frozen=True):
    agent: _Agent = _Agent()
    model: _Model = _Model()
    environment: _Environment = _Environment()
    environment_type: str | None = None


class Info(msgspec.Struct, frozen=True):
    """Notes of a run as a whole."""

    exit_status: str | None = None
    submission: str | None = None
    model_stats: _ModelStats = _ModelStats()
    config: _Config = _Config()
    mini_version: LongName | None = None


class StoredRun(msgspec.Struct, frozen=True):
    """A run."""

    messages: tuple[StoredMessage, ...]
    info: Info = Info()
    trajectory_format: str | None = None
    instance_id: SessionId | None = None

    def task_in(self, prompt: str) -> str:
        """Return what was asked for in the first message: without the instructions that the settings put around it."""
        before, mark, after = _split(self.info.config.agent.instance_template or "")
        if not mark or not prompt.startswith(before):
            return prompt
        end = prompt.rfind(after) if after else len(prompt)
        return prompt[len(before) : end].strip() or prompt if end >= len(before) else prompt

    @property
    def has_notes(self) -> bool:
        """True where its messages note which of them are results."""
        return self.trajectory_format != FIRST_FORMAT or any(message.is_result for message in self.messages)


FIRST_FORMAT: Final = "mini-swe-agent-1"
"""The format of versions below 2."""


def _split(template: str) -> tuple[str, str, str]:
    """Return what stands before the task in a template, the mark of the task, and behind it up to the next mark.

    Nothing where something else is filled in before it.
    """
    found = _TASK.search(template)
    if found is None or _FILLED_IN.search(template, 0, found.start()) is not None:
        return "", "", ""
    following = _FILLED_IN.search(template, found.end())
    return (
        template[: found.start()],
        found[0],
        template[found.end() : following.start() if following else None].rstrip(),
    )


def _fenced(text: str) -> tuple[str, list[str]]:
    """Return a text without its one command between fences, and that command; the text alone if it has none, or more.

    Of several none was run: the model was reminded.
    """
    fence = next((fence for fence in _FENCES if fence in text), None)
    if fence is None or text.count(fence) > 1:
        return text, []
    before, _, rest = text.partition(fence)
    command, end, after = rest.partition("\n```")
    if not end or not command.partition("\n")[1]:
        return text, []
    return f"{before.rstrip()}\n{after.lstrip()}".strip(), [command.partition("\n")[2].strip()]


def _tokens(noted: _Usage, model: str | None) -> Usage:
    read = token_count(noted.prompt_tokens if noted.prompt_tokens is not None else noted.input_tokens)
    wrote = token_count(noted.completion_tokens if noted.completion_tokens is not None else noted.output_tokens)
    of_input = noted.prompt_tokens_details or noted.input_tokens_details or _Details()
    of_output = noted.completion_tokens_details or noted.output_tokens_details or _Details()
    cached, written = token_count(of_input.cached_tokens), token_count(noted.cache_creation_input_tokens)
    return Usage(
        model=model,
        input_tokens=fresh_tokens(read, cached, written),
        cache_read_tokens=cached,
        cache_write_tokens=0 if written is None and cached is not None else written,
        output_tokens=wrote,
        reasoning_tokens=token_count(of_output.reasoning_tokens),
    )

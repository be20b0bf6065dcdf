"""The conversation with one agent: lines in, lines out, one after the other, until the input ends.

A request is answered in milliseconds, before the next line is read: there is never one to cancel. Servers may take no
notice of cancellations then, and of all other notifications; nothing is sent that was not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from msgspec import UNSET

from grader_daemon.errors import GraderError, RequestError
from grader_daemon.recall.jsonrpc import Code, Message, decode, encode, failure, id_of, read_line, result, to_message
from grader_daemon.recall.revisions import (
    AGREED,
    BATCHING,
    CAPABILITIES,
    NAMED,
    SERVER,
    agreed_on,
    in_revision,
    named_by,
    not_found,
)
from grader_daemon.recall.toolbox import INSTRUCTIONS, TEMPLATES, TOOLS, Toolbox

_Params = Mapping[str, Any]


class Server:
    """Answers messages. What it remembers of one to the next is the revision that was agreed on."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._agreed: str | None = None
        self._methods: dict[str, Callable[[_Params, str | None], dict[str, Any]]] = {
            "tools/list": lambda params, _: {"tools": _whole(TOOLS, params)},
            "tools/call": lambda params, _: toolbox.call(params.get("name"), params.get("arguments")),
            "resources/list": lambda params, _: {"resources": _whole(toolbox.resources(), params)},
            "resources/templates/list": lambda params, _: {"resourceTemplates": _whole(TEMPLATES, params)},
            "resources/read": self._read,
        }

    def answer(self, line: bytes) -> bytes | None:
        """Return the line that answers a line; None where nothing is to be said."""
        if not line.strip():
            return None
        try:
            decoded = decode(line)
        except RequestError as error:
            return encode(failure(None, error))
        if isinstance(decoded, list) and decoded and self._agreed == BATCHING:
            several = [answer for each in decoded if (answer := self._answer(each)) is not None]
            return encode(several) if several else None
        answer = self._answer(decoded)
        return None if answer is None else encode(answer)

    def _answer(self, decoded: object) -> dict[str, Any] | None:
        """Answer what may be a message; whatever goes wrong with a request is said in its answer."""
        try:
            message = to_message(decoded)
            if message is None or message.id is UNSET:
                return None
            return result(id_of(decoded), self._result(message))
        except RequestError as error:
            return failure(id_of(decoded), error)
        except (GraderError, OSError) as error:
            return failure(id_of(decoded), RequestError(str(error), code=Code.INTERNAL_ERROR))
        except Exception as error:  # noqa: BLE001  a bug of ours: told in the answer, and the conversation goes on
            told = RequestError(f"internal error: {type(error).__name__}: {error}", code=Code.INTERNAL_ERROR)
            return failure(id_of(decoded), told)

    def _result(self, message: Message) -> dict[str, Any]:
        version = named_by(message.params)
        if version is None:
            return self._by_agreement(message)
        if message.method == "server/discover":
            return in_revision(version, message.method, _offer() | {"supportedVersions": [*NAMED, *AGREED]})
        return in_revision(version, message.method, self._method(message)(message.params, version))

    def _by_agreement(self, message: Message) -> dict[str, Any]:
        match message.method:
            case "initialize":
                self._agreed = agreed_on(message.params.get("protocolVersion"))
                return {"protocolVersion": self._agreed, "serverInfo": SERVER, **_offer()}
            case "ping":
                return {}
        if self._agreed is None:
            raise RequestError(
                "no protocol version: begin with initialize, or name one in _meta", code=Code.INVALID_PARAMS
            )
        return self._method(message)(message.params, None)

    def _method(self, message: Message) -> Callable[[_Params, str | None], dict[str, Any]]:
        method = self._methods.get(message.method)
        if method is None:
            raise RequestError("there is no such method", code=Code.METHOD_NOT_FOUND)
        return method

    def _read(self, params: _Params, version: str | None) -> dict[str, Any]:
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise RequestError("uri is missing", code=Code.INVALID_PARAMS)
        found = self._toolbox.resource(uri)
        if found is None:
            raise not_found(version, uri)
        return {"contents": [found]}


def serve(toolbox: Toolbox, *, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the requests end."""
    server = Server(toolbox)
    while (answer := _next_answer(server, requests)) is not None:
        answers.write(answer)
        answers.flush()


def _next_answer(server: Server, requests: BinaryIO) -> bytes | None:
    """Return the answer to the next line that has one; None at the end."""
    while True:
        try:
            line = read_line(requests)
        except RequestError as error:
            return encode(failure(None, error))
        if line is None:
            return None
        answer = server.answer(line)
        if answer is not None:
            return answer


def _offer() -> dict[str, Any]:
    return {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}


def _whole(items: Any, params: _Params) -> list[dict[str, Any]]:
    """Return a list, which is never given in pages."""
    if params.get("cursor") is not None:
        raise RequestError("there is no such page", code=Code.INVALID_PARAMS)
    return list(items)

"""Deeds and items that an answer tells, and that no call can have done.

A deed of these kinds needs a tool, and one that may have done it has a word of that kind in its name or in what it was
given: "invite" of `create_event(invites=…)`. A tool whose name tells nothing may have done anything. An item is
missing where the request lists several, and each other one has a call of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from grader_daemon.analysis.claims.clauses import is_denied
from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.claims.subjects import ADDRESS
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_READ: Final = 1_000
_TELLING: Final = (
    *("send", "sent", "mail", "messag", "msg", "notif", "inform", "post", "forward", "repl", "slack", "sms", "chat"),
    *("telegram", "whatsapp", "comment", "invit", "attend", "guest", "particip", "recipient", "shar", "alert", "event"),
    *("announc", "channel", "contact", "escalat", "transfer", "respon", "call", "remind", "ticket", "meeting", '"to"'),
)
_SHARING: Final = (
    *("shar", "permission", "access", "grant", "invit", "public", "collab", "member", "role", "send", "mail", "link"),
    *("viewer", "editor", "reader", "post"),
)
_NOTING: Final = (
    *("log", "note", "activit", "record", "comment", "append", "entry", "history", "task", "text", "memo", "descr"),
    *("insert", "write", "post", "create", "add"),
)
_UPLOADING: Final = ("upload", "put", "attach", "file", "import", "create", "write", "save", "copy", "add")
_LEAVING: Final = ("subscri", "optout", "opt_out", "opt-out", "newsletter", "remov", "delet", "block")
_RESTARTING: Final = ("restart", "reboot", "start", "reset", "power", "toggle", "cycle")
_STEM: Final = 4
_KINDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("sent", "emailed", "e-mailed", "mailed", "messaged", "notified", "informed"), _TELLING),
    **dict.fromkeys(("replied", "forwarded", "invited"), _TELLING),
    **dict.fromkeys(
        ("booked", "rebooked", "reserved"), ("book", "reserv", "order", "purchase", "buy", "create", "add")
    ),
    **dict.fromkeys(("cancelled", "canceled"), ("cancel", "delet", "remov", "status", "void", "modif", "update")),
    **dict.fromkeys(("restarted", "rebooted"), _RESTARTING),
    "archived": ("archiv", "move", "label", "status", "state", "modif", "update", "folder"),
    "logged": _NOTING,
    "refunded": ("refund", "cancel", "return", "credit", "pay", "certificate", "compens", "modif", "update"),
    "shared": _SHARING,
    "unsubscribed": _LEAVING,
    "uploaded": _UPLOADING,
}
"""Deeds that need a tool of their own, with the pieces of which each that may have done it has one."""

NEEDING_A_TOOL: Final = tuple(_KINDS)
_VERB: Final = rf"({'|'.join(_KINDS)})\b"
_DEED = late_pattern(
    rf"\b(?:I|[Ww]e)(?:'ve| have)? (?:also |just |now |successfully )?{_VERB}"
    rf"|^(?:[✅✔✓☑]\ufe0f? ?|[-*•] )(?i:{_VERB})(?![^:]{{0,24}}:| by\b)"
)
_SETTLED = late_pattern(rf"\b(?:is|are|has been|have been) (?:now )?{_VERB}(?! by\b)")
_QUESTION = late_pattern(
    r"\?|^\W*(?:is|are|was|were|did|does|do|has|have|when|which|who|what|how|list|show|find|check)\b"
)
_REACHING_OUT: Final = frozenset(
    {"http", "https", "url", "web", "fetch", "browser", "page", "open", "visit", "api", "request"}
)
"""Words of a tool that opens pages, some of which do what they are opened for."""

_SWITCHED_OFF = late_pattern(r'"\w{1,40}": ?(?:"none"|false|null)')
_SENTENCE = late_pattern(r"[.;!?\n]|:(?!\d)")
_JOINT = late_pattern(r", (?:and |und |et |y |e |& )?| (?:and|und|et|y|e|&) ")
_NAME = late_pattern(r"[A-ZÄÖÜÉ][^\W\d_]{2,30}|\b\d{1,12}\b")
_FEWEST: Final = 3
_FEWEST_ADDRESSES: Final = 2


def missing_deed(runs: Sequence[ToolRun], acts: Sequence[ToolRun], sentences: Sequence[str]) -> str | None:
    """Return the sentence that tells a deed which none of the calls can have done; None without one."""
    known: list[str] | None = None
    for sentence in sentences:
        plain = _plain(sentence)
        found = _DEED.search(plain)
        if found is None or '"' in plain[: found.start()] or is_denied(plain[: found.end()].lower()):
            continue
        verb = found[found.lastindex or 1].lower()
        if known is None:
            known = [word for each in runs for word in each.words]
            known += [_SWITCHED_OFF.sub("", each.arguments).lower() for each in acts]
            may_act = [each for each in runs if each in acts or not each.words.isdisjoint(_REACHING_OUT)]
            known += [each.ending(_READ).lower() for each in may_act]
        if not any(holds_any(text, (*_KINDS[verb], verb[:_STEM])) for text in known):
            return sentence
    return None


def settled_deed(runs: Sequence[ToolRun], sentences: Sequence[str], asked: str) -> str | None:
    """Return the sentence that tells as settled what no result knows of, where every call only looked."""
    if _QUESTION.search(asked):
        return None
    for sentence in sentences:
        found = _SETTLED.search(_plain(sentence).lower())
        if found is None or is_denied(sentence[: found.start()].lower()):
            continue
        stem = found[1][:_STEM]
        if not any(stem in each.arguments.lower() or stem in each.ending(_READ * 2).lower() for each in runs):
            return sentence
    return None


def missing_item(acts: Sequence[ToolRun], low: str, asked: str) -> tuple[str, ToolRun] | None:
    """Return an item of a list in the request that is told, and the last call for another; None without one."""
    tools = [run.words for run in acts]
    if len(set(tools)) == len(tools):
        return None
    texts: list[tuple[ToolRun, str]] = []
    for names in _lists(asked):
        texts = texts or [(run, run.arguments.lower()) for run in acts]
        calls = {name: [run for run, text in texts if _stands(name, text)] for name in names}
        lacking = [name for name, runs in calls.items() if not runs]
        own = [runs[0] for runs in calls.values() if len(runs) == 1]
        alike = [run for run in acts if own and run.words == own[0].words]
        is_each = len(own) == len(names) - len(lacking) == len(alike) > 1 and set(own) == set(alike)
        if is_each and all(run.worked for run in own):
            told = next((name for name in lacking if _stands(name, low)), None)
            if told is not None:
                return told, own[-1]
    return None


def missing_address(
    runs: Sequence[ToolRun], acts: Sequence[ToolRun], low: str, asked: str
) -> tuple[str, ToolRun] | None:
    """Return an address that was asked for and is told, of which no call knows, and the last call for another one."""
    named = [each for each in dict.fromkeys(ADDRESS.findall(asked.lower())) if each in low] if "@" in low else []
    if len(named) < _FEWEST_ADDRESSES:
        return None
    own = [run for run in acts if run.worked and any(each in run.arguments.lower() for each in named)]
    known = "\n".join([f"{run.arguments}\n{run.ending(_READ)}" for run in runs]).lower()
    lacking = next((each for each in named if each not in known), None)
    return (lacking, own[-1]) if lacking and own else None


def _lists(asked: str) -> Iterator[list[str]]:
    """Yield the names or numbers of each list with at least three of them, in lower case."""
    for sentence in _SENTENCE.split(asked) if ", " in asked else ():
        items = _JOINT.split(sentence) if ", " in sentence else []
        if len(items) >= _FEWEST and all(found := [_NAME.findall(item) for item in items]):
            names = [each[-1].lower() for each in found]
            if len(set(names)) == len(names):
                yield names


def _stands(name: str, text: str) -> bool:
    """Return whether a text has a name, or a number as such."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not name.isdigit() or not (text[at - 1 : at].isdigit() or text[end : end + 1].isdigit()):
            return True
        at = text.find(name, end)
    return False


def _plain(text: str) -> str:
    return text.replace("\u2019", "'").replace("*", "")
